"""The edge of service, least speeds, power control by the radio, and warnings of slow transfers."""

import math

import numpy as np
import pytest
from radio_cases import STILL, link, participants

import edgefl
from edgefl.scenario import load

LOG_DISTANCE = {
    "propagation": {"kind": "log_distance", "exponent": 3.0, "reference_loss_db": 60.0, "reference_m": 10.0}
}
RADIO = {**LOG_DISTANCE, **STILL, "bandwidth_hz": 20e6, "subcarrier_spacing_hz": 30e3, "server_tx_power_dbm": 44}


def trace(folder, *rows):
    path = folder / "trace.csv"
    path.write_text("time_s,device,x_m,y_m\n" + "".join(f"{t},{device},{x},0\n" for t, device, x in rows))
    return {"kind": "trace", "path": str(path)}


def run(mobility, rounds=3, radio=(), **keys):
    scenario = {
        "rounds": rounds,
        "devices": {"count": 4},
        "cells": {"radius_m": 5000},
        "radio": {**RADIO, **dict(radio)},
        "mobility": mobility,
        "server": {"participants": 4},
        **keys,
    }
    return edgefl.run(scenario, train=False)


def rsrp_dbm(distance_m):
    """44 dBm over the 612 subcarriers of 51 blocks (TS 38.215, 5.1.1), and a loss of 60 dB at 10 m, 30 dB a decade."""
    away_m = math.hypot(distance_m, 10.0 - 1.5)
    return 44 - 10 * math.log10(51 * 12) - 60 - 30 * math.log10(away_m / 10)


def test_reference_power_has_a_closed_form():
    radio = load({"radio": RADIO}).radio
    assert radio.rsrp_dbm(np.array([1e-10])) == pytest.approx(44 - 10 * math.log10(612) - 100)
    wide = load({"radio": {"bandwidth_hz": 15e6, "server_tx_power_dbm": 40}}).radio
    assert wide.rsrp_dbm(np.array([1e-9])) == pytest.approx(40 - 30 - 90)


def test_only_devices_above_the_level_are_chosen(tmp_path):
    places_m = (50.0, 300.0, 310.0, 2000.0)
    level_dbm = rsrp_dbm(305.0)
    where = trace(tmp_path, *((0, device, x_m) for device, x_m in enumerate(places_m)))
    result = run(where, radio={"least_rsrp_dbm": level_dbm})
    assert set(result.devices["device"]) == {0, 1}
    assert result.rounds["out_of_service"].tolist() == [2, 2, 2]
    assert result.rounds["present"].tolist() == [2, 2, 2]


def test_a_device_that_comes_closer_is_served_from_the_second_on(tmp_path):
    """It comes from 1,000 m at 10 m/s: below the level until it is 305 m away."""
    where = trace(tmp_path, *((t, device, 1000 - 10 * t) for device in range(4) for t in (0, 90)))
    result = run(where, rounds=1, radio={"least_rsrp_dbm": rsrp_dbm(305.0)})
    began_s = result.devices["start_s"].min()
    assert began_s == pytest.approx(math.ceil((1000 - 305.0) / 10))


def test_a_run_without_any_served_device_is_refused():
    error = run("static", radio={"least_rsrp_dbm": 0}).error
    assert error.startswith("radio.least_rsrp_dbm: 0: no device is served at 0 s: add base stations")


@pytest.mark.parametrize("fading", ["rayleigh", "jakes"])
def test_a_device_at_rest_fades_as_one_of_the_least_speed(fading):
    ids = np.arange(5)
    least = link(fading=fading, least_speed_mps=3.0)
    plain = link(fading=fading)
    at_rest = participants(least, ids, speed_mps=0.0)
    walking = participants(plain, ids, speed_mps=3.0)
    assert np.array_equal(at_rest.correlation, walking.correlation)
    assert np.array_equal(at_rest.speed_mps, walking.speed_mps)
    faster = participants(least, ids, speed_mps=7.0)
    assert np.array_equal(faster.correlation, participants(plain, ids, speed_mps=7.0).correlation)


def test_devices_without_their_own_power_control_follow_the_radio():
    control = {"kind": "open_loop", "p0_dbm": -95.0}
    groups = [{"name": "own", "count": 2, "power_control": "full"}, {"name": "radio", "count": 2}]
    devices = {"count": 4, "groups": groups}
    given = [{"name": "own", "count": 2}, {"name": "radio", "count": 2, "power_control": control}]
    by_radio = edgefl.run({"rounds": 2, "devices": devices, "radio": {"power_control": control}}, train=False)
    by_group = edgefl.run({"rounds": 2, "devices": {"count": 4, "groups": given}}, train=False)
    assert by_radio.devices.equals(by_group.devices)


WAITS = {**STILL, "faults": {"link_failure_s": 50.0}}


def test_a_run_that_waits_for_one_constant_says_so(caplog, tmp_path):
    """One of four devices is far out of reach: each round lasts 50 s, as its download fails after that."""
    where = trace(tmp_path, (0, 0, 4e6), *((0, device, 20) for device in (1, 2, 3)))
    propagation = {"propagation": {"kind": "log_distance", "out_of_range": "clamp"}}
    result = run(where, rounds=6, radio={**propagation, **WAITS}, cells={"radius_m": 5e6})
    assert result.rounds["duration_s"].tolist() == pytest.approx([50.0] * 6)
    (said,) = [record.getMessage() for record in caplog.records if "so far" in record.getMessage()]
    assert said.startswith("radio.faults.link_failure_s: 50 s makes 100 % of the time so far, as 5 transfers")


def test_an_upload_of_many_times_the_median_is_named(caplog, tmp_path):
    where = trace(tmp_path, *((0, device, 20) for device in range(5)), (0, 5, 3000))
    model = {"kind": "mlp", "cost": {"parameters": 6_000_000, "flops_per_parameter": 0}}
    keys = {"devices": {"count": 6}, "server": {"participants": 6}, "model": model}
    result = run(where, rounds=1, radio={"sharing": "processor"}, **keys)
    upload_s = result.devices.sort_values("device")["upload_s"].to_numpy()
    times = upload_s[5] / np.median(upload_s)
    assert times > 10
    (said,) = [record.getMessage() for record in caplog.records if "times the median" in record.getMessage()]
    assert said.startswith(f"round 1: the upload of device 5 takes {upload_s[5]:.0f} s, {times:.0f} times the median")
