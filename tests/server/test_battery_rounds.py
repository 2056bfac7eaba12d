"""Rounds of devices on batteries: interrupts, waiting, and accounts of every joule."""

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from server_cases import BASE, POLICIES, presence_trace, run

from edgefl.core.streams import Streams
from edgefl.scenario import load
from edgefl.world.battery_parameters import BatteryParameters

ENERGY = ["rx_energy_j", "cpu_energy_j", "tx_energy_j", "idle_energy_j"]
TIMES = ["download_s", "compute_s", "upload_s", "wait_s"]
OVERLAPPING = {"deadline_keep", "buffered", "asynchronous"}  # need processor sharing
CASES = [(name, "processor") for name in POLICIES]
CASES += [("synchronous", "fixed"), ("deadline", "fixed"), ("hierarchical", "fixed")]
IDLE_W = 0.05
NEAR_J = 20 * 0.3 * 1e-6 * 0.0005  # the radio takes times within a millionth of a slot for one
DRIVING = {
    "cells": {"layout": "hexagonal", "sites": 7, "radius_m": 100, "handover": {}},
    "mobility": {"kind": "random_waypoint", "speed_mps": {"uniform": [10, 30]}},
    "radio": {
        "propagation": {"kind": "umi_los", "out_of_range": "clamp"}, "bandwidth_hz": 1e5, "spatial_consistency": True,
        "sharing": "processor",
    },
}  # fmt: skip
SHARED = {**BASE["radio"], "sharing": "processor"}


def powered(policy="synchronous", *, sharing=None, split=False, **battery):
    """A run on batteries; all else as in the tests of policies."""
    devices = {**BASE["devices"], "idle_power_w": IDLE_W, "battery": {"capacity_j": 0.012, **battery}}
    radio = dict(BASE["radio"])
    if sharing:
        radio["sharing"] = sharing
    if split:
        server = {"policy": {"kind": "split"}}
        return run(server, devices=devices, radio=radio, rounds=12, model={"kind": "mlp"})
    return run(POLICIES[policy], devices=devices, radio=radio, rounds=12)


def spent_j(devices):
    return devices[ENERGY].sum(axis=1)


def unexplained_j(result):
    """Return the charge of all batteries at the end, less that at the start and the recorded energy."""
    full_j = result.scenario["devices"]["battery"]["capacity_j"] * result.scenario["devices"]["count"]
    return result.rounds["battery"].iloc[-1] * full_j - full_j + spent_j(result.devices).sum()


# Books


@pytest.mark.oracle
@pytest.mark.parametrize("sharing", ["fixed", "processor"])
@settings(max_examples=4, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    capacity=st.floats(0.6, 3.0),
    reserve=st.sampled_from([0.0, 0.004]),
    charging=st.sampled_from([0.05, 0.2]),
    base=st.sampled_from([0.0, 0.01]),
    idle=st.sampled_from([0.0, 0.03]),
    power=st.sampled_from([0.02, IDLE_W]),
)
def test_level_is_start_plus_charged_less_spent(sharing, capacity, reserve, charging, base, idle, power):
    """start + charged - drained - spent = level, after each part of each device; never below the reserve."""
    battery = {"capacity_j": capacity, "start": 0.01, "reserve": reserve, "resume": reserve + 0.003}
    battery |= {"base_w": base, "idle_w": idle}
    battery["charging"] = {"power_w": charging, "from_h": 0, "to_h": 24}
    devices = {**BASE["devices"], "idle_power_w": power, "battery": battery}
    result = run({}, devices=devices, radio={**BASE["radio"], "sharing": sharing}, rounds=8)
    rounds = result.rounds.set_index("round")
    began_s = rounds["time_s"] - rounds["duration_s"]
    for _, rows in result.devices.groupby("device"):
        lasted_s = rows[TIMES].sum(axis=1)
        until_s = rows["round"].map(began_s) + lasted_s
        drained_j = base * until_s + idle * (until_s - lasted_s.cumsum())
        level_j = 0.01 * capacity + charging * until_s - drained_j - spent_j(rows).cumsum()
        found_j = rows["battery_j"] + (charging - base - power) * rows["wait_s"]
        assert found_j.to_numpy() == pytest.approx(level_j.to_numpy(), abs=NEAR_J)
        assert rows["battery_j"].min() >= reserve * capacity - 1e-15


@pytest.mark.oracle
@pytest.mark.parametrize(("name", "sharing"), CASES)
def test_batteries_lose_the_recorded_energy(name, sharing):
    """The levels of all at the end add up to the start less all that was spent; nothing is charged or drained."""
    result = powered(name, sharing=sharing, capacity_j=0.004 if name == "asynchronous" else 0.012)
    departed = result.devices[result.devices["status"] == "departed"]
    assert len(departed) > 0
    assert departed["battery_j"].abs().max() == 0
    assert abs(unexplained_j(result)) < NEAR_J
    assert (departed["wait_s"] == 0).all()


def supply_of(result):
    """Return the batteries of a run's devices."""
    devices = load({"devices": result.scenario["devices"]}).devices
    return BatteryParameters.drawn(devices, Streams(result.scenario["seed"]))


@pytest.mark.oracle
@pytest.mark.parametrize(("name", "sharing"), CASES)
def test_balance_of_all_batteries_holds(name, sharing):
    """level_end = level_start + charged - drained - spent, over the run and, where parts end with rounds, over each."""
    charging = {"power_w": {"uniform": [0.01, 0.06]}, "from_h": 0, "to_h": 24}
    battery = {"capacity_j": {"uniform": [0.004, 0.02]}, "start": {"uniform": [0.3, 1.0]}, "idle_w": 0.02}
    battery["base_w"] = 0.01
    result = powered(name, sharing=sharing, charging=charging, reserve=0.1, **battery)
    rounds = result.rounds
    supply = supply_of(result)
    before_j = np.concatenate([[supply.start_j.sum()], rounds["stored_j"][:-1]])
    gained_j = rounds["charged_j"] - rounds["drained_j"] - rounds["round_energy_j"]
    assert rounds["stored_j"].iloc[-1] == pytest.approx(before_j[0] + gained_j.sum(), abs=NEAR_J)
    if name not in OVERLAPPING:
        assert rounds["stored_j"].to_numpy() == pytest.approx(before_j + gained_j.to_numpy(), abs=NEAR_J)
    assert rounds["depleted"].max() > 0
    assert (rounds[["charged_j", "drained_j"]].sum() > 0).all()
    for column in ("charged_j", "drained_j"):
        assert result.summary[column] == pytest.approx(rounds[column].sum())
    ids = result.devices["device"]
    assert np.array_equal(result.devices["battery_capacity_j"], supply.capacity_j[ids])


@pytest.mark.oracle
def test_base_power_drains_batteries_and_costs_participations_nothing():
    """With plenty of charge rows and energies are those without it; batteries have less by its power times the time."""
    plain, drained = (powered(capacity_j=1e6, base_w=base_w) for base_w in (0.0, 3.0))
    left = ["battery", "stored_j", "drained_j"]
    assert drained.rounds.drop(columns=left).equals(plain.rounds.drop(columns=left))
    assert drained.devices.drop(columns="battery_j").equals(plain.devices.drop(columns="battery_j"))
    missing_j = (plain.rounds["stored_j"] - drained.rounds["stored_j"]).to_numpy()
    assert missing_j == pytest.approx(20 * 3.0 * plain.rounds["time_s"].to_numpy(), abs=1e-6)
    lost_j = drained.rounds["drained_j"].to_numpy()
    assert lost_j == pytest.approx(20 * 3.0 * plain.rounds["duration_s"].to_numpy())
    assert plain.rounds["drained_j"].abs().max() == 0


@pytest.mark.oracle
@pytest.mark.parametrize("server", [{}, {"policy": "deadline", "deadline_s": 0.9}])
def test_balance_holds_through_handovers(server):
    charging = {"power_w": 0.3, "from_h": 0, "to_h": 24}
    battery = {"capacity_j": {"uniform": [0.4, 4.0]}, "base_w": 0.5, "charging": charging}
    devices = {**BASE["devices"], "idle_power_w": IDLE_W, "battery": battery}
    result = run(server, devices=devices, rounds=8, **DRIVING)
    assert result.rounds["handovers"].sum() > 0
    assert (result.devices["status"] == "departed").any()
    rounds = result.rounds
    before_j = np.concatenate([[supply_of(result).start_j.sum()], rounds["stored_j"][:-1]])
    gained_j = rounds["charged_j"] - rounds["drained_j"] - rounds["round_energy_j"]
    assert rounds["stored_j"].to_numpy() == pytest.approx(before_j + gained_j.to_numpy(), abs=NEAR_J)


def test_departed_devices_are_metered_too():
    churn = {"kind": "poisson", "arrivals_per_s": 200.0, "stay_s": {"exponential": 0.05}}
    devices = {**BASE["devices"], "idle_power_w": IDLE_W, "battery": {"capacity_j": 0.05}}
    result = run({}, devices=devices, churn=churn, rounds=12)
    assert result.rounds["departed"].sum() > 0
    assert abs(unexplained_j(result)) < NEAR_J


@pytest.mark.oracle
def test_split_learning_is_metered_too():
    result = powered(split=True, capacity_j=0.004)
    assert (result.devices["status"] == "departed").any()
    assert abs(unexplained_j(result)) < NEAR_J


def test_an_update_on_its_way_over_the_backhaul_arrives_without_its_device():
    """It runs out while the update travels: nothing is sent again, nothing more is spent, and it counts."""
    devices = {**BASE["devices"], "idle_power_w": 0.5, "battery": {"capacity_j": 0.06}}
    result = run({}, devices=devices, backhaul={"kind": "star", "delay_s": 0.03}, rounds=8)
    rows = result.devices[(result.devices["status"] == "received") & (result.devices["battery_j"] == 0)]
    assert len(rows) > 0
    assert abs(unexplained_j(result)) < NEAR_J


@pytest.mark.oracle
@pytest.mark.parametrize(
    ("sharing", "tdd"), [("fixed", {"downlink": 0.6, "uplink": 0.4}), ("processor", "DDSUU"), ("fixed", "DDSUU")]
)
def test_failing_transfers_turns_and_waits_are_metered_too(sharing, tdd):
    """Attempts, the frame's other direction, round robin and limits: silence costs idle power, the air its own."""
    radio = {
        **BASE["radio"], "sharing": sharing, "tdd": tdd, "fading": "rayleigh",
        "allocation": "round_robin", "faults": {"failure_probability": 0.3, "attempts": 2, "max_transfer_s": 0.1},
    }  # fmt: skip
    devices = {**BASE["devices"], "idle_power_w": IDLE_W, "battery": {"capacity_j": 0.02}}
    result = run({}, devices=devices, radio=radio, rounds=20)
    assert {"departed", "received"} < set(result.devices["status"])
    assert abs(unexplained_j(result)) < NEAR_J


@pytest.mark.oracle
def test_a_device_that_fails_and_is_asked_again_does_not_wait_twice():
    """Policies without rounds ask it again before the row of its failed part is written."""
    radio = {**SHARED, "faults": {"failure_probability": 0.5}}
    devices = {**BASE["devices"], "idle_power_w": IDLE_W, "battery": {"capacity_j": 0.05}}
    result = run(POLICIES["buffered"], devices=devices, radio=radio, rounds=6)
    again = result.devices[result.devices["status"].str.endswith("failed")].groupby(["round", "device"]).size()
    assert again.max() > 1
    assert abs(unexplained_j(result)) < NEAR_J


# Who takes part


@pytest.mark.parametrize("sharing", ["fixed", "processor"])
def test_participation_ends_when_the_battery_runs_out(sharing):
    """The same run on mains: up to the moment of running out, in the first round, nothing differs."""
    battery = {**BASE["devices"], "idle_power_w": IDLE_W, "battery": {"capacity_j": {"uniform": [0.001, 0.01]}}}
    radio = {**BASE["radio"], "sharing": sharing}
    low = run({}, devices=battery, radio=radio, rounds=1)
    mains = run({}, devices=BASE["devices"], radio=radio, rounds=1)
    out = low.events[low.events["kind"] == "battery_empty"].set_index("device")["time_s"]
    rows, others = (each.devices.set_index("device") for each in (low, mains))
    departed = rows[rows["status"] == "departed"]
    assert departed.index.tolist() == sorted(set(out.index) & set(departed.index))
    for device, row in departed.iterrows():
        assert row[TIMES].sum() == pytest.approx(out[device], rel=1e-12)
        if sharing == "fixed" or out[device] == out.min():  # a share changes when another one has gone
            first = next(kind for kind in TIMES if row[kind] < others.loc[device, kind] or kind == "wait_s")
            before = TIMES[: TIMES.index(first)]
            assert row[before].tolist() == pytest.approx(others.loc[device, before].tolist())
            assert not row[TIMES[TIMES.index(first) + 1 :]].any()


def test_running_out_after_the_update_has_arrived_costs_no_more():
    """The fastest have 1.2 times what their part takes: they wait until that is gone; their update counts."""
    plain = run({}, devices={**BASE["devices"], "idle_power_w": 20.0}, rounds=1)
    rows = plain.devices.set_index("device")
    fastest = rows["wait_s"].idxmax()
    needed = rows.loc[fastest, ENERGY].sum() - 20.0 * rows.loc[fastest, "wait_s"]
    battery = {"capacity_j": 1.2 * needed + 1e-9}
    groups = [{"name": str(device), "count": 1} for device in range(20)]
    groups[fastest]["battery"] = battery
    low = run({}, devices={**BASE["devices"], "idle_power_w": 20.0, "groups": groups}, rounds=1)
    row = low.devices.set_index("device").loc[fastest]
    assert row["status"] == "received"
    assert row[ENERGY].sum() == pytest.approx(battery["capacity_j"])
    assert row["wait_s"] == pytest.approx(0.2 * needed / 20.0, rel=1e-6)
    assert low.rounds["depleted"].item() == 1


@pytest.mark.oracle
def test_empty_devices_are_not_asked_until_charged():
    """Down to 30 % a device leaves, up to 60 % it comes back: selected exactly when the events say so."""
    battery = {"reserve": 0.3, "resume": 0.6, "charging": {"power_w": 0.05, "from_h": 0, "to_h": 24}}
    result = powered(**battery)
    events = result.events[result.events["kind"].str.startswith("battery")]
    assert set(events["kind"]) == {"battery_empty", "battery_charged"}
    began_s = (result.rounds["time_s"] - result.rounds["duration_s"]).tolist()
    for number, time in enumerate(began_s, 1):
        last = events[events["time_s"] <= time].groupby("device").last()
        low = set(last.index[last["kind"] == "battery_empty"])
        assert not low & set(result.devices.loc[result.devices["round"] == number, "device"])
        assert result.rounds["present"].iloc[number - 1] == 20 - len(low)
    at_end = events[events["time_s"] <= result.rounds["time_s"].iloc[-1]].groupby("device").last()
    assert result.rounds["depleted"].iloc[-1] == (at_end["kind"] == "battery_empty").sum()


@pytest.mark.oracle
def test_device_that_runs_out_before_its_turn_has_left():
    """One after another: idle power empties it while it waits; a row without any cost, as with churn."""
    result = powered("sequential", idle_w=0.1, capacity_j={"uniform": [0.01, 0.03]}, charging={"power_w": 0.05})
    out = result.events[result.events["kind"] == "battery_empty"]
    rows = result.devices[result.devices["status"] == "departed"]
    unused = rows[rows[ENERGY + TIMES].sum(axis=1) == 0]
    assert 0 < len(unused) < len(rows) < len(out)


def test_empty_device_leaves_whatever_on_departure_says():
    """Devices that run out do not complete their parts, though those that leave do; churn continues."""
    churn = {"kind": "poisson", "arrivals_per_s": 100.0, "stay_s": {"exponential": 0.1}}
    devices = {**BASE["devices"], "battery": {"capacity_j": 0.012}}
    result = run({"on_departure": "completes"}, devices=devices, churn=churn, rounds=12)
    out = result.events[result.events["kind"] == "battery_empty"]
    departed = result.devices[result.devices["status"] == "departed"]
    assert len(departed) == len(out) > 0
    assert {"arrival", "departure"} < set(result.events["kind"])


def test_server_waits_until_the_first_device_is_charged():
    """All run out in the first seconds; at 22 h they are plugged in, and the first one at 20 % is asked at once."""
    battery = {"idle_w": 0.001, "charging": {"power_w": 0.003}, "start": 0.5}
    late = {"from_h": 1, "to_h": 2}
    result = powered(**{**battery, "charging": {**battery["charging"], **late}})
    waiting = result.events[result.events["kind"] == "waiting"]["time_s"]
    assert len(waiting) >= 1
    begun = result.events[result.events["kind"] == "round_start"]["time_s"]
    assert begun[begun > waiting.iloc[0]].iloc[0] == pytest.approx(3600 + 0.2 * 0.012 / 0.002, rel=1e-9)
    assert len(result.rounds) == 12


@pytest.mark.oracle
@pytest.mark.parametrize("charged", [True, False])
def test_server_waits_for_the_first_charged_or_arriving_device(tmp_path, charged):
    """Six are present until 10,000 s, the others come then; the six are plugged in at 1 h, or never."""
    early = [(device, 0.0, 1e4) for device in range(6)]
    late = [(device, 1e4, float("inf")) for device in range(6, 20)]
    churn = presence_trace(tmp_path, early + late)
    if charged:
        hours = {"from_h": 1, "to_h": 2}
        expected = 3600 + 0.2 * 0.012 / 0.003
    else:
        hours = {"from_h": 20, "to_h": 22}
        expected = 1e4
    battery = {"capacity_j": 0.012, "start": 0.5, "charging": {"power_w": 0.003, **hours}}
    result = run({}, devices={**BASE["devices"], "battery": battery}, churn=churn, rounds=12)
    waiting = result.events.loc[result.events["kind"] == "waiting", "time_s"].iloc[0]
    begun = result.events.loc[result.events["kind"] == "round_start", "time_s"]
    assert begun[begun > waiting].iloc[0] == pytest.approx(expected, rel=1e-9)


@pytest.mark.oracle
@pytest.mark.parametrize("churn", ["none", {"kind": "poisson", "arrivals_per_s": 50.0, "stay_s": {"exponential": 0.2}}])
def test_run_ends_when_no_device_will_be_charged(churn):
    devices = {**BASE["devices"], "battery": {"capacity_j": 0.012, "idle_w": 0.01}}
    result = run({}, devices=devices, churn=churn, rounds=200)
    assert result.status == "failed"
    assert result.error.startswith("devices.battery: no device has charge at ")
    assert len(result.rounds) > 1


@pytest.mark.oracle
def test_a_full_battery_changes_nothing():
    """More than enough for all rounds: the same rows and events as on mains, bit by bit."""
    for name in ("synchronous", "buffered", "sequential"):
        devices = {**BASE["devices"], "battery": {"capacity_j": 1e9, "idle_w": 1.0, "charging": {"power_w": 2.0}}}
        low, mains = (run(POLICIES[name], devices=kind) for kind in (devices, BASE["devices"]))
        assert low.rounds.drop(columns=["battery", "depleted", "stored_j", "charged_j", "drained_j"]).equals(
            mains.rounds
        )
        assert low.devices.drop(columns=["battery_j", "battery_capacity_j"]).equals(mains.devices)
        assert low.events.equals(mains.events)
