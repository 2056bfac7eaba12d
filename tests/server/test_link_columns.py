"""Columns of devices.csv about links: the SNR with interference by hand, and lost first transmissions by the law."""

import math
from typing import Any

import numpy as np
import pytest
import simpy
from radio_cases import NOISE_W_HZ, SLOT_S, drop, link, participants

import edgefl
from edgefl.radio.messages import UPLOAD, round_trip
from edgefl.world.cells_section import Handover

BAND_HZ = 2e6
SERVER_W = 20.0
DEVICE_W = 0.1
FAR_M = 400.0
SINR = ["sinr_down_db", "sinr_up_db"]
LOST = ["first_lost_share_down", "first_lost_share_up"]
ENGINES = [("fixed", "slots"), ("fixed", "fast"), ("processor", "slots"), ("processor", "fast")]
TWO_CELLS = {"layout": "listed", "positions_m": [[0, 0], [FAR_M, 0]]}
PLACES_M = (60.0, 310.0)  # on the line through both base stations


@pytest.fixture
def run(tmp_path):
    """A function that returns devices.csv of a world of free space whose devices stand at places on a line."""

    def devices(places_m=PLACES_M, *, radio=None, floats=30_000, **keys):
        path = tmp_path / "places.csv"
        rows = [f"{device},{time_s},{x_m},0" for time_s in (0, 10**6) for device, x_m in enumerate(places_m)]
        path.write_text("\n".join(["device,time_s,x_m,y_m", *rows]) + "\n")
        scenario: dict[str, Any] = {
            "rounds": 2,
            "devices": {"count": len(places_m), "tx_power_dbm": 20, "cpu_hz": 1e9},
            "data": {"dataset": "synthetic"},
            "model": {"kind": "mlp", "cost": {"parameters": floats, "flops_per_parameter": 10.0}},
            "mobility": {"kind": "trace", "path": str(path)},
            "report": {"geometry": True},
            "radio": {
                "bandwidth_hz": BAND_HZ,
                "server_tx_power_dbm": 10 * math.log10(SERVER_W) + 30,
                "propagation": "free_space",
                "shadowing_db": 0.0,
                "fading": "none",
                **(radio or {}),
            },
            **keys,
        }
        return edgefl.run(scenario, train=False).devices

    return devices


def gain(metres):
    """Of free space, over the difference of 8.5 m between the antennas' heights."""
    return (3e8 / (4 * math.pi * 3.5e9 * np.hypot(metres, 8.5))) ** 2


def db(ratio):
    return 10 * np.log10(np.asarray(ratio, dtype=float))


@pytest.mark.parametrize(("sharing", "transfer"), ENGINES)
@pytest.mark.parametrize("fading", ["none", "rayleigh"])
def test_without_interference_the_sinr_is_the_snr(run, sharing, transfer, fading):
    """One device alone has the whole band; the fading is left out of the ratio."""
    found = run((80.0,), radio={"sharing": sharing, "transfer": transfer, "fading": fading})
    snr = gain(80.0) / (NOISE_W_HZ * BAND_HZ)
    assert found.sinr_down_db.to_numpy() == pytest.approx(db([SERVER_W * snr] * 2), abs=1e-6)
    assert found.sinr_up_db.to_numpy() == pytest.approx(db([DEVICE_W * snr] * 2), abs=1e-6)


@pytest.mark.parametrize("load", [1.0, 0.25])
def test_one_interferer_adds_its_power_at_the_receiver(run, load):
    """Shares that hold for the round: each hears the other cell as long as the round lasts."""
    found = run(cells=TWO_CELLS, radio={"sharing": "fixed", "interference": {"load": load}}, report={})
    noise_w = NOISE_W_HZ * BAND_HZ
    near_m = {0: PLACES_M[0], 1: FAR_M - PLACES_M[1]}
    far_m = {0: FAR_M - PLACES_M[0], 1: PLACES_M[1]}
    for row in found.itertuples():
        own = gain(near_m[row.cell])
        down = SERVER_W * own / (noise_w + load * SERVER_W * gain(far_m[row.cell]))
        up = DEVICE_W * own / (noise_w + load * DEVICE_W * gain(far_m[1 - row.cell]))
        assert row.sinr_down_db == pytest.approx(db(down), abs=1e-6)
        assert row.sinr_up_db == pytest.approx(db(up), abs=1e-6)


@pytest.mark.parametrize("load", [1.0, 0.5])
def test_devices_that_share_a_cell_interfere_with_their_shares(run, load):
    """Two devices of one cell have half of the band each, and one power of the base station; the other cell has one."""
    places_m = np.array([60.0, 90.0, 310.0])
    radio = {"sharing": "fixed", "server_power": "total", "interference": {"load": load}}
    found = run(tuple(places_m), cells=TWO_CELLS, radio=radio, rounds=1).set_index("device")
    assert found.cell.to_dict() == {0: 0, 1: 0, 2: 1}
    of_cells = {0: gain(places_m), 1: gain(FAR_M - places_m)}
    share_hz = {0: BAND_HZ / 2, 1: BAND_HZ}
    for device, row in found.iterrows():
        own = of_cells[row.cell]
        other = of_cells[1 - row.cell]
        down = SERVER_W * own[device] / (NOISE_W_HZ * BAND_HZ + load * SERVER_W * other[device])
        heard_w = DEVICE_W * sum(own[sender] for sender in range(3) if found.cell[sender] != row.cell)
        up = DEVICE_W * own[device] / share_hz[row.cell] / (NOISE_W_HZ + load * heard_w / BAND_HZ)
        assert row.sinr_down_db == pytest.approx(db(down), abs=1e-6)
        assert row.sinr_up_db == pytest.approx(db(up), abs=1e-6)


@pytest.mark.parametrize("transfer", ["slots", "fast"])
def test_on_a_shared_band_the_ratio_is_the_mean_over_the_time_on_air(run, transfer):
    """A device's power lies on half of the band while the other sends, too, and on the whole band otherwise."""
    places_m = np.array([40.0, 2000.0])
    radio = {"sharing": "processor", "transfer": transfer}
    found = run(places_m, radio=radio, floats=300_000, rounds=1, cells={"radius_m": 3000})
    begins_s = (found.start_s + found.download_s + found.compute_s).to_numpy()
    ends_s = begins_s + found.upload_s.to_numpy()
    both_s = ends_s.min() - begins_s.max()
    assert 0 < both_s < 0.9 * found.upload_s.max()
    snr = DEVICE_W * gain(places_m) / (NOISE_W_HZ * BAND_HZ)
    mean = snr * (1 + both_s / found.upload_s.to_numpy())
    assert found.sinr_up_db.to_numpy() == pytest.approx(db(mean), abs=0.02)


@pytest.mark.parametrize(("sharing", "transfer"), ENGINES)
def test_a_transfer_that_is_cut_short_has_its_ratio(run, sharing, transfer):
    server = {"policy": "deadline", "deadline_s": 1.0002}  # within a slot
    found = run((80.0,), radio={"sharing": sharing, "transfer": transfer}, floats=3 * 10**6, server=server)
    assert (found.status == "late").all()
    assert (found.bytes_down < 1.2e7).all()
    snr = SERVER_W * gain(80.0) / (NOISE_W_HZ * BAND_HZ)
    assert found.sinr_down_db.to_numpy() == pytest.approx(db([snr] * 2), abs=1e-6)
    assert found.sinr_up_db.isna().all()  # nothing was sent


@pytest.mark.parametrize("sharing", ["fixed", "processor"])
def test_turns_of_other_devices_do_not_change_the_ratio(run, sharing):
    """In turn each has the whole band, for half of the time."""
    found = run((80.0, 90.0), radio={"sharing": sharing, "allocation": "round_robin"})
    snr = DEVICE_W * gain(found.distance_m.to_numpy()) / (NOISE_W_HZ * BAND_HZ)
    assert found.sinr_up_db.to_numpy() == pytest.approx(db(snr), abs=1e-6)


def test_slots_of_one_direction_do_not_change_the_ratio(run):
    tdd = {"period_ms": 2.5, "downlink_slots": 3, "downlink_symbols": 10, "uplink_slots": 1, "uplink_symbols": 2}
    found = run((80.0,), radio={"sharing": "fixed", "tdd": tdd})
    snr = DEVICE_W * gain(80.0) / (NOISE_W_HZ * BAND_HZ)
    assert found.sinr_up_db.to_numpy() == pytest.approx(db([snr] * 2), abs=1e-6)


# Lost first transmissions


def plateau(tmp_path, share):
    """A file of one scheme that loses the same share of blocks from -39 dB on."""
    path = tmp_path / "curves.csv"
    path.write_text(f"mcs,snr_db,bler\n5,-40,1\n5,-39,{share}\n5,199,{share}\n5,200,0\n")
    return {"rate": "mcs", "errors": {"kind": "bler", "curves": str(path), "transmissions": 1}}


@pytest.mark.parametrize("sharing", ["fixed", "processor"])
@pytest.mark.parametrize("share", [0.15, 0.4])
def test_the_share_of_lost_first_transmissions_is_the_error_rate(run, tmp_path, sharing, share):
    """Some 3,000 blocks a direction, four standard errors: a share that is off by 0.06 fails in 99 of 100 runs."""
    found = run((80.0, 90.0), radio={**plateau(tmp_path, share), "sharing": sharing}, floats=80_000)
    blocks = 4 * 80_000 * 32 / (BAND_HZ * SLOT_S * 4 * 378 / 1024) / (1 - share)
    assert blocks > 3000
    for column in LOST:
        assert found[column].mean() == pytest.approx(share, abs=4 * math.sqrt(share * (1 - share) / blocks))
        assert found[column].nunique() == 4  # each direction of each participation has its own blocks


def test_runs_without_block_errors_or_interference_lack_the_columns(run):
    found = run(report={})
    assert not {*SINR, *LOST} & set(found.columns)


def test_a_transfer_that_is_handed_over_counts_the_blocks_of_both_pieces(tmp_path):
    """Without losses each slot on air carries one new block."""
    of = link(**plateau(tmp_path, 0.0 + 1e-12), bandwidth_hz=BAND_HZ, sharing="processor", fading="none")
    env = simpy.Environment()
    who = participants(of, [7])
    carrier = of.roam(env, who, round_trip(1, 0.0, 4e6, np.zeros_like), Handover())
    found = []

    def upload():
        found.append((yield from carrier.send(0, UPLOAD)))

    env.process(upload())

    def hand_over():
        yield env.timeout(0.3)
        carrier.hand_over(0, drop(of, [7], distance_m=120.0))

    env.process(hand_over())
    env.run()
    (result,) = found
    assert result.delivered
    assert result.duration_s > 0.6
    assert result.first_sent == pytest.approx(result.air_s / SLOT_S, abs=1)
    assert result.first_lost == 0
