"""Sessions that begin as devices arrive: exactly where; sessions under churn; what each session took."""

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from radio_cases import STILL
from server_cases import presence_trace

import edgefl
from edgefl.cli import main
from edgefl.learning.initialisation.previous import Previous
from edgefl.learning.initialisation.proposed import Proposed
from edgefl.scenario import Sessions
from edgefl.scenario.sessions_section import Trigger
from edgefl.server.round_counter import RoundCounter

INF = float("inf")
ROUND_S = 0.00106  # about; of `emulate`
POISSON = {"kind": "poisson", "arrivals_per_s": 1200.0, "stay_s": {"exponential": 0.005}}
PAIR = {"selection": {"kind": "schedule", "rounds": [[0, 1]]}}


def emulate(train=False, **changes):  # noqa: FBT002
    base = {
        "data": {"dataset": "digits", "partition": "iid"},
        "model": "logistic",
        "training": {"local_epochs": 1, "batch_size": 30, "engine": "serial"},
        "devices": {"count": 12},
        "radio": {**STILL, "transfer": "fast"},
    }
    return edgefl.run({**base, **changes}, train=train, device="cpu")


def places(result):
    return list(zip(result.rounds["session"], result.rounds["round"], strict=True))


def arriving(tmp_path, ends_s, rounds):
    """Two are always present; of the others one comes in the middle of each of some rounds, by their index from 0."""
    begins_s = [0.0, *ends_s]
    times = [(begins_s[index] + begins_s[index + 1]) / 2 for index in rounds]
    rows = [(0, 0.0, INF), (1, 0.0, INF), *((2 + n, time, INF) for n, time in enumerate(times))]
    return presence_trace(tmp_path, rows)


# Where sessions begin


@pytest.mark.parametrize(
    ("trigger", "wanted"),
    [
        ({"arrivals": 3}, [1, 1, 1, 2, 2, 2, 3, 3]),
        ({"arrivals": 2}, [1, 1, 1, 2, 2, 3, 3, 3]),
        ({"arrivals": 1}, [1, 1, 1, 2, 2, 3, 4, 4]),
        ({"arrivals": 4}, [1, 1, 1, 1, 1, 2, 2, 2]),
        ({"share": 1.5}, [1, 1, 1, 2, 2, 2, 2, 2]),  # 3 of the 2 that were there, then 7.5 of 5
        ({"share": 0.5}, [1, 1, 1, 2, 2, 2, 3, 3]),  # 1 of 2, then 2.5 of 5, and 4 of 8
        ({"arrivals": 100}, [1] * 8),
    ],
)
def test_sessions_begin_at_enough_arrivals(tmp_path, trigger, wanted):
    """Three devices come in the third round, two in the fifth, one in the sixth."""
    still = presence_trace(tmp_path, [(0, 0.0, INF), (1, 0.0, INF)])
    ends_s = emulate(rounds=8, churn=still, server=PAIR).rounds["time_s"].tolist()
    churn = arriving(tmp_path, ends_s, [2, 2, 2, 4, 4, 5])
    result = emulate(sessions={"rounds": 8, "trigger": trigger}, churn=churn, server=PAIR)
    assert result.rounds["session"].tolist() == wanted
    assert result.rounds["time_s"].tolist() == ends_s
    begins = result.rounds.groupby("session")["round"]
    assert (begins.first() == 1).all()
    assert all(numbers.tolist() == list(range(1, len(numbers) + 1)) for _, numbers in begins)


def test_gradient_rounds_come_first_and_are_among_the_rounds(tmp_path):
    """A device comes in each round from the second on: a session has a round at least, and room for one."""
    proposed = {"kind": "proposed", "gradient_rounds": 2}
    rows = [(0, 0.0, INF), (1, 0.0, INF), *((2 + n, (n + 1.5) * ROUND_S, INF) for n in range(10))]
    sessions = {"rounds": 9, "trigger": {"arrivals": 1}, "initialisation": proposed}
    result = emulate(sessions=sessions, churn=presence_trace(tmp_path, rows))
    assert result.rounds["arrivals"].tolist() == [0] + 8 * [1]
    assert places(result) == [(1, 1), (1, 2), (2, -1), (2, 0), (2, 1), (3, -1), (3, 0), (3, 1), (3, 2)]
    extra = result.rounds["round"] < 1
    assert (result.rounds["selected"][extra] == result.rounds["present"][extra]).all()
    after = result.rounds["session"] - 2  # sessions after the pilot that have left a model and a move
    assert result.rounds["history_bytes"].tolist() == (2600 * np.where(after < 0, 0, 1 + 2 * after)).tolist()


@pytest.mark.oracle
@given(
    arrivals=st.lists(st.integers(0, 4), min_size=1, max_size=30),
    wanted=st.integers(1, 9),
    extra=st.integers(0, 3),
    pilots=st.integers(1, 3),
)
def test_a_session_lasts_until_enough_have_come(arrivals, wanted, extra, pilots):
    strategy = Proposed(gradient_rounds=extra, pilots=pilots) if extra else Previous()
    sessions = Sessions(rounds=len(arrivals), trigger=Trigger(arrivals=wanted), initialisation=strategy)
    rows = []
    counter = RoundCounter(sessions)
    for came in arrivals:
        rows.append({"session": counter.key.session, "round": counter.key.round, "arrivals": came})
        counter.end_round(arrivals=came, present=5)
    assert len(rows) == sessions.total
    assert rows[-1]["round"] >= 1
    for session in range(1, rows[-1]["session"] + 1):
        own = [row for row in rows if row["session"] == session]
        assert own[0]["round"] == (1 - extra if session > pilots else 1)
        assert own[-1]["round"] >= 1
        came = np.cumsum([row["arrivals"] for row in own])
        enough = [bool(n >= wanted and row["round"] >= 1) for n, row in zip(came, own, strict=True)]
        if session < rows[-1]["session"]:
            assert enough.index(True) == len(own) - 1
        elif any(enough):  # no room for another one
            done = len(rows) - len(own) + enough.index(True) + 1
            assert len(rows) - done <= (extra if session + 1 > pilots else 0)


@pytest.mark.oracle
@pytest.mark.parametrize("policy", ["synchronous", {"kind": "deadline"}])
def test_without_enough_arrivals_it_is_an_ordinary_run(policy):
    changes = {
        "training": {
            "local_epochs": 1,
            "batch_size": 30,
            "engine": "serial",
            "lr_schedule": {"kind": "polynomial", "ratio": 0.3},
        },
        "churn": POISSON,
        "algorithm": "scaffold",
        "server": {"policy": policy, "participants": 4, **({} if policy == "synchronous" else {"deadline_s": 0.002})},
        "report": {"eval_every": 4},
    }
    one = emulate(train=True, rounds=6, **changes)
    sessions = {"rounds": 6, "trigger": {"arrivals": 10**9}, "initialisation": "proposed"}
    other = emulate(train=True, sessions=sessions, **changes)
    assert one.rounds["arrivals"].sum() > 0
    assert one.rounds.equals(other.rounds.drop(columns="history_bytes"))
    assert one.devices.equals(other.devices)
    assert one.events.equals(other.events)
    assert np.array_equal(one.parameters, other.parameters)


@pytest.mark.oracle
def test_learning_and_pricing_have_the_same_borders():
    sessions = {"rounds": 12, "trigger": {"share": 0.5}, "initialisation": "proposed"}
    priced = emulate(False, sessions=sessions, churn=POISSON)
    learned = emulate(True, sessions=sessions, churn=POISSON)
    assert places(priced) == places(learned)
    assert priced.rounds["session"].max() > 2
    tested = learned.rounds["test_accuracy"].notna()
    assert (tested == (learned.rounds["round"] >= 1)).all()


@pytest.mark.oracle
def test_a_session_that_arrivals_end_is_tested_at_its_end():
    sessions = {"rounds": 12, "trigger": {"arrivals": 4}}
    rounds = emulate(train=True, sessions=sessions, churn=POISSON, report={"eval_every": 100}).rounds
    last = rounds["session"] != rounds["session"].shift(-1)
    assert (rounds["test_accuracy"].notna() == last).all()
    assert last.sum() > 2


# Sessions under churn


def presences(rows, time_s):
    return {device for device, on_s, off_s in rows if on_s <= time_s < off_s}


@pytest.mark.oracle
def test_participants_are_present_members_of_the_group(tmp_path):
    """Twelve in three groups, each present two thirds of the time, chosen at the round's beginning."""
    generator = np.random.default_rng(3)
    rows = []
    for device in range(12):
        changes = np.cumsum(generator.uniform(0.002, 0.01, 60))
        rows += [(device, float(on), float(on + 2 * (off - on) / 3)) for on, off in zip(changes, changes[1:])]  # noqa: B905, RUF007
    sessions = {"count": 4, "rounds": 5, "groups": 3, "first_group": 2, "initialisation": "proposed"}
    result = emulate(sessions=sessions, churn=presence_trace(tmp_path, rows), server={"participants": 2})
    starts = result.events[result.events["kind"] == "round_start"]["time_s"].tolist()
    assert len(starts) == len(result.rounds) == result.scenario["sessions"]["rounds"] * 4 + 3
    for start_s, (session, number) in zip(starts, places(result), strict=True):
        inside = (result.devices["session"] == session) & (result.devices["round"] == number)
        there = {device for device in presences(rows, start_s) if device // 4 == session % 3}
        took_part = set(result.devices["device"][inside])
        assert took_part <= there
        assert len(took_part) == (len(there) if number < 1 else min(2, len(there)))


@pytest.mark.oracle
@pytest.mark.parametrize("churn", ["none", {**POISSON, "arrivals_per_s": 12e3}], ids=["no churn", "poisson"])
@pytest.mark.parametrize("initialisation", ["previous", "proposed"])
def test_population_accounts_balance_across_borders(churn, initialisation):
    """Present + arrivals - departures is the next row's present; a border's changes are those of whole groups."""
    data = {"dataset": "digits", "partition": {"kind": "label_overlap", "overlap": 0.2}}
    sessions = {"count": 5, "rounds": 4, "initialisation": initialisation}
    result = emulate(sessions=sessions, data=data, churn=churn, devices={"count": 120})
    rows = result.rounds
    assert (rows["present"] + rows["arrivals"] - rows["departures"])[:-1].tolist() == rows["present"][1:].tolist()
    last = (rows["session"] != rows["session"].shift(-1)) & (rows["session"] < 5)
    assert (rows["departures"][last] > 0).all()
    noted = [(result.events["kind"] == kind).sum() for kind in ("arrival", "departure")]
    assert noted == [rows["arrivals"].sum(), rows["departures"].sum()]
    if churn == "none":
        assert rows["arrivals"].tolist() == rows["departures"].tolist() == (60 * last).tolist()
        assert (rows["present"] == 60).all()
    else:
        assert (rows["arrivals"][~last] > 0).any()


def test_single_group_neither_arrives_nor_departs():
    rows = emulate(sessions={"count": 3, "rounds": 2}).rounds
    assert not rows[["arrivals", "departures"]].to_numpy().any()


def test_a_session_waits_for_its_group(tmp_path):
    """The first group is always present, the second comes at 5 s: only then the second session begins."""
    rows = [(device, 0.0 if device < 6 else 5.0, INF) for device in range(12)]
    result = emulate(sessions={"count": 2, "rounds": 2, "groups": 2}, churn=presence_trace(tmp_path, rows))
    starts = result.events[result.events["kind"] == "round_start"]["time_s"].tolist()
    assert starts[1] < 1
    assert starts[2] == 5.0
    assert (result.devices["device"] // 6 == result.devices["session"] - 1).all()


@pytest.mark.oracle
def test_learning_under_churn_and_sessions():
    """Devices that leave in the middle teach nothing; models are tested in every round but the extra ones."""
    data = {"dataset": "digits", "partition": {"kind": "label_overlap", "overlap": 0.2}}
    sessions = {"count": 3, "rounds": 4, "initialisation": "proposed"}
    result = emulate(train=True, sessions=sessions, data=data, churn=POISSON)
    assert result.status == "finished"
    assert result.rounds["departed"].sum() > 0
    assert (result.devices["device"] // 6 == (result.devices["session"] - 1) % 2).all()
    tested = result.rounds["test_accuracy"].notna()
    assert (tested == (result.rounds["round"] >= 1)).all()


# What each session took


@pytest.mark.oracle
def test_the_summary_has_each_session():
    """Times and energies from the session's beginning; a target's round is the session's own number."""
    data = {"dataset": "digits", "partition": {"kind": "label_overlap", "overlap": 0.2}}
    sessions = {"count": 3, "rounds": 4, "initialisation": {"kind": "proposed", "gradient_rounds": 2}}
    result = emulate(train=True, sessions=sessions, data=data, targets=[0.5, 0.999])
    rounds = result.rounds
    before = {"time_s": 0.0, "energy_j": 0.0}
    assert [each["session"] for each in result.summary["sessions"]] == [1, 2, 3]
    for each in result.summary["sessions"]:
        own = rounds[rounds["session"] == each["session"]]
        assert each["rounds"] == len(own) == (4 if each["session"] == 1 else 6)
        assert each["final_accuracy"] == own["test_accuracy"].iloc[-1]
        assert each["best_accuracy"] == own["test_accuracy"].max()
        assert each["initial_accuracy"] == pytest.approx(own["test_accuracy"].mean())  # fewer than ten
        first = own[own["test_accuracy"] >= 0.5].iloc[0]
        reached, never = each["targets"]
        assert reached["round"] == first["round"]
        assert never == {"accuracy": 0.999, "round": None, "time_s": None, "energy_j": None}
        for name, start in before.items():
            assert each[name] == pytest.approx(own[name].iloc[-1] - start)
            assert reached[name] == pytest.approx(first[name] - start)
            before[name] = own[name].iloc[-1]
    assert "sessions" not in emulate(rounds=2).summary
    assert [each["final_accuracy"] for each in emulate(sessions={"count": 2, "rounds": 1}).summary["sessions"]] == [
        None
    ] * 2


@pytest.mark.oracle
def test_initial_accuracy_is_of_the_first_ten_rounds():
    sessions = {"count": 2, "rounds": 12, "initialisation": {"kind": "proposed", "gradient_rounds": 2}}
    result = emulate(train=True, sessions=sessions)
    for each in result.summary["sessions"]:
        own = result.rounds[result.rounds["session"] == each["session"]]
        first = own["test_accuracy"][(own["round"] >= 1) & (own["round"] <= 10)]
        assert len(first) == 10
        assert each["initial_accuracy"] == pytest.approx(first.mean())


@pytest.mark.oracle
def test_a_relative_target_is_that_of_the_same_session(tmp_path):
    """In the third session, which the reference has not had, there is none."""
    data = {"dataset": "digits", "partition": {"kind": "label_overlap", "overlap": 0.2}}
    reference = emulate(train=True, data=data, sessions={"count": 2, "rounds": 4})
    (tmp_path / "summary.json").write_text(json.dumps(reference.summary))
    targets = [{"relative": 0.9, "reference": str(tmp_path)}]
    result = emulate(train=True, data=data, targets=targets, sessions={"count": 3, "rounds": 4})
    bests = reference.rounds.groupby("session")["test_accuracy"].max()
    (whole,) = result.summary["targets"]
    assert whole["accuracy"] == pytest.approx(0.9 * bests.max())
    assert bests[1] != bests[2]
    for each, best in zip(result.summary["sessions"], bests, strict=False):
        own = result.rounds[result.rounds["session"] == each["session"]]
        (target,) = each["targets"]
        assert target["accuracy"] == pytest.approx(0.9 * best)
        assert target["round"] == own["round"][own["test_accuracy"] >= 0.9 * best].iloc[0]
    (none,) = result.summary["sessions"][2]["targets"]
    assert (none["accuracy"], none["round"], none["relative"]) == (None, None, 0.9)


def test_no_run_stops_in_the_middle_of_gradient_rounds():
    """Their model is not a result: the run continues to the session's first round."""
    sessions = {"count": 2, "rounds": 2, "groups": 2, "initialisation": {"kind": "proposed", "gradient_rounds": 3}}
    ends_s = emulate(sessions=sessions).rounds["time_s"]
    assert places(emulate(sessions=sessions, stop={"time_s": ends_s[2]})) == [
        (1, 1),
        (1, 2),
        (2, -2),
        (2, -1),
        (2, 0),
        (2, 1),
    ]
    assert places(emulate(sessions=sessions, stop={"time_s": ends_s[1]})) == [(1, 1), (1, 2)]


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        ("sessions: {trigger: {}}", ":1: sessions.trigger: needs either arrivals or share"),
        ("sessions: {count: 2, trigger: {arrivals: 3}}", ":1: sessions.count: must be 1 with a trigger"),
        (
            "sessions: {count: 2, initialisation: {kind: proposed, retention: diverse}}",
            ":1: sessions.initialisation.retention: diverse chooses which sessions to keep: say how many in history",
        ),
    ],
)
def test_contradictory_triggers_are_refused(lines, message, tmp_path, capsys):
    path = tmp_path / "scenario.yaml"
    path.write_text(lines)
    assert main(["validate", str(path)]) == 2
    assert message in capsys.readouterr().err
