"""Selections of participants: each by hand, the server's knowledge, and its price."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from radio_cases import STILL
from server_cases import ENERGY

import edgefl
from edgefl.cli import main
from edgefl.coordination.selection import SELECTIONS
from edgefl.coordination.selection.base import weighted
from edgefl.coordination.selection.oort import Oort, declines
from edgefl.coordination.selection.power_of_choice import PowerOfChoice
from edgefl.coordination.server_view import DeviceReports, DeviceTracker
from edgefl.core.errors import InputError
from edgefl.core.streams import Streams
from edgefl.runs.assembly import build
from edgefl.runs.data_division import divide
from edgefl.runs.emulation import silent
from edgefl.scenario import load

NAN = np.nan
STREAMS = Streams(1)


def seen(ids=(), received=(), trip_s=(), energy_j=(), battery_j=(), loss=()):
    numbers = (np.array(each, dtype=float) for each in (trip_s, energy_j, battery_j, loss))
    return DeviceReports(np.array(ids, dtype=int), np.array(received, dtype=bool), *numbers)


def tracker_of(trip_s, energy_j=None, battery_j=None, loss=None, samples=None):
    """A tracker after a round: devices with a trip have taken part, those with a loss have reported."""
    count = len(trip_s)
    given = (trip_s, energy_j, battery_j, loss)
    trip_s, energy_j, battery_j, loss = (
        np.array([1.0] * count if each is None else each, dtype=float) for each in given
    )
    tracker = DeviceTracker(np.array([10] * count if samples is None else samples))
    ids = np.flatnonzero(~np.isnan(trip_s))
    received = ~np.isnan(loss[ids])
    tracker.close_round(seen(ids, received, trip_s[ids], energy_j[ids], battery_j[ids], loss[ids]))
    return tracker


def choose(kind, view, participants, present=None, index=0, seed=1, **keys):
    ids = np.arange(len(view.samples)) if present is None else np.array(present)
    selection = SELECTIONS.load(kind)(**keys)
    return selection.choose(ids, participants, index, Streams(seed), view).tolist()


# By hand


def test_selection_all_takes_all_devices():
    assert choose("all", tracker_of([NAN] * 5).view, 2, present=[1, 3, 4]) == [1, 3, 4]


def test_round_robin_continues_where_it_stopped():
    tracker = tracker_of([NAN] * 7)
    asked = []
    for present in ([0, 1, 2, 3, 4, 5, 6], [0, 1, 2, 3, 4, 5, 6], [0, 1, 4, 5], [0, 2, 3], [0, 1, 2, 3, 4, 5, 6]):
        asked.append(choose("round_robin", tracker.view, 3, present=present))
        tracker.note_sent(np.array(asked[-1]))
    assert asked == [[0, 1, 2], [3, 4, 5], [0, 1, 4], [0, 2, 3], [4, 5, 6]]


@pytest.mark.oracle
@settings(max_examples=50, deadline=None)
@given(st.integers(1, 12), st.integers(1, 12), st.integers(1, 40))
def test_round_robin_asks_all_equally_often(count, participants, rounds):
    tracker = tracker_of([NAN] * count)
    times = np.zeros(count, dtype=int)
    for _ in range(rounds):
        ids = np.array(choose("round_robin", tracker.view, min(participants, count)))
        tracker.note_sent(ids)
        times[ids] += 1
    assert np.ptp(times) <= 1


def test_the_fastest_come_first_and_the_new_before_them():
    view = tracker_of([3.0, 1.0, NAN, 2.0, 5.0, NAN]).view
    assert set(choose("fastest", view, 2)) == {2, 5}
    assert choose("fastest", view, 5)[2:] == [1, 3, 0]
    assert choose("fastest", view, 2, present=[0, 3, 4]) == [3, 0]


def test_devices_that_spend_least_come_first_and_silent_ones_last():
    """Device 1 has taken part, but no report has come."""
    view = tracker_of([1.0, 1.0, 1.0, NAN], energy_j=[3.0, 0.1, 2.0, 0.0], loss=[1.0, NAN, 1.0, NAN]).view
    assert choose("energy_aware", view, 4) == [3, 2, 0, 1]


def test_the_fullest_batteries_come_first():
    """Device 3 has none, device 0 was never asked, device 4 was not heard."""
    view = tracker_of(
        [NAN, 1.0, 1.0, 1.0, 1.0], battery_j=[0.0, 30.0, 50.0, np.inf, 9.0], loss=[NAN, 1.0, 1.0, 1.0, NAN]
    ).view
    ids = choose("energy_aware", view, 5, by="battery")
    assert (set(ids[:2]), ids[2:]) == ({0, 3}, [2, 1, 4])


def test_power_of_choice_takes_the_highest_losses():
    view = tracker_of([1.0] * 5, loss=[0.3, 0.9, 0.1, 0.5, 0.7]).view
    assert choose("power_of_choice", view, 2, present=[0, 2, 3, 4]) == [4, 3]
    assert choose("power_of_choice", view, 2, variant="rpow-d", d=5) == [1, 4]


def test_device_without_a_report_has_the_highest_loss():
    view = tracker_of([1.0, NAN, 1.0], loss=[0.3, NAN, 9.0]).view
    assert choose("power_of_choice", view, 2, variant="rpow-d", d=3) == [1, 2]


@pytest.mark.oracle
@pytest.mark.parametrize("variant", ["pow-d", "rpow-d"])
def test_with_d_of_all_participants_power_of_choice_draws_by_samples(variant):
    """d = participants: each of the possible pairs as often as two draws without replacement give it."""
    samples = np.array([1, 2, 3, 4])
    view = tracker_of([1.0] * 4, loss=[4, 3, 2, 1], samples=samples).view
    selection = PowerOfChoice(variant=variant, d=2)
    p = samples / 10
    found = np.zeros((4, 4))
    for index in range(1000):
        present = np.arange(4)
        if selection.polls:
            present = selection.candidates(present, 2, index, STREAMS, view)
        ids = selection.choose(present, 2, index, STREAMS, view)
        assert view.loss[ids[0]] > view.loss[ids[1]]
        found[min(ids), max(ids)] += 1
    for i, j in zip(*np.triu_indices(4, 1), strict=True):
        chance = p[i] * p[j] / (1 - p[i]) + p[j] * p[i] / (1 - p[j])
        assert found[i, j] / 1000 == pytest.approx(chance, abs=4 * np.sqrt(chance / 1000))


def test_weighted_draws_follow_their_weights():
    ids = np.arange(3)
    weights = [1.0, 2.0, 5.0]
    first = [weighted(ids, weights, STREAMS.uniform("selection", ids, index), 1)[0] for index in range(1000)]
    assert np.bincount(first) / 1000 == pytest.approx(np.array(weights) / 8, abs=0.03)


# Oort


def test_oorts_scores_by_hand():
    """Utilities 10, 40, 90 are scaled to 0..1 of their range; after two rounds; T is the median of 1, 2, 4."""
    tracker = tracker_of([1.0, 2.0, 4.0], loss=[1.0, 2.0, 3.0], samples=[10, 20, 30])
    tracker.close_round(seen())
    low = 0.999 * 10
    high = 90.0
    bonus = np.sqrt(0.1 * np.log(3) / 1)
    statistical = (np.array([10.0, 40.0, 90.0]) - low) / (high - low) + bonus
    oort = Oort(round_threshold=50, clip_bound=1.0, round_penalty=2.0)
    assert oort.scores(np.arange(3), tracker.view) == pytest.approx(statistical * [1, 1, (2 / 4) ** 2])
    clipped = Oort(round_threshold=100, clip_bound=0.5).scores(np.arange(3), tracker.view)
    assert clipped == pytest.approx((np.array([10.0, 40.0, 40.0]) - low) / (high - low) + bonus)


def test_oorts_pacer_takes_slower_devices_when_utility_falls():
    utility = [5, 5, 3, 3, 4, 4, 1, 1, 9]  # in twos: 10, 6, 8, 2, and a half that does not count
    assert declines(utility, 2) == 2
    assert declines(utility[:3], 2) == 0
    tracker = tracker_of([1.0, 2.0, 3.0, 4.0, 5.0])
    for total in (5.0, 3.0):
        tracker._round_losses.append(total)
    oort = Oort(round_threshold=25, pacer_step=1, pacer_delta=50)
    assert oort.preferred_s(tracker.view) == pytest.approx(5.0)  # two falls: the first round's utility was 50
    assert Oort(round_threshold=25, pacer_step=3, pacer_delta=50).preferred_s(tracker.view) == pytest.approx(2.0)


def test_oort_explores_less_and_less():
    view = tracker_of([1.0] * 10 + [NAN] * 10, loss=[1.0] * 10 + [NAN] * 10).view
    new = [sum(device >= 10 for device in choose("oort", view, 10, index=index)) for index in range(200)]
    assert new[0] == 9
    assert new == sorted(new, reverse=True)
    assert set(new[-50:]) == {2}  # int(10 * 0.8) are exploited


@pytest.mark.parametrize("heard", [0, 2, 10])
def test_oort_fills_up_from_the_other_group(heard):
    """Whichever group is too small, all places are taken once."""
    loss = [1.0] * heard + [NAN] * (10 - heard)
    ids = choose("oort", tracker_of(loss, loss=loss).view, 6)
    assert len(set(ids)) == 6


def test_oort_prefers_useful_devices():
    view = tracker_of([1.0] * 20, loss=[0.1] * 15 + [5.0] * 5).view
    picks = [choose("oort", view, 5, index=100, seed=seed) for seed in range(20)]
    assert all(set(ids) == set(range(15, 20)) for ids in picks)


# What the server knows


def test_server_sees_reports_of_ended_rounds():
    tracker = DeviceTracker(np.array([5, 6, 7]))
    tracker.close_round(seen([0, 2], [True, False], [2.0, 9.0], [3.0, 4.0], [8.0, 8.0], [0.5, NAN]))
    view = tracker.view
    assert view.participations.tolist() == view.last_round.tolist() == [1, 0, 1]
    assert view.round_trip_s == pytest.approx([2.0, NAN, 9.0], nan_ok=True)
    assert view.energy_j == pytest.approx([3.0, NAN, NAN], nan_ok=True)
    assert view.battery_j == pytest.approx([8.0, NAN, NAN], nan_ok=True)
    assert view.round_losses == [2.5]
    tracker.close_round(seen([2], [False], [4.0], [1.0], [1.0], [NAN]))
    assert view.round_trip_s[2] == 9.0  # no update: it takes at least as long as before
    assert view.last_round[2] == 2
    with pytest.raises(ValueError, match="read-only"):
        view.round_trip_s[0] = 0.0


BASE = {
    "seed": 3,
    "rounds": 6,
    "data": {"dataset": "digits", "partition": {"kind": "dirichlet", "alpha": 0.5}},
    "model": {"kind": "logistic"},
    "training": {"local_steps": 2, "batch_size": 10, "engine": "serial"},
    "devices": {"count": 12, "cpu_hz": {"lognormal": [15.2, 0.7]}, "flops_per_cycle": 1.0, "idle_power_w": 0.01},
    "radio": {"bandwidth_hz": 20e6},
}


def run(selection, *, train=True, participants=4, **changes):
    server = {"participants": participants, "selection": selection, **changes.pop("server", {})}
    return edgefl.run({**BASE, **changes, "server": server}, train=train, device="cpu")


def test_fastest_devices_are_those_of_earlier_rounds():
    """On a constant channel: all are tried once, then the four shortest round trips of all remain."""
    result = run("fastest", train=False, radio={**STILL, "bandwidth_hz": 20e6, "allocation": "round_robin"})
    devices = result.devices
    assert sorted(devices["device"][devices["round"] <= 3]) == list(range(12))
    tried = devices[devices["round"] <= 3]
    trip_s = tried[["download_s", "compute_s", "upload_s"]].sum(axis=1)
    best = tried["device"].iloc[np.argsort(trip_s.to_numpy())[:4]]
    assert set(devices["device"][devices["round"] == 4]) == set(best)


def test_a_report_is_32_bits_more():
    plain = run("uniform", train=False)
    told = run("energy_aware", train=False)
    assert set(told.devices["bytes_up"]) == {plain.devices["bytes_up"][0] + 4}
    assert told.devices["bytes_down"].equals(plain.devices["bytes_down"])


@pytest.mark.oracle
@pytest.mark.parametrize("selection", ["fastest", {"kind": "power_of_choice", "d": 8}])
def test_world_does_not_depend_on_the_selection(selection):
    """A device that two selections choose in the same round meets the same large-scale channel, byte for byte."""
    columns = ["round", "device", "cell", "distance_m", "los", "pathloss_db", "shadowing_db", "x_m", "y_m"]
    one = run("all").devices[columns].set_index(["round", "device"])
    other = run(selection).devices[columns].set_index(["round", "device"])
    assert one.loc[other.index].equals(other)


# Polls


@pytest.mark.oracle
@pytest.mark.parametrize("sharing", ["fixed", "processor"])
@pytest.mark.parametrize("variant", ["pow-d", "cpow-d"])
def test_polls_are_priced(variant, sharing):
    """Candidates pay for the model, a forward pass and 32 bits; chosen ones continue with the model that they have."""
    radio = {**STILL, "bandwidth_hz": 20e6, "sharing": sharing}
    keys = {"kind": "power_of_choice", "variant": variant, "d": 7, "batch_size": 20}
    result = run(keys, radio=radio)
    plain = run("all", train=False, rounds=1, radio=radio)
    devices = result.devices
    rounds = result.rounds
    polled, received = (devices[devices["status"] == status] for status in ("polled", "received"))
    assert rounds["selected"].tolist() == rounds["received"].tolist() == [4] * 6
    assert rounds["polled"].tolist() == [3] * 6
    model = plain.devices.set_index("device")  # of a round in which all take part
    assert (devices["bytes_down"] == model["bytes_down"].iloc[0]).all()
    assert (polled["bytes_up"] == 4).all()
    assert (received["bytes_up"] == model["bytes_up"].iloc[0] + 4).all()
    held = samples_of(result)[devices["device"]]
    looked_at = np.minimum(held, 20) if variant == "cpow-d" else held
    trained = model["compute_s"].loc[devices["device"]].to_numpy()  # two steps of ten samples and the solver's work
    per_sample = forward_s(result)[devices["device"]]
    expected = looked_at * per_sample + np.where(devices["status"] == "received", trained, 0.0)
    assert devices["compute_s"].to_numpy() == pytest.approx(expected)
    assert rounds["round_energy_j"].to_numpy() == pytest.approx(devices.groupby("round")[ENERGY].sum().sum(axis=1))
    assert rounds["wasted_j"].tolist() == [0.0] * 6
    spent_s = received[["download_s", "compute_s", "upload_s", "wait_s"]].sum(axis=1).to_numpy()
    assert spent_s == pytest.approx(rounds["duration_s"].to_numpy()[received["round"] - 1])
    assert (devices["wait_s"] >= -1e-12).all()
    assert polled["wait_s"].to_numpy() == pytest.approx(0.0, abs=1e-12)


def samples_of(result):
    return np.array([len(part) for part in divide(load(result.scenario)).parts])


def forward_s(result):
    """Return the seconds of one sample on each device: 64 x 10 multiplications, 2 operations each."""
    world = build(load({**result.scenario, "server": {}}), "cpu", train=False, progress=silent).world
    return 2 * 640 / (world.cpu_hz * world.flops_per_cycle)


def test_polls_find_the_highest_losses():
    """Functions a x^2 + b x + c at x = 2: losses 9, 1, 7 and 4; with all polled, the two highest train."""
    functions = [[1.0, 2.0, 1.0], [1.0, -1.0, -1.0], [1.0, 1.0, 1.0], [1.0, 0.0, 0.0]]
    result = edgefl.run({
        "rounds": 1,
        "data": {"dataset": "quadratic", "coefficients": functions, "partition": "one_each"},
        "devices": {"count": 4},
        "model": {"init": {"kind": "value", "value": 2.0}},
        "training": {"local_steps": 1, "batch_size": "full", "lr": 0.1, "engine": "serial"},
        "server": {"participants": 2, "selection": {"kind": "power_of_choice", "d": 4}},
        "radio": STILL,
    }, device="cpu")  # fmt: skip
    assert dict(zip(result.devices["device"], result.devices["status"], strict=True)) == {
        0: "received", 1: "polled", 2: "received", 3: "polled",
    }  # fmt: skip


def test_mini_batch_is_drawn_again_each_round():
    """cpow-d: the same for the same device and round, whichever others are asked."""
    server = build(load({**BASE, "server": {"participants": 2}}), "cpu", train=True, progress=silent)
    learner = server.replay.model.learner
    try:
        w = learner.initial
        few = np.array([5, 5])
        one, other = (learner.evaluator.losses(w, learner.statistics, np.array([2, 7]), few, index) for index in (0, 1))
        assert (one != other).all()
        assert learner.evaluator.losses(w, learner.statistics, np.array([7]), few[:1], 0) == one[1:]
        every = np.array([len(learner.task.parts[2])])
        whole = learner.evaluator.losses(w, learner.statistics, np.array([2]), every, 0)
        assert whole == pytest.approx(np.log(10), abs=0.2)  # of a model that knows nothing
    finally:
        server.replay.close()


def test_poll_has_separate_draws():
    """Its fading and faults are not those of the training that may follow in the same round."""
    server = build(load({**BASE, "server": {"participants": 2}}), "cpu", train=False, progress=silent)
    one = server.link.streams.uniform("fault_up", np.arange(50))
    other = server.dispatcher.polling.streams.uniform("fault_up", np.arange(50))
    assert not np.isin(one, other).any()
    assert (other == Streams(3).apart("poll").uniform("fault_up", np.arange(50))).all()


def test_candidates_that_fail_are_not_chosen():
    faults = {"failure_probability": 0.4}
    result = run({"kind": "power_of_choice", "d": 8}, radio={"bandwidth_hz": 20e6, "faults": faults})
    devices = result.devices
    rounds = result.rounds
    assert (devices.groupby("round").size() == 8).all()
    assert (rounds["selected"] + rounds["polled"]).tolist() == [8] * 6
    silent_ones = devices[(devices["status"] == "polled") & (devices["bytes_up"] == 0)]
    assert len(silent_ones) == (result.events["kind"] == "download_failed").sum() > 0
    check_selected(result)


def test_candidates_that_leave_are_not_chosen(tmp_path):
    """All but four leave while they are asked: these four take part, and only later losses are wasted."""
    path = tmp_path / "trace.csv"
    rows = [f"{i},0,{'inf' if i < 4 else 1e-4 * i}" for i in range(8)]
    path.write_text("\n".join(["device,on_s,off_s", *rows]))
    churn = {"kind": "trace", "path": str(path)}
    result = run({"kind": "power_of_choice", "d": 8}, devices={"count": 8}, churn=churn, rounds=1)
    assert (result.events["kind"] == "departed").sum() == 4
    assert result.devices["status"].tolist() == ["received"] * 4 + ["polled"] * 4
    assert result.devices["device"][4:].tolist() == [4, 5, 6, 7]
    left_s = result.devices[["download_s", "compute_s", "upload_s"]].sum(axis=1)[4:]
    assert left_s.tolist() == pytest.approx([1e-4 * i for i in range(4, 8)])
    assert result.rounds[["selected", "polled", "departed", "wasted_j"]].iloc[0].tolist() == [4, 4, 0, 0]
    check_selected(result)


def check_selected(result):
    """Check the participants: each is received, late, departed or failed, and only their lost energy is wasted."""
    devices = result.devices
    rounds = result.rounds
    ends = rounds[["received", "late", "departed", "failed"]].sum(axis=1)
    assert rounds["selected"].tolist() == ends.tolist()
    lost = devices[~devices["status"].isin(["received", "polled"])]
    wasted = lost.groupby("round")[ENERGY].sum().sum(axis=1).reindex(rounds["round"], fill_value=0.0)
    assert rounds["wasted_j"].tolist() == pytest.approx(wasted.tolist())


# What is refused


REFUSED = {
    "too few candidates": (
        "server: {participants: 9, selection: {kind: power_of_choice, d: 5}}",
        "server.selection: d must be from server.participants = 9 to devices.count = 100, got 5",
    ),
    "batteries": ("server: {selection: {kind: energy_aware, by: battery}}", "server.selection.by: no device has a"),
}


@pytest.mark.parametrize("case", list(REFUSED))
def test_refusals_are_one_line(case, tmp_path, capsys):
    text, message = REFUSED[case]
    file = tmp_path / "s.yaml"
    file.write_text(f"{text}\n")
    assert main(["validate", str(file)]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith(f"edgefl: {file}:1: {message}")


@pytest.mark.parametrize("kind", ["oort", "power_of_choice"])
def test_selections_by_loss_need_learning(kind):
    with pytest.raises(InputError, match=f"server.selection: {kind} chooses by losses, which a run without learning"):
        run(kind, train=False)
