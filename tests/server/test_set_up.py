"""Devices that set up before they take part: times, energy, batteries, and what ends a participation meanwhile."""

import numpy as np
import pytest
from server_cases import BASE, ENERGY, POLICIES, TIMES, interrupted, presence_trace, run

SETUP_S = 2.0
SETUP_J = 9.0
IDLE_W = 0.05
SPENT = [*ENERGY, "setup_energy_j"]
OVERLAPPING = ("deadline_keep", "buffered", "asynchronous")
NEAR_J = 1e-7


def devices(**keys):
    return {**BASE["devices"], "idle_power_w": IDLE_W, "setup_s": SETUP_S, "setup_j": SETUP_J, **keys}


def longer(policy):
    """The keys of a policy, whose deadline allows for the set-up."""
    server = dict(POLICIES[policy])
    if "deadline_s" in server:
        server["deadline_s"] += SETUP_S
    return server


def test_a_round_lasts_longer_by_the_set_up_and_costs_its_energy():
    plain = run({}, devices={**BASE["devices"], "idle_power_w": IDLE_W})
    later = run({}, devices=devices())
    assert later.rounds["duration_s"].to_numpy() == pytest.approx(plain.rounds["duration_s"].to_numpy() + SETUP_S)
    more_j = later.rounds["round_energy_j"] - plain.rounds["round_energy_j"]
    assert more_j.to_numpy() == pytest.approx(np.full(len(more_j), 6 * SETUP_J))
    assert (later.devices["setup_s"] == SETUP_S).all()
    assert (later.devices["setup_energy_j"] == SETUP_J).all()
    for column in (*TIMES, "wait_s", *ENERGY):  # idle power is not drawn besides
        assert later.devices[column].to_numpy() == pytest.approx(plain.devices[column].to_numpy())
    assert "setup_s" not in plain.devices


def test_each_device_draws_its_set_up():
    rows = run({"participants": 20}, devices=devices(setup_s={"uniform": [1, 3]}), rounds=1).devices
    assert len(set(rows["setup_s"].round(9))) == 20
    assert rows["setup_s"].between(1, 3).all()
    busy_s = rows[["setup_s", *TIMES, "wait_s"]].sum(axis=1).to_numpy()
    assert busy_s == pytest.approx(np.full(20, busy_s[0]))


@pytest.mark.oracle
@pytest.mark.parametrize("policy", list(POLICIES))
def test_every_policy_accounts_for_set_ups(policy):
    """Energies of devices add up to those of rounds, and times to those of participations."""
    radio = {**BASE["radio"], "sharing": "processor"} if policy in OVERLAPPING else BASE["radio"]
    result = run(longer(policy), devices=devices(), radio=radio, rounds=8)
    rows = result.devices
    assert result.rounds["energy_j"].iloc[-1] == pytest.approx(rows[SPENT].to_numpy().sum())
    received = rows[rows["status"] == "received"]
    assert len(received)
    assert (received["setup_s"] == SETUP_S).all()
    ends = received["start_s"] + received[["setup_s", *TIMES, "wait_s"]].sum(axis=1)
    round_ends = received["round"].map(result.rounds.set_index("round")["time_s"])
    assert ends.to_numpy() == pytest.approx(round_ends.to_numpy())


@pytest.mark.parametrize("server", [{"policy": "split"}, {"policy": {"kind": "split", "mode": "sequential"}}])
def test_split_learning_sets_up_once(server):
    rows = run(server, devices=devices(), model={"kind": "mlp"}).devices
    assert (rows["setup_s"] == SETUP_S).all()


def test_device_that_leaves_during_set_up_pays_for_the_time(tmp_path):
    trace = presence_trace(tmp_path, [(0, 0.0, 0.5), *((device, 0.0, 100.0) for device in range(1, 6))])
    rows = run({"participants": 6}, devices=devices(count=6), churn=trace, rounds=1).devices.set_index("device")
    cut = rows.loc[0]
    assert cut["status"] == "departed"
    assert cut["setup_s"] == pytest.approx(0.5)
    assert cut["setup_energy_j"] == pytest.approx(SETUP_J / 4)
    assert cut[[*TIMES, "bytes_down"]].sum() == 0
    assert (rows.loc[1:, "setup_s"] == SETUP_S).all()


def test_an_interrupt_pays_for_the_time_that_has_passed():
    keys = {**devices(count=12), "setup_s": 2.0}
    _, _, rows, _ = interrupted([0.4, 1.6], devices=keys)
    assert sorted(rows["setup_energy_j"])[:2] == pytest.approx([0.2 * SETUP_J, 0.8 * SETUP_J])


def test_a_deadline_within_the_set_up_leaves_nothing_else():
    rows = run({"policy": "deadline", "deadline_s": 1.0}, devices=devices(), rounds=2).devices
    assert (rows["status"] == "late").all()
    assert rows["setup_energy_j"].to_numpy() == pytest.approx(np.full(len(rows), SETUP_J / 2))


def test_clock_for_a_deadline_counts_the_set_up():
    """A later deadline by the set-up leaves as much time for computing, and so the same clock."""
    server = {"policy": "deadline", "deadline_s": 0.5}
    hardware = {**BASE["devices"], "dvfs": {"kind": "deadline", "min_cpu_hz": 1e3}}
    plain = run(server, devices=hardware).devices
    later = run({**server, "deadline_s": 0.5 + SETUP_S}, devices={**hardware, "setup_s": SETUP_S}).devices
    assert later["compute_s"].to_numpy() == pytest.approx(plain["compute_s"].to_numpy())
    assert (plain["compute_s"] > 0.3).any()


def test_forecasts_count_the_set_up():
    """Hurried by a deadline, FedCS takes those that set up in time."""
    server = {"selection": "fedcs", "csi": "perfect", "policy": "deadline", "deadline_s": 1.0}
    groups = [{"name": "slow", "count": 10, "setup_s": 1.5}, {"name": "fast", "count": 10, "setup_s": 0.1}]
    rows = run({**server, "participants": 12}, devices={**BASE["devices"], "groups": groups}, rounds=3).devices
    asked = rows[rows["status"] != "reported"]
    assert len(asked) == 30
    assert (asked["device"] >= 10).all()


@pytest.mark.oracle
def test_a_polled_device_sets_up_once():
    server = {"selection": {"kind": "power_of_choice", "d": 12}}
    result = run(server, devices=devices(), rounds=3, train=True)
    rows = result.devices
    assert set(rows["status"]) == {"polled", "received"}
    assert (rows["setup_s"] == SETUP_S).all()
    assert (rows["setup_energy_j"] == SETUP_J).all()
    assert (result.rounds["duration_s"] < 2 * SETUP_S).all()


def test_reported_energy_includes_the_set_up():
    """Once it has heard of all, it chooses those that spend least."""
    groups = [{"name": "dear", "count": 10, "setup_j": 20.0}, {"name": "cheap", "count": 10, "setup_j": 1.0}]
    server = {"selection": "energy_aware", "participants": 10}
    rows = run(server, devices={**BASE["devices"], "groups": groups}, rounds=4).devices
    assert (rows[rows["round"] > 2]["device"] >= 10).all()


# Batteries


@pytest.mark.oracle
@pytest.mark.parametrize("seconds", [SETUP_S, 0.0, {"uniform": [1, 3]}])
@pytest.mark.parametrize(("policy", "sharing"), [("synchronous", "fixed"), ("asynchronous", "processor")])
def test_batteries_pay_for_set_ups(policy, sharing, seconds):
    """Also joules of no time, spent at once, and set-ups that end within a slot: start - spent = level."""
    hardware = devices(setup_s=seconds, battery={"capacity_j": 100.0, "reserve": 0.1})
    result = run(POLICIES[policy], devices=hardware, radio={**BASE["radio"], "sharing": sharing}, rounds=30)
    rows = result.devices
    spent_j = rows[SPENT].to_numpy().sum()
    assert 20 * 100.0 - result.rounds["stored_j"].iloc[-1] == pytest.approx(spent_j, abs=NEAR_J)
    assert rows["setup_energy_j"].sum() > 0.9 * spent_j
    if policy == "synchronous":
        assert result.rounds["depleted"].max() > 0


def test_a_battery_that_ends_while_its_device_sets_up_has_paid_for_that_long():
    rows = run({}, devices=devices(battery={"capacity_j": SETUP_J / 3}), rounds=1).devices
    assert (rows["status"] == "departed").all()
    assert rows["setup_s"].to_numpy() == pytest.approx(np.full(6, SETUP_S / 3))
    assert rows["setup_energy_j"].to_numpy() == pytest.approx(np.full(6, SETUP_J / 3))
    assert rows["battery_j"].to_numpy() == pytest.approx(np.zeros(6), abs=NEAR_J)


def test_missing_joules_without_time_end_the_participation():
    rows = run({}, devices=devices(setup_s=0.0, battery={"capacity_j": 1.0}), rounds=1).devices
    assert (rows["status"] == "departed").all()
    assert (rows["battery_j"] == 0).all()
    assert (rows["bytes_up"] == 0).all()
