"""The link with shares that hold for the round: closed forms, keyed draws, and independence of other transfers."""

import json
import math
import subprocess
import sys

import numpy as np
import pytest
from radio_cases import (
    DEVICE_W,
    SERVER_W,
    SLOT_S,
    STILL,
    block_walk,
    correlation,
    drop,
    link,
    path_gain,
    snr_hz,
    still_slots,
    transfers,
    walk,
)
from scipy import stats

import channel
import edgefl
from edgefl.core.errors import InputError, RunError

IDS = np.array([3, 8, 20])
FADINGS = ["rayleigh", "none", "block", {"kind": "ricean", "k_mean_db": 5.0, "k_std_db": 2.0}]


def same(a, b, rows=slice(None)):
    """Whether transfers have the same times and bits; how much of the band they occupy depends on its width."""
    return all(
        np.array_equal(x[rows], y) for x, y in zip(a._replace(band_s=a[0]), b._replace(band_s=b[0]), strict=True)
    )


@pytest.mark.parametrize("transfer", ["slots", "fast"])
@pytest.mark.parametrize("fading", FADINGS, ids=str)
def test_a_devices_transfer_does_not_depend_on_the_others(fading, transfer):
    """The same band for each of three devices as for one alone: 30 MHz for three, 10 MHz for one."""
    keys = {"fading": fading, "transfer": transfer}
    for bits in (1e6, 3e7):  # of this, `fast` walks nothing
        three = transfers(link(bandwidth_hz=30e6, **keys), IDS, bits)
        alone = transfers(link(bandwidth_hz=10e6, **keys), IDS[1:2], bits)
        backwards = transfers(link(bandwidth_hz=30e6, **keys), IDS[::-1], bits)
        for way in (0, 1):
            assert same(three[way], alone[way], slice(1, 2))
            assert same(backwards[way], three[way], slice(None, None, -1))
            np.testing.assert_allclose(3 * three[way].band_s[1:2], alone[way].band_s, rtol=1e-12)


def test_to_a_broadcast_each_listens_on_the_whole_band():
    together = transfers(link(downlink="broadcast"), IDS, 1e7)
    for row, device in enumerate(IDS):
        alone = transfers(link(downlink="broadcast"), [device], 1e7)
        unicast = transfers(link(), [device], 1e7)
        assert same(together[0], alone[0], slice(row, row + 1))
        assert same(unicast[0], alone[0])
        assert (together[1].duration_s[row] > alone[1].duration_s).all()  # a third of the band


@pytest.mark.parametrize(("way", "attribute"), [("down", "fading_down"), ("up", "fading_up")])
@pytest.mark.parametrize("fading", FADINGS, ids=str)
def test_a_transfer_is_the_walk_of_its_keyed_draws(fading, way, attribute):
    """Download, gap and upload of one device, one slot after the other, from the formulas."""
    of = link(fading=fading)
    index = 3
    bits = 4e6
    speed = 2.0
    at = drop(of, IDS, index)
    found = transfers(of, IDS, bits, index, speed_mps=speed)
    share = 100e6 / 3
    for row, device in enumerate(IDS):
        start, jump = (complex(*of.streams.normal(f"fading_{part}", [device], index, count=2)[0]) / math.sqrt(2)
                       for part in ("start", "gap"))  # fmt: skip
        rho = correlation(speed)
        channel_of_it = {"k": at.k_factor[row]}
        snr = [snr_hz(power, 100.0, at.shadowing_db[row]) / share for power in (SERVER_W, DEVICE_W)]
        down_draws = of.streams.sequence("fading_down", device, index)
        slots, gain, _ = walk(down_draws, bits, share, snr[0], start, rho, **channel_of_it)
        if way == "up":
            gain = rho**20 * gain + math.sqrt(1 - rho**40) * jump  # 0.01 s are 20 slots
            up_draws = of.streams.sequence("fading_up", device, index)
            slots, _, _ = walk(up_draws, bits, share, snr[1], gain, rho, **channel_of_it)
        if fading == "block":
            coherence_s = math.sqrt(9 / (16 * math.pi)) / (speed * 3.5e9 / 3.0e8)
            key = (of.streams, device, bits, share)
            slots, _ = block_walk(*key, snr[0], 0, round(coherence_s / SLOT_S))
            if way == "up":
                slots, _ = block_walk(*key, snr[1], slots + 20, round(coherence_s / SLOT_S))
        leg = found[("down", "up").index(way)]
        assert leg.duration_s[row] == pytest.approx(slots * SLOT_S, rel=1e-12)
        assert leg.sent_bits[row] == bits
        assert leg.delivered[row]


def test_shadowing_is_constant_in_a_round_and_new_in_the_next():
    of = link()
    ids = np.arange(50)
    first, again, other = (drop(of, ids, index, 50.0) for index in (0, 0, 1))
    assert np.array_equal(first.shadowing_db, again.shadowing_db)
    assert not np.any(first.shadowing_db == other.shadowing_db)
    assert np.allclose(first.pathloss_db, -10 * math.log10(path_gain(50.0)), rtol=1e-12)
    assert np.allclose(first.path_gain, 10 ** (-(first.pathloss_db + first.shadowing_db) / 10), rtol=1e-12)


@pytest.mark.parametrize(("given_db", "std_db"), [(None, 4.0), (0.0, 0.0), (9.0, 9.0)])
def test_shadowing_spreads_as_the_model_or_the_key_says(given_db, std_db):
    """UMi in line of sight: 4 dB (TR 38.901, Table 7.4.1-1). Of 4,000 draws, 4 standard errors are 4.5 %."""
    shadowing = drop(link(shadowing_db=given_db), np.arange(4_000)).shadowing_db
    assert shadowing.std() == pytest.approx(std_db, rel=0.045)
    assert abs(shadowing.mean()) <= 4 * std_db / math.sqrt(4_000)


@pytest.mark.parametrize("power", ["per_device", "total"])
def test_durations_without_fading_are_the_closed_form(power):
    """The server's 43 dBm on each share, or over the whole band; a device's 23 dBm always on its share."""
    bits = 2.2e7
    share = 100e6 / 3
    down, up = transfers(link(**STILL, server_power=power), IDS, bits)
    occupied = share if power == "per_device" else 100e6
    assert (down.duration_s == still_slots(bits, share, snr_hz(SERVER_W) / occupied) * SLOT_S).all()
    assert (up.duration_s == still_slots(bits, share, snr_hz(DEVICE_W) / share) * SLOT_S).all()
    assert (down.air_s == down.duration_s).all()


def test_noise_figure_is_more_noise():
    found = transfers(link(**STILL, noise_figure_db=7.0), IDS, 1e7)
    assert same(found[1], transfers(link(**STILL, noise_dbm_hz=-167.0), IDS, 1e7)[1])
    slots = still_slots(1e7, 100e6 / 3, snr_hz(DEVICE_W) / 10**0.7 / (100e6 / 3))
    assert (found[1].duration_s == slots * SLOT_S).all()


@pytest.mark.parametrize("transfer", ["slots", "fast"])
@pytest.mark.parametrize("fading", FADINGS, ids=str)
def test_frame_and_control_act_as_more_payload(fading, transfer):
    """Half of the time, 80 % of the resources: as a payload 2.5 times as large; energy is for half of the time."""
    keys = {"fading": fading, "transfer": transfer, "tdd": {"downlink": 0.5, "uplink": 0.25}}
    part = link(**keys, overhead={"downlink": 0.2, "uplink": 0.6})
    found = transfers(part, IDS, 2e6)
    plain = transfers(link(fading=fading, transfer=transfer), IDS, 2e6 / 0.4)
    assert np.array_equal(found[0].duration_s, plain[0].duration_s)
    assert np.array_equal(found[0].air_s, found[0].duration_s * 0.5)
    assert np.array_equal(found[1].air_s, found[1].duration_s * 0.25)
    assert found[0].sent_bits == pytest.approx(np.full(3, 2e6), rel=1e-15)
    if fading == "none":  # otherwise the gap has begun in another slot
        shadowing = drop(part, IDS).shadowing_db
        share = 100e6 / 3
        slots = [still_slots(2e6 / 0.1, share, snr_hz(DEVICE_W, 100.0, x) / share) for x in shadowing]
        assert found[1].duration_s == pytest.approx(np.array(slots) * SLOT_S, rel=1e-12)


def test_turns_take_as_long_as_shares_under_flat_power():
    shared = transfers(link(**STILL, server_power="total", allocation="equal"), IDS, 2e7)[0]
    turns = transfers(link(**STILL, server_power="total", allocation="round_robin"), IDS, 2e7)[0]
    assert shared.duration_s == pytest.approx(turns.duration_s, abs=1e-12)
    assert turns.air_s == pytest.approx(turns.duration_s / 3)


def divided(of, payload_bits, snr_hz):
    budget = of.pricing.budget
    return budget.resources.divide(payload_bits, snr_hz, budget.efficiency, way="up", spread=False)


NUMEROLOGY = {"bandwidth_hz": 10e6, "subcarrier_spacing_hz": 30e3, "slot_s": 0.0005}


@pytest.mark.parametrize("allocation", ["equal", "proportional", "min_makespan", "proportional_fair", "max_rate"])
def test_resource_blocks_are_whole_and_none_is_lost(allocation):
    """24 blocks of 360 kHz for five devices (TS 38.101-1, Table 5.3.2-1)."""
    of = link(**NUMEROLOGY, allocation=allocation)
    shares = divided(of, np.full(5, 1e6), np.geomspace(1e6, 1e9, 5)).bandwidth_hz / 360e3
    assert np.allclose(shares, np.rint(shares), atol=1e-9)
    assert shares.sum() == pytest.approx(24, abs=1e-9)
    assert (shares > 0.5).all()
    if allocation in {"equal", "proportional"}:
        assert sorted(np.rint(shares)) == [4, 5, 5, 5, 5]


def test_a_share_of_whole_blocks_sets_the_duration():
    down, _ = transfers(link(**STILL, **NUMEROLOGY), np.arange(5), 1e6)
    shares = divided(link(**NUMEROLOGY), np.full(5, 1e6), np.ones(5))
    blocks = [round(b) for b in shares.bandwidth_hz / 360e3]
    slots = [still_slots(1e6, b * 360e3, snr_hz(SERVER_W) / (b * 360e3)) for b in blocks]
    assert down.duration_s == pytest.approx(np.array(slots) * SLOT_S, rel=1e-12)
    assert len(set(slots)) == 2


def test_more_participants_than_blocks_are_refused():
    """Turns go round; shares do not."""
    ids = np.arange(25)
    with pytest.raises(RunError, match=r"^round 1: 25 participants, but 24 resource blocks a cell: choose fewer"):
        transfers(link(**NUMEROLOGY), ids)
    assert transfers(link(**NUMEROLOGY, allocation="round_robin"), ids)[0].delivered.all()
    result = edgefl.run({"rounds": 2, "devices": {"count": 25}, "radio": NUMEROLOGY}, train=False)
    assert (result.status, len(result.rounds)) == ("failed", 0)
    assert "24 resource blocks" in result.error


@pytest.mark.parametrize(
    ("rate", "bps_hz"),
    [
        ("shannon", lambda snr: math.log2(1 + snr)),
        ("truncated_shannon", lambda snr: min(0.6 * math.log2(1 + snr), 4.4)),
        ({"kind": "mcs", "snr_gap_db": 0.0}, lambda snr: max(e for e in channel.mcs.Mcs(0.0).bps_hz(
            np.geomspace(1e-3, snr, 4_000)))),
    ],
    ids=["shannon", "truncated_shannon", "mcs"],
)  # fmt: skip
def test_rates(rate, bps_hz):
    bits = 2.2e7
    share = 100e6 / 3
    for distance in (15.0, 200.0):
        up = transfers(link(**STILL, rate=rate), IDS, bits, distance_m=distance)[1]
        slots = still_slots(bits, share, snr_hz(DEVICE_W, distance) / share, bps_hz=bps_hz)
        assert up.duration_s == pytest.approx(np.full(3, slots * SLOT_S), rel=1e-12)


def test_a_fixed_place_has_one_shadowing_in_a_spatially_consistent_world():
    """For any device in any round of a seed; with independent draws it has another each time."""
    for consistent in (True, False):
        keys = {"propagation": "umi", "fading": "ricean", "spatial_consistency": consistent}
        of = link(**keys)
        distances = np.linspace(20, 240, 400)
        first, later = (drop(of, np.arange(400) + shift, index, distances) for shift, index in ((0, 0), (1_000, 7)))
        assert np.array_equal(first.shadowing_db, later.shadowing_db) == consistent
        assert np.array_equal(first.los, later.los) == consistent
        assert np.array_equal(first.k_factor, later.k_factor) == consistent
        other = drop(link(**keys, seed=2), np.arange(400), 0, distances)
        assert not np.array_equal(first.shadowing_db, other.shadowing_db)
        near = np.corrcoef(first.shadowing_db[:-1][first.los[:-1] & first.los[1:]],
                           first.shadowing_db[1:][first.los[:-1] & first.los[1:]])[0, 1]  # fmt: skip
        assert (near > 0.8) == consistent  # 0.55 m apart: exp(-0.055) on average over maps


@pytest.mark.oracle
@pytest.mark.parametrize("rate", ["shannon", "mcs"])
def test_fast_has_the_distribution_of_slots(rate):
    """2,000 devices a side, other seeds: two-sample KS at 1 % for both directions; a twentieth longer would be seen."""
    ids = np.arange(2_000)
    keys = {"bandwidth_hz": 2_000e6, "shadowing_db": 0.0, "rate": rate}
    slots = transfers(link(seed=1, transfer="slots", **keys), ids, 2e6)
    fast = transfers(link(seed=2, transfer="fast", **keys), ids, 2e6)
    for exact, estimate in zip(slots, fast, strict=True):
        assert stats.ks_2samp(exact.duration_s, estimate.duration_s).pvalue > 0.01
        assert stats.ks_2samp(exact.duration_s, 1.05 * estimate.duration_s).pvalue < 0.01
        assert exact.duration_s.mean() > 150 * SLOT_S


def test_ricean_needs_a_k():
    scenario = {"radio": {"propagation": "log_distance", "fading": "ricean"}}
    with pytest.raises(InputError, match=r"radio\.fading: ricean needs k_mean_db and k_std_db"):
        edgefl.run(scenario, train=False)


WORLD = {
    "rounds": 6,
    "devices": {"count": 20, "tx_power_dbm": {"uniform": [10, 23]}, "idle_power_w": 0.01},
    "server": {"participants": 5},
    "mobility": {"kind": "random_waypoint", "speed_mps": {"choice": [0, 3, 10]}},
}
MODES = [
    {"sharing": "fixed"},
    {"sharing": "processor", "allocation": "min_makespan"},
    {"sharing": "processor", "transfer": "fast"},
    {"faults": {"failure_probability": 0.3, "attempts": 2}, "fading": "block", "rate": "truncated_shannon"},
]


@pytest.mark.process
def test_same_bytes_in_another_process_without_compiled_loops(tmp_path):
    """In a new process, as each looks for numba only once."""
    code = (
        "import sys, json, channel._compiled as compiled, edgefl\n"
        "scenarios, folder = sys.argv[1:]\n"
        "compiled.find_spec = lambda name: None\n"
        "for number, scenario in enumerate(json.loads(scenarios)):\n"
        "    edgefl.run(scenario, out=f'{folder}/{number}', train=False)\n"
        "print(compiled.walk() is None)\n"
    )
    scenarios = [{**WORLD, "radio": {"bandwidth_hz": 5e6, **radio}} for radio in MODES]
    command = [sys.executable, "-c", code, json.dumps(scenarios), str(tmp_path / "plain")]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout == "True\n"
    for number, scenario in enumerate(scenarios):
        edgefl.run(scenario, out=tmp_path / "here" / str(number), train=False)
        for name in ("rounds.csv", "devices.csv"):
            plain, here = ((tmp_path / how / str(number) / name).read_bytes() for how in ("plain", "here"))
            assert plain == here


@pytest.mark.oracle
@pytest.mark.parametrize("radio", MODES, ids=str)
def test_two_algorithms_meet_the_same_world(radio):
    """With the same operations; another number of them shifts when the upload begins."""
    cost = {"kind": "mlp", "cost": {"parameters": 4810, "flops_per_parameter": 6.0}}
    runs = [
        edgefl.run({**WORLD, "model": cost, "radio": radio, "algorithm": algorithm}, train=False)
        for algorithm in ("fedavg", "fedprox")
    ]
    assert runs[0].devices.equals(runs[1].devices)
    assert runs[0].rounds.equals(runs[1].rounds)
