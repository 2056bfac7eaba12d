"""The large-scale channel as a function of time: bits are the integral of the rate along a device's way."""

import math

import numpy as np
import pytest
from radio_cases import NOISE_W_HZ, SERVER_W, SLOT_S
from scipy.integrate import quad
from scipy.optimize import brentq

import edgefl
from edgefl.core.errors import InputError

START_M = 50.0
SPEED_MPS = 10.0
EXPONENT = 3.0
FAR_M = 400.0
BAND_HZ = 1e6
STEADY = {"propagation": {"kind": "log_distance", "out_of_range": "clamp"}, "shadowing_db": 0.0, "fading": "none"}
TIME = {"large_scale": "time", "spatial_consistency": True}
AWAY = [(0.0, 0, START_M), (250.0, 0, START_M + 250 * SPEED_MPS)]  # time, device, x
RX_W = 0.1
EVERY_WAY = [(sharing, transfer) for sharing in ("fixed", "processor") for transfer in ("slots", "fast")]


def run(folder, floats, path=AWAY, radio=(), server=(), devices=(), sites=((0, 0),), flops=1e-9, **cells):
    trace = folder / "trace.csv"
    trace.write_text("time_s,device,x_m,y_m\n" + "".join(f"{t},{device},{x},0\n" for t, device, x in path))
    powers = {"rx_power_w": RX_W, "idle_power_w": 0.01}
    layout = {"layout": "listed", "positions_m": [list(site) for site in sites], "radius_m": 3000.0}
    scenario = {
        "rounds": 1,
        "devices": {"count": len({device for _, device, _ in path})} | powers | dict(devices),
        "model": {"kind": "mlp", "cost": {"parameters": floats, "flops_per_parameter": flops}},
        "cells": layout | cells,
        "mobility": {"kind": "trace", "path": str(trace)},
        "radio": {"bandwidth_hz": BAND_HZ, **TIME, **STEADY, **dict(radio)},
        "training": {"local_steps": 1, "batch_size": 1},
        "server": dict(server),
    }
    return edgefl.run(scenario, train=False)


def rate_bps(time_s, site_m=0.0, power_w=SERVER_W, share_hz=BAND_HZ, speed_mps=SPEED_MPS):
    """Shannon's, by log-distance loss, of a device that drives away from START_M."""
    distance_m = math.hypot(START_M + speed_mps * time_s - site_m, 10.0 - 1.5)
    loss_db = 20 * math.log10(4 * math.pi * 3.5e9 / 3e8) + 10 * EXPONENT * math.log10(distance_m)
    return share_hz * math.log2(1 + power_w * 10 ** (-loss_db / 10) / (NOISE_W_HZ * share_hz))


def sent_bits(begin_s, end_s, **how):
    return quad(lambda time_s: rate_bps(time_s, **how), begin_s, end_s, epsrel=1e-10)[0]


def takes_s(bits, begin_s, **how):
    return brentq(lambda end_s: sent_bits(begin_s, end_s, **how) - bits, begin_s, begin_s + 200) - begin_s


FLOATS = round(sent_bits(0, 25.0) / 32)  # of a download of 25 s


@pytest.mark.oracle
@pytest.mark.parametrize(("sharing", "transfer"), EVERY_WAY)
def test_a_transfer_takes_as_long_as_the_integral_of_its_rate_says(tmp_path, sharing, transfer):
    strong = {"tx_power_dbm": 43.0}  # as strong as the base station
    result = run(tmp_path, FLOATS, radio={"sharing": sharing, "transfer": transfer}, devices=strong)
    row = result.devices.iloc[0]
    assert row["status"] == "received"
    assert row["download_s"] == pytest.approx(25.0, abs=4 * SLOT_S)
    up_s = takes_s(32 * FLOATS, row["download_s"])
    assert row["upload_s"] == pytest.approx(up_s, rel=5e-5)
    assert row["bytes_down"] == row["bytes_up"] == 4 * FLOATS
    assert row["distance_m"] == START_M  # as all columns of the channel, at the beginning
    held = run(tmp_path, FLOATS, radio={"sharing": sharing, "transfer": transfer, "large_scale": "round"})
    assert held.devices["download_s"].item() == pytest.approx(32 * FLOATS / rate_bps(0.0), abs=SLOT_S)
    assert held.devices["download_s"].item() < 20


@pytest.mark.oracle
@pytest.mark.parametrize(("sharing", "transfer"), EVERY_WAY)
@pytest.mark.parametrize("deadline_s", [7.3331, 12.0])
def test_deadline_leaves_the_integral_of_the_rate(tmp_path, sharing, transfer, deadline_s):
    server = {"policy": "deadline", "deadline_s": deadline_s}
    row = run(tmp_path, FLOATS, server=server, radio={"sharing": sharing, "transfer": transfer}).devices.iloc[0]
    assert row["status"] == "late"
    assert row["download_s"] == pytest.approx(deadline_s)
    bits = sent_bits(0, math.floor(deadline_s / SLOT_S + 1e-6) * SLOT_S)
    slot_bits = SLOT_S * rate_bps(0.0)  # `fast` counts in whole slots of the first share
    error_bits = slot_bits if transfer == "fast" else 0.1 * slot_bits
    assert 8 * row["bytes_down"] == pytest.approx(bits, abs=error_bits + 1e-5 * bits)
    assert row["rx_energy_j"] == pytest.approx(RX_W * deadline_s)


@pytest.mark.oracle
@pytest.mark.parametrize("sharing", ["fixed", "processor"])
def test_a_battery_runs_out_where_it_would_and_the_bits_are_the_integral(tmp_path, sharing):
    devices = {"battery": {"capacity_j": RX_W * 9.1234}}
    row = run(tmp_path, FLOATS, devices=devices, radio={"sharing": sharing}).devices.iloc[0]
    assert (row["status"], row["battery_j"]) == ("departed", 0.0)
    assert row["download_s"] == pytest.approx(9.1234)
    assert 8 * row["bytes_down"] == pytest.approx(sent_bits(0, 9.123), rel=1e-5)


@pytest.mark.oracle
@pytest.mark.parametrize("sharing", ["fixed", "processor"])
def test_two_moving_devices_share_the_band(tmp_path, sharing):
    """One drives away, the other stands at 150 m; both have half the band until the first is through."""
    path = [*AWAY, (0.0, 1, 150.0), (60.0, 1, 150.0)]
    half = {"share_hz": BAND_HZ / 2}
    rows = run(tmp_path, FLOATS // 4, path, radio={"sharing": sharing}).devices
    away_s = takes_s(8 * FLOATS, 0.0, **half)
    stands_bps = rate_bps(10.0, speed_mps=10.0, **half)
    assert rows["download_s"][0] == pytest.approx(away_s, abs=2 * SLOT_S)
    assert away_s < 8 * FLOATS / stands_bps
    if sharing == "fixed":
        assert rows["download_s"][1] == pytest.approx(8 * FLOATS / stands_bps, abs=SLOT_S)
    else:
        assert away_s < rows["download_s"][1] < 8 * FLOATS / stands_bps


@pytest.mark.oracle
@pytest.mark.parametrize("in_transfer", ["continue", "restart"])
def test_after_a_handover_the_channel_to_the_new_cell_changes_too(tmp_path, in_transfer):
    handover = {"measure_s": 0.04, "filter_k": 0, "interruption_s": 0.05, "in_transfer": in_transfer}
    result = run(tmp_path, FLOATS, sites=((0, 0), (FAR_M, 0)), handover=handover)
    events = result.events[result.events["kind"] == "handover"]
    (handed_s,) = events["time_s"]
    assert 16 < handed_s < 24
    left = 32 * FLOATS - (0 if in_transfer == "restart" else sent_bits(0, handed_s))
    after_s = takes_s(left, handed_s + 0.05, site_m=FAR_M)
    assert result.devices["download_s"].item() == pytest.approx(handed_s + 0.05 + after_s, abs=4 * SLOT_S)


def test_a_channel_may_be_held_for_a_distance(tmp_path):
    """Positions 1 m apart, in the middles of intervals; each new one at least 7 m from the last."""
    row = run(
        tmp_path,
        FLOATS,
        radio={"large_scale": {"kind": "time", "update_s": 0.1, "update_m": 6.5}},
        server={"policy": "deadline", "deadline_s": 10.0},
    ).devices.iloc[0]
    bits = 0.1 * sum(rate_bps(0.7 * (interval // 7) + 0.05) for interval in range(100))
    assert 8 * row["bytes_down"] == pytest.approx(bits, rel=1e-6)


UMI = {
    "rounds": 2,
    "devices": {"count": 12, "cpu_hz": {"lognormal": [18.5, 0.5]}},
    "model": {"kind": "mlp", "cost": {"parameters": 30_000, "flops_per_parameter": 91.0}},
    "cells": {"layout": "hexagonal", "radius_m": 120},
    "mobility": "static",
    "radio": {
        "bandwidth_hz": 2e6,
        "propagation": {"kind": "umi", "out_of_range": "clamp", "indoor": 0.3},
        "fading": "ricean",
        "spatial_consistency": True,
        "sharing": "processor",
        "interference": {},
    },
}


@pytest.mark.oracle
@pytest.mark.parametrize("transfer", ["slots", "fast"])
def test_updates_do_not_affect_a_device_at_rest(transfer):
    radio = UMI["radio"] | {"transfer": transfer}
    held = edgefl.run(UMI | {"radio": radio | {"large_scale": "round"}}, train=False)
    moving = edgefl.run(UMI | {"radio": radio | {"large_scale": "time"}}, train=False)
    ratios = ["sinr_down_db", "sinr_up_db"]  # maps read along a path round angles to single precision
    assert moving.devices.drop(columns=ratios).equals(held.devices.drop(columns=ratios))
    np.testing.assert_allclose(moving.devices[ratios], held.devices[ratios], atol=1e-4)
    assert moving.rounds.equals(held.rounds)


@pytest.mark.oracle
def test_device_at_rest_on_fixed_shares_only_waits_for_slots():
    """The same fading and bits; uploads begin at the next border of a slot."""
    radio = UMI["radio"] | {"sharing": "fixed", "interference": None}
    held = edgefl.run(UMI | {"rounds": 1, "radio": radio | {"large_scale": "round"}}, train=False).devices
    moving = edgefl.run(UMI | {"rounds": 1, "radio": radio | {"large_scale": "time"}}, train=False).devices
    assert moving["download_s"].tolist() == pytest.approx(held["download_s"].tolist(), abs=1e-9)
    late_s = (moving["upload_s"] - held["upload_s"]).to_numpy()
    assert np.all((late_s > -1e-9) & (late_s < SLOT_S))
    assert moving[["bytes_down", "bytes_up", "status"]].equals(held[["bytes_down", "bytes_up", "status"]])


@pytest.mark.oracle
@pytest.mark.parametrize("transfer", ["slots", "fast"])
def test_bits_are_conserved_where_everything_changes(transfer):
    """Shadows, line of sight, K, interference and handovers along the way."""
    cells = UMI["cells"] | {"handover": {}}
    radio = UMI["radio"] | {"transfer": transfer, "large_scale": {"kind": "time", "update_s": 0.05}}
    keys = {"cells": cells, "radio": radio, "mobility": {"kind": "random_waypoint", "speed_mps": 20}}
    result = edgefl.run(UMI | keys, train=False)
    assert (result.devices["status"] == "received").all()
    assert (result.devices[["bytes_down", "bytes_up"]] == 120_000).all(axis=None)
    again = edgefl.run(UMI | keys, train=False)
    assert again.devices.equals(result.devices)
    held = edgefl.run(UMI | keys | {"radio": radio | {"large_scale": "round"}}, train=False)
    assert not held.devices["upload_s"].equals(result.devices["upload_s"])


@pytest.mark.parametrize(
    ("radio", "said"),
    [
        ({"spatial_consistency": False}, "radio.spatial_consistency.*set it to true"),
        ({"sharing": "fixed", "interference": {}}, "radio.sharing.*processor"),
    ],
)
def test_impossible_choices_are_refused_in_a_line(tmp_path, radio, said):
    with pytest.raises(InputError, match=said):
        run(tmp_path, 1000, radio=radio)


@pytest.mark.oracle
@pytest.mark.parametrize("sharing", ["fixed", "processor"])
def test_power_control_follows_the_path(tmp_path, sharing):
    """Full compensation holds the SNR at P0 over the noise in 180 kHz; energy is the integral of the power it takes."""
    p0_w = 10 ** (-11 - 3)  # received in 180 kHz
    control = {"power_control": {"kind": "open_loop", "p0_dbm": -110.0, "alpha": 1.0}}
    result = run(tmp_path, 2_000_000, radio={"sharing": sharing}, devices=control)
    row = result.devices.iloc[0]
    slot_bits = BAND_HZ * SLOT_S * math.log2(1 + p0_w / (NOISE_W_HZ * 180e3))
    assert row["upload_s"] == pytest.approx(math.ceil(64e6 / slot_bits) * SLOT_S, abs=1.1 * SLOT_S)

    def power_w(time_s):
        distance_m = math.hypot(START_M + SPEED_MPS * time_s, 10.0 - 1.5)
        loss_db = 20 * math.log10(4 * math.pi * 3.5e9 / 3e8) + 10 * EXPONENT * math.log10(distance_m)
        return p0_w * (BAND_HZ / 180e3) * 10 ** (loss_db / 10)

    begins_s = row["download_s"]
    assert power_w(begins_s + row["upload_s"]) < 10 ** (2.3 - 3)  # below the full power to the end
    energy_j = quad(power_w, begins_s, begins_s + row["upload_s"])[0]
    assert row["tx_energy_j"] == pytest.approx(energy_j, rel=1e-3)
    assert energy_j > 1.3 * power_w(begins_s) * row["upload_s"]  # the path does change
