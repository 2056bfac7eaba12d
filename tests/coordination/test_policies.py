"""Server policies with rounds: closed forms of durations and interrupts, limits, and refusals."""

import itertools
import math

import numpy as np
import pytest
from radio_cases import DEVICE_W, NOISE_W_HZ, SERVER_W, SLOT_S, STILL, still_slots
from server_cases import (
    BAND_HZ,
    BASE,
    BITS,
    FLOPS,
    POLICIES,
    assert_same,
    check_books,
    check_books_of_a_walk,
    cpu_hz,
    locally,
    run,
)

import edgefl
from edgefl.scenario import load
from edgefl.server.server import Server


def needed_s(result, share_hz):
    """Return the seconds each row's device needs on its share of a constant channel, in closed form."""
    devices = result.devices
    computing_s = FLOPS / cpu_hz(result)[devices["device"]]
    slots = np.array([
        sum(still_slots(BITS, share_hz, power_w * 10 ** (-loss_db / 10) / NOISE_W_HZ / share_hz)
            for power_w in (SERVER_W, DEVICE_W))
        for loss_db in devices["pathloss_db"]
    ])  # fmt: skip
    return slots * SLOT_S + computing_s


def spent_s(devices):
    return devices[["download_s", "compute_s", "upload_s"]].sum(axis=1).to_numpy()


# How long rounds last


def test_a_synchronous_round_lasts_as_long_as_the_slowest_needs():
    result = run({})
    needed = needed_s(result, BAND_HZ / 6).reshape(4, 6)
    assert result.rounds["duration_s"].to_numpy() == pytest.approx(needed.max(axis=1))
    assert np.ptp(needed.max(axis=1)) > 0.001
    assert (result.devices["status"] == "received").all()


@pytest.mark.parametrize("deadline_s", [0.03, 0.045, 0.055, 5.0])
def test_a_round_lasts_no_longer_than_the_deadline_and_cuts_exactly_there(deadline_s):
    result = run({"policy": "deadline", "deadline_s": deadline_s})
    needed = needed_s(result, BAND_HZ / 6)
    late = needed > deadline_s
    assert {0.03: late.all(), 5.0: not late.any()}.get(deadline_s, 0 < late.sum() < late.size)
    assert (result.devices["status"] == "late").tolist() == late.tolist()
    slowest = needed.reshape(4, 6).max(axis=1)
    assert result.rounds["duration_s"].to_numpy() == pytest.approx(np.minimum(slowest, deadline_s))
    assert result.rounds["late"].tolist() == late.reshape(4, 6).sum(axis=1).tolist()
    assert spent_s(result.devices) == pytest.approx(np.minimum(needed, deadline_s))
    check_books(result.rounds, result.devices, result.summary)


@pytest.mark.parametrize("sharing", ["fixed", "processor"])
def test_update_that_arrives_at_the_deadline_is_in_time(sharing):
    """The deadline is the moment at which the last of six arrives; a nanosecond less, and it is late."""
    changes = {"rounds": 1, "radio": {**BASE["radio"], "sharing": sharing}}
    whole = run({}, **changes)
    last_s = whole.rounds["time_s"].item()
    assert_same(run({"policy": "deadline", "deadline_s": last_s}, **changes), whole)
    cut = run({"policy": "deadline", "deadline_s": last_s - 1e-9}, **changes)
    assert cut.rounds[["received", "late"]].to_numpy().tolist() == [[5, 1]]
    assert cut.rounds["time_s"].item() == last_s - 1e-9


@pytest.mark.parametrize("factor", [1.3, 1.5, 2.0])
def test_over_selection_waits_for_the_first_and_cuts_the_rest_there(factor):
    """Six of ceil(6 factor), on shares for all who were asked."""
    asked = math.ceil(6 * factor)
    result = run({"policy": {"kind": "over_selection", "factor": factor}})
    needed = needed_s(result, BAND_HZ / asked).reshape(4, asked)
    sixth = np.sort(needed, axis=1)[:, 5]
    assert result.rounds["duration_s"].to_numpy() == pytest.approx(sixth)
    assert result.rounds[["selected", "received", "late"]].to_numpy().tolist() == [[asked, 6, asked - 6]] * 4
    late = (result.devices["status"] == "late").to_numpy()
    assert late.reshape(4, asked).tolist() == (needed > sixth[:, None] + 1e-9).tolist()
    assert spent_s(result.devices) == pytest.approx(np.minimum(needed, sixth[:, None]).ravel())
    check_books(result.rounds, result.devices, result.summary)


@pytest.mark.parametrize("sharing", ["fixed", "processor"])
def test_a_sequential_round_lasts_the_sum_and_each_has_the_band_alone(sharing):
    """Under processor sharing an upload begins at the border of a slot."""
    result = run({"policy": "sequential"}, radio={**BASE["radio"], "sharing": sharing})
    needed = needed_s(result, BAND_HZ)
    if sharing == "processor":
        needed = np.ceil(needed / SLOT_S - 1e-6) * SLOT_S
    assert result.rounds["duration_s"].to_numpy() == pytest.approx(needed.reshape(4, 6).sum(axis=1))
    ends = result.events[result.events["kind"] == "upload_end"].sort_values("time_s")
    assert np.diff(ends["time_s"]).min() >= needed.min() - 1e-9


def test_devices_walk_in_the_order_of_the_selection():
    schedule = {"kind": "schedule", "rounds": [[3, 1, 2], [0, 2]]}
    events = run({"policy": "sequential", "selection": schedule}).events
    ends = events[events["kind"] == "upload_end"].sort_values("time_s")
    assert ends["device"].tolist() == [3, 1, 2, 0, 2] * 2


# Sequential learning: oracles of the algorithm cards, 1.18


def quadratics(policy, functions, steps, rounds, lr=0.01, x0=10.0, order=None, **training):
    """A run on (a, b): the minimised functions are a x^2 + b x."""
    order = order or [list(range(len(functions)))]
    return edgefl.run({
        "rounds": rounds,
        "report": {"eval_every": rounds},
        "data": {"dataset": "quadratic", "coefficients": [[a, b, 0] for a, b in functions]},
        "model": {"init": {"kind": "value", "value": x0}},
        "training": {"local_steps": steps, "batch_size": "full", "lr": lr, "engine": "serial", **training},
        "algorithm": {"kind": "fedavg", "weighting": "uniform"},
        "server": {"policy": policy, "selection": {"kind": "schedule", "rounds": order}},
        "radio": STILL,
    }, device="cpu")  # fmt: skip


def learned(policy, functions, steps, rounds, x=10.0):
    """Closed form: the models after each round."""
    models = []
    for _ in range(rounds):
        if policy == "sequential":
            for a, b in functions:
                x = locally(x, a, b, steps)
        else:
            x = np.mean([locally(x, a, b, steps) for a, b in functions])
        models.append(x)
    return models


PUBLISHED = [  # distance to the optimum after 500 rounds
    ("synchronous", 2, 0.00043),
    ("sequential", 2, 0.01005),
    ("synchronous", 10, 0.0),
    ("sequential", 10, 0.0502),
]
GROUP_1 = [(0.5, 1.0), (0.5, -1.0)]


@pytest.mark.oracle
@pytest.mark.parametrize(("policy", "steps", "published"), PUBLISHED)
def test_parallel_and_sequential_learning_match_closed_forms(policy, steps, published):
    """Sequential-FL paper, section 5.1, group 1 with b = 1; the closed form gives the published values."""
    result = quadratics(policy, GROUP_1, steps, 20)
    assert result.rounds["parameter"].iloc[-1] == pytest.approx(learned(policy, GROUP_1, steps, 20)[-1], rel=1e-12)
    digits = len(str(published)) - 2 if published else 5
    assert round(abs(learned(policy, GROUP_1, steps, 500)[-1]), digits) == published


@pytest.mark.slow
@pytest.mark.parametrize(("policy", "steps", "published"), PUBLISHED)
def test_published_distances(policy, steps, published):
    final = quadratics(policy, GROUP_1, steps, 500).rounds["distance_to_optimum"].iloc[-1]
    assert round(final, len(str(published)) - 2 if published else 5) == published


def test_the_model_walks_in_the_drawn_order():
    """Three functions, two of them strictly convex, in another order each round."""
    functions = [(2 / 3, 1.0), (1 / 3, -1.0), (0.0, 0.5)]
    order = [[2, 0, 1], [1, 2], [0]]
    x = 3.0
    for ids in order:
        for i in ids:
            x = locally(x, *functions[i], steps=3, lr=0.1)
    result = quadratics("sequential", functions, 3, 3, lr=0.1, x0=3.0, order=order)
    assert result.rounds["parameter"].iloc[-1] == pytest.approx(x, rel=1e-12)


@pytest.mark.oracle
def test_no_more_walk_than_the_algorithm_admits():
    """Two of four, others in each round, in the order of the selection."""
    policy = "sequential"
    result = run({"policy": policy, "participants": 4}, algorithm={"kind": "fedavg", "max_participants": 2}, rounds=8)
    everybody = run({"policy": policy, "participants": 4}, rounds=8)
    walks, orders = ([each.tolist() for _, each in walked(r).groupby("round")["device"]] for r in (result, everybody))
    assert [len(walk) for walk in walks] == [2] * 8 == (result.rounds["selected"]).tolist()
    assert all(
        walk == [device for device in order if device in walk] for walk, order in zip(walks, orders, strict=True)
    )
    assert len({tuple(walk) for walk in walks}) > 3


def walked(result):
    """Parts in the order of their beginnings."""
    return result.devices.sort_values(["round", "start_s"], kind="stable")


def test_with_one_participant_sequential_is_parallel():
    """The same samples in the same batches: bit by bit."""
    assert_same(*(run({"policy": policy, "participants": 1}, train=True) for policy in ("sequential", "synchronous")))


@pytest.mark.oracle
def test_identical_clients_in_a_row_are_one_client_with_more_steps():
    """P K steps of gradient descent; with momentum not, as each client begins with none."""
    chain = quadratics("sequential", [(0.5, 1.0)] * 3, 2, 5)
    alone = quadratics("synchronous", [(0.5, 1.0)], 6, 5)
    assert chain.rounds["parameter"].iloc[-1] == pytest.approx(alone.rounds["parameter"].iloc[-1], rel=1e-13)
    chain = quadratics("sequential", [(0.5, 1.0)] * 3, 2, 5, momentum=0.5)
    alone = quadratics("synchronous", [(0.5, 1.0)], 6, 5, momentum=0.5)
    assert abs(chain.rounds["parameter"].iloc[-1] - alone.rounds["parameter"].iloc[-1]) > 0.01


def test_walk_of_single_steps_is_an_epoch_of_incremental_gradient():
    functions = [(0.5, 1.0), (1.0, -2.0), (0.25, 0.5)]
    result = quadratics("sequential", functions, 1, 4, lr=0.1)
    x = 10.0
    for _ in range(4):
        for a, b in functions:
            x -= 0.1 * (2 * a * x + b)
    assert result.rounds["parameter"].iloc[-1] == pytest.approx(x, rel=1e-13)


def test_the_training_loss_is_the_mean_over_the_walk():
    functions = [(0.5, 1.0), (0.5, -1.0)]
    result = quadratics("sequential", functions, 1, 1)
    x = 10.0
    losses = []
    for a, b in functions:
        losses.append(a * x**2 + b * x)
        x -= 0.01 * (2 * a * x + b)
    assert result.rounds["train_loss"].item() == pytest.approx(np.mean(losses), rel=1e-12)


@pytest.mark.oracle
def test_a_device_that_fails_is_passed_over():
    """The model walks from the one before to the one after; without participants it stays where it is."""
    radio = {**BASE["radio"], "faults": {"failure_probability": 0.4}}
    result = run({"policy": "sequential"}, radio=radio, train=True, rounds=6)
    assert set(result.devices["status"]) == {"received", "download_failed", "upload_failed"}
    check_books_of_a_walk(result)
    radio["faults"] = {"max_transfer_s": 1e-4}
    nothing = run({"policy": "sequential"}, radio=radio, train=True)
    assert nothing.rounds["received"].sum() == 0
    assert nothing.rounds["test_loss"].nunique() == 1
    assert nothing.rounds["train_loss"].isna().all()


# Limits


DEADLINE = {"policy": "deadline", "deadline_s": 1e9}
OVER = {"policy": {"kind": "over_selection", "factor": 1.0}}
KEEP = {"policy": {"kind": "deadline", "late": "keep"}, "deadline_s": 1e9}


@pytest.mark.oracle
@pytest.mark.parametrize("faults", [{}, {"failure_probability": 0.3, "attempts": 2}], ids=["sound", "faulty"])
@pytest.mark.parametrize(
    ("limit", "sharing"),
    [(DEADLINE, "fixed"), (DEADLINE, "processor"), (KEEP, "processor"), (OVER, "fixed"), (OVER, "processor")],
)
def test_limits_in_which_a_policy_is_synchronous(limit, sharing, faults):
    changes = {"radio": {"bandwidth_hz": BAND_HZ, "sharing": sharing, "faults": faults}}
    assert_same(run(limit, **changes), run({}, **changes))


@pytest.mark.oracle
def test_the_limits_learn_the_same():
    changes = {"train": True, "rounds": 2}
    whole = run({}, **changes)
    assert_same(run(DEADLINE, **changes), whole)
    assert_same(run(OVER, **changes), whole)


# What holds for every policy


@pytest.mark.oracle
@pytest.mark.parametrize("name", list(POLICIES))
def test_two_runs_give_the_same_bytes_and_the_same_world_without_learning(name, tmp_path):
    changes = {"radio": {"bandwidth_hz": BAND_HZ}, "rounds": 3}
    folders = tmp_path / "one", tmp_path / "other"
    trained, _ = (run(POLICIES[name], out=folder, train=True, **changes) for folder in folders)
    with_wall_clock = {"manifest.json", "summary.json", "report.html"}
    files = {path.name for path in folders[0].iterdir()} - with_wall_clock
    assert {"rounds.csv", "devices.csv"} <= files
    for file in files:
        assert (folders[0] / file).read_bytes() == (folders[1] / file).read_bytes(), file
    priced = run(POLICIES[name], train=False, **changes)
    learned = ["train_loss", "test_loss", "test_accuracy"]
    assert trained.rounds.drop(columns=learned).equals(priced.rounds.drop(columns=learned))
    assert trained.devices.equals(priced.devices)
    assert trained.events.equals(priced.events)
    assert trained.rounds[learned].notna().all(axis=None)


@pytest.mark.oracle
@pytest.mark.parametrize("name", [name for name in POLICIES if "sequential" not in name])
def test_order_of_simultaneous_events_has_no_effect(name, monkeypatch):
    """Equal devices and short transfers: many arrive together. Simultaneous participations begin in reverse order."""
    devices = {"count": 12, "cpu_hz": FLOPS / 0.0203, "flops_per_cycle": 1.0}
    changes = {"devices": devices, "radio": {**STILL, "bandwidth_hz": 10e9, "sharing": "processor"}, "rounds": 6}
    server = {**POLICIES[name], "deadline_s": 0.0215} if "deadline" in name else POLICIES[name]
    plain = run(server, **changes)
    assert plain.events.groupby(["time_s", "kind"]).size().max() > 1
    dispatch = Server.dispatch
    monkeypatch.setattr(Server, "dispatch", lambda self, ids: dispatch(self, ids[::-1])[::-1])
    assert_same(run(server, **changes), plain)


@pytest.mark.oracle
@pytest.mark.parametrize(("name", "limit_s"), list(zip(POLICIES, itertools.cycle([1e-4, 0.0005]), strict=False)))
def test_when_all_transfers_fail_the_run_ends_and_the_model_stays(name, limit_s):
    """No transfer has the time that it needs, and under the second limit none has any."""
    radio = {"bandwidth_hz": 1e5, "sharing": "processor", "faults": {"max_transfer_s": limit_s}}
    result = run(POLICIES[name], radio=radio, rounds=3, train=True)
    assert result.status == "finished"
    assert len(result.rounds) == 3
    assert result.rounds["received"].sum() == 0
    unfinished = result.devices["status"] == "unfinished"
    assert (result.devices["status"][~unfinished] == "download_failed").all()
    assert (result.devices["round"][unfinished] == 3).all()
    assert (result.rounds["failed"] >= 6).all()
    assert result.rounds["test_loss"].nunique() == 1
    assert result.rounds["train_loss"].isna().all()


# What is refused


def test_overlapping_policies_choose_processor_sharing_themselves():
    for name in ("deadline_keep", "buffered", "asynchronous"):
        assert load({"server": POLICIES[name]}).radio.sharing == "processor"
    for name in ("synchronous", "deadline", "over_selection", "sequential"):
        assert load({"server": POLICIES[name]}).radio.sharing == "fixed"
