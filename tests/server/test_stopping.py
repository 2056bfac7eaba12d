"""Stop conditions: the lifetime of a network, and the exact end of policies without rounds."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from server_cases import BASE, POLICIES, run

import edgefl
from edgefl.core.errors import InputError
from edgefl.core.streams import Streams
from edgefl.scenario import load
from edgefl.server.stopping import Lifetime
from edgefl.world.battery_parameters import BatteryParameters
from edgefl.world.churn.base import Changes

WITHOUT_ROUNDS = ["asynchronous", "buffered"]
WITH_ROUNDS = ["synchronous", "deadline"]
BASE_W = 1000.0
FORTY_S = {"exponential": 40.0}
NOON = {"power_w": 1.0, "from_h": 0.002, "to_h": 12}  # from 7.2 s on
MAINS = {"name": "b", "share": 0.5}


def drained(depleted, *, policy="synchronous", start=1.0, base_w=BASE_W, capacity_j=0.5 * BASE_W, **more):
    """A run of devices that draw thousands of times as much all the time as for taking part."""
    battery = {"capacity_j": capacity_j, "start": start, "base_w": base_w}
    devices = {**BASE["devices"], "battery": battery}
    radio = {**BASE["radio"], "sharing": "processor"}
    return run(POLICIES[policy], devices=devices, radio=radio, rounds=60, stop={"depleted": depleted}, **more)


@pytest.mark.oracle
@pytest.mark.parametrize("policy", ["synchronous", "asynchronous"])
@pytest.mark.parametrize("depleted", [1, 3])
def test_lifetime_is_charge_over_power(policy, depleted):
    """Devices that draw the same power run out in the order of their charge."""
    result = drained(depleted, policy=policy, start={"uniform": [0.2, 1.0]})
    devices = load({"seed": result.scenario["seed"], "devices": result.scenario["devices"]}).devices
    start_j = BatteryParameters.drawn(devices, Streams(result.scenario["seed"])).start_j
    expected_s = np.sort(start_j)[depleted - 1] / BASE_W
    assert result.summary["lifetime_s"] == pytest.approx(expected_s, rel=1e-3)
    last = result.rounds.iloc[-1]
    assert last["depleted"] >= depleted
    assert result.rounds["depleted"].iloc[:-1].max() < depleted
    assert last["time_s"] - last["duration_s"] <= result.summary["lifetime_s"] <= last["time_s"]


def test_network_whose_devices_begin_without_charge_ends_after_a_round():
    result = drained(2, start={"choice": [0.0, 1.0]})
    assert len(result.rounds) == 1
    assert result.summary["lifetime_s"] == 0.0


@pytest.mark.parametrize("capacity_j", [0.0005, 0.002])
def test_batteries_for_less_than_a_round_end_the_network_in_its_first_one(capacity_j):
    """What a device spends until it has gone is its battery's capacity."""
    result = drained(1, base_w=0.0, capacity_j=capacity_j)
    assert len(result.rounds) == 1
    gone = result.devices[result.devices["status"] == "departed"]
    spent_j = gone[["rx_energy_j", "cpu_energy_j", "tx_energy_j", "idle_energy_j"]].sum(axis=1)
    assert spent_j.to_numpy() == pytest.approx([capacity_j] * len(gone))
    ended_s = gone["start_s"] + gone[["download_s", "compute_s", "upload_s", "wait_s"]].sum(axis=1)
    assert result.summary["lifetime_s"] == pytest.approx(ended_s.min())


@pytest.mark.oracle
def test_network_that_outlives_its_rounds_has_no_lifetime():
    result = drained(2, base_w=0.0)
    assert result.summary["lifetime_s"] is None


def test_devices_that_are_charged_before_the_round_ends_had_still_run_out():
    """Two phones run out within 20 s and are charged at once; the two boards on mains compute for minutes."""
    charging = {"power_w": 5.0, "from_h": 0.01, "to_h": 23.9}  # from 36 s on
    battery = {"capacity_j": 20.0, "base_w": 1.0, "resume": 0.1, "charging": charging}
    groups = [{"name": "phones", "count": 2, "battery": battery}, {"name": "boards", "count": 2}]
    devices = {"count": 4, "cpu_hz": 1e8, "groups": groups}
    model = {"kind": "logistic", "cost": {"parameters": 2e6, "flops_per_parameter": 44.0}}
    scenario = {"rounds": 3, "devices": devices, "model": model, "server": {"participants": 4}, "stop": {"depleted": 2}}
    result = edgefl.run(scenario, train=False)
    assert result.rounds["depleted"].tolist() == [0]
    assert 10.0 < result.summary["lifetime_s"] < 20.0
    assert result.summary["time_s"] > 60.0


@pytest.mark.oracle
@given(
    st.lists(st.tuples(st.integers(0, 4), st.floats(0.01, 1)), max_size=40),
    st.integers(1, 5),
    st.integers(1, 7),
    st.booleans(),
)
def test_lifetime_is_that_of_a_count_event_by_event(switches, depleted, batch, asks):
    """Each switch of a device lets it run out, or charges it again; told in batches of any size."""
    times_s = np.cumsum([wait_s for _, wait_s in switches])
    out = set()
    came = []
    ended_s = None
    for (device, _), time_s in zip(switches, times_s, strict=True):
        came.append(device in out)
        out ^= {device}
        if ended_s is None and len(out) >= depleted:
            ended_s = time_s
    lifetime = Lifetime(depleted, 0)
    ids = np.array([device for device, _ in switches], dtype=np.int64)
    for begin in range(0, len(switches), batch):
        part = slice(begin, begin + batch)
        lifetime.note(Changes(times_s[part][::-1], ids[part][::-1], np.array(came[part][::-1], dtype=bool)))
        if asks:
            lifetime.ended_s()
    assert lifetime.ended_s() == ended_s


def test_network_that_dies_while_the_server_waits_for_arrivals_ends_the_run(tmp_path):
    """All leave at 0.2 s and would be back at 9 s; the charge of 0.5 s of `base_w` is spent by then."""
    stays = [f"{device},0,0.2\n{device},9,99\n" for device in range(BASE["devices"]["count"])]
    (tmp_path / "stays.csv").write_text("device,on_s,off_s\n" + "".join(stays))
    churn = {"kind": "trace", "path": str(tmp_path / "stays.csv")}
    result = drained(BASE["devices"]["count"], churn=churn)
    assert result.status == "finished"
    assert result.summary["lifetime_s"] == pytest.approx(0.5, rel=1e-3)


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        ({}, "stop.depleted: no device has a battery that could run out"),
        ({"devices": {"count": 3, "battery": {"capacity_j": 1}}}, "stop.depleted: must be <= devices.count = 3, got 4"),
        (
            {"devices": {"count": 6, "groups": [{"name": "a", "share": 0.5, "battery": {"capacity_j": 1}}, MAINS]}},
            "stop.depleted: must be <= 3, the number of devices with a battery, got 4: set it to 3$",
        ),
    ],
)
def test_lifetimes_that_no_network_has_are_refused(keys, message):
    with pytest.raises(InputError, match=message):
        load({"server": {"participants": 2}, "stop": {"depleted": 4}, **keys})


# The exact end of policies without rounds


def until(time_s, policy):
    radio = {**BASE["radio"], "sharing": "processor"}
    return run(POLICIES[policy], radio=radio, rounds=30, stop={"time_s": time_s} if time_s else {})


@pytest.mark.oracle
@pytest.mark.parametrize("policy", WITHOUT_ROUNDS)
def test_policies_without_rounds_end_at_the_time_itself(policy):
    """The rounds before are those of a run without an end; the last one has what has arrived since, and all costs."""
    whole = until(None, policy).rounds
    # Between two aggregations, and well away from both
    after = len(whole) // 2
    time_s = (whole["time_s"].iloc[after] + whole["time_s"].iloc[after + 1]) / 2
    result = until(time_s, policy)
    rounds = result.rounds
    assert rounds["time_s"].iloc[-1] == time_s
    assert len(rounds) == after + 2
    pd.testing.assert_frame_equal(rounds.iloc[:-1], whole.iloc[: len(rounds) - 1])
    devices = result.devices
    lasted_s = devices[["download_s", "compute_s", "upload_s", "wait_s"]].sum(axis=1)
    assert (devices["start_s"] + lasted_s).max() <= time_s * (1 + 1e-12)
    cut = devices[devices["status"] == "unfinished"]
    assert len(cut) > 0
    assert (cut["start_s"] + lasted_s[cut.index]).to_numpy() == pytest.approx(time_s)
    spent_j = devices[["rx_energy_j", "cpu_energy_j", "tx_energy_j", "idle_energy_j"]].sum().sum()
    assert rounds["energy_j"].iloc[-1] == pytest.approx(spent_j)


@pytest.mark.oracle
@pytest.mark.parametrize(
    ("policy", "churn"),
    [("buffered", {"kind": "none"}), ("asynchronous", {"kind": "poisson", "arrivals_per_s": 0.1, "stay_s": FORTY_S})],
)
def test_the_last_row_has_all_costs_although_devices_leave_and_run_out(policy, churn):
    """Energy is conserved: rows of devices, rows of rounds and their cumulative column agree."""
    battery = {
        "capacity_mah": {"uniform": [0.01, 0.05]},
        "voltage_v": 3.7,
        "base_w": 0.3,
        "resume": 0.3,
        "charging": NOON,
    }
    scenario = {
        "rounds": 400,
        "model": {"kind": "logistic", "cost": {"parameters": 2e5, "flops_per_parameter": 44.0}},
        "devices": {"count": 8, "cpu_hz": 2e8, "battery": battery},
        "server": {"participants": 3, "policy": policy},
        "radio": {"preset": "nr"},
        "cells": {"radius_m": 120},
        "churn": churn,
        "stop": {"time_s": 91.7},
    }
    result = edgefl.run(scenario, train=False)
    rounds = result.rounds
    devices = result.devices
    assert rounds["time_s"].iloc[-1] == 91.7
    assert {"received", "departed", "unfinished"} <= set(devices["status"])
    spent_j = devices[["rx_energy_j", "cpu_energy_j", "tx_energy_j", "idle_energy_j"]].sum().sum()
    assert rounds["energy_j"].iloc[-1] == pytest.approx(spent_j, rel=1e-9)
    assert rounds["round_energy_j"].sum() == pytest.approx(spent_j, rel=1e-9)
    lasted_s = devices[["download_s", "compute_s", "upload_s", "wait_s"]].sum(axis=1)
    assert (devices["start_s"] + lasted_s).max() == pytest.approx(91.7)
    assert rounds["selected"].sum() == len(devices)


@pytest.mark.oracle
@pytest.mark.parametrize("policy", WITH_ROUNDS)
def test_rounds_that_are_under_way_end_first(policy):
    whole = until(None, policy).rounds
    time_s = (whole["time_s"].iloc[4] + whole["time_s"].iloc[5]) / 2
    rounds = until(time_s, policy).rounds
    assert rounds["time_s"].iloc[-1] == whole["time_s"].iloc[5]
