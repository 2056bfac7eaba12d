"""Calls of a run's observers, and the columns that they return."""

import numpy as np
import pytest
from server_cases import BASE

from edgefl.runs import server_parts
from edgefl.runs.assembly import build
from edgefl.runs.emulation import silent
from edgefl.scenario import load
from edgefl.server.observer import Observer

ROUNDS = 3
PARTICIPANTS = 4


KEYS = {key: value for key, value in BASE.items() if key != "rounds"} | {"server": {"participants": PARTICIPANTS}}


class Noting(Observer):
    """Notes its calls, and returns a column for every table that takes one."""

    def __init__(self):
        self.told = []

    def round_begins(self, number, present):
        self.told.append(("round_begins", number))

    def before_choosing(self, index, count, begin, *, refill):
        self.told.append(("before_choosing", index))
        yield from ()

    def begins(self, begun):
        assert sorted(part.device for part in begun.parts) == begun.drop.ids.tolist()
        assert len(begun.processes) == len(begun.parts)
        self.told.append(("begins", len(begun.parts)))

    def ends(self, part):
        assert part.status == "received"
        assert part.arrived
        self.told.append(("ends", part.device))

    def device_columns(self, parts):
        self.told.append(("device_columns", len(parts)))
        return {"sir_db": np.arange(len(parts), dtype=float)}

    def round_ends(self, ended):
        assert ended.until_s > ended.since_s
        self.told.append(("round_ends", ended.key.round))
        return {"polled": 10 * ended.key.round}

    def round_recorded(self, number):
        self.told.append(("round_recorded", number))

    def session_changes(self, before, after):
        self.told.append(("session_changes", before, after))


@pytest.fixture
def run(monkeypatch):
    """Return a function that runs a scenario with one more observer; it returns the ledger and what was told."""

    def run(**keys):
        noting = Noting()
        made = server_parts.observers_of
        monkeypatch.setattr(server_parts, "observers_of", lambda *parts: [*made(*parts), noting])
        scenario = load({**KEYS, **keys})
        server = build(scenario, "cpu", train=False, progress=silent)
        server.env.run(server.env.process(scenario.server.policy.run(server)))
        return server.ledger, noting.told

    return run


def test_observers_are_called_in_order(run):
    _, told = run(rounds=ROUNDS)
    for number in range(1, ROUNDS + 1):
        of_round, told = told[: 6 + PARTICIPANTS], told[6 + PARTICIPANTS :]
        assert of_round[:3] == [("round_begins", number), ("before_choosing", number - 1), ("begins", PARTICIPANTS)]
        assert {kind for kind, _ in of_round[3:-3]} == {"ends"}
        assert of_round[-3:] == [("device_columns", PARTICIPANTS), ("round_ends", number), ("round_recorded", number)]
    assert told == []


def test_columns_of_an_observer_come_last(run):
    ledger, _ = run(rounds=ROUNDS)
    assert [row["polled"] for row in ledger.rounds] == [10, 20, 30]
    assert list(ledger.rounds[0])[-1] == "polled"
    assert ledger.device_columns()["sir_db"] == ROUNDS * [float(row) for row in range(PARTICIPANTS)]


def test_change_of_sessions_is_reported_once_and_not_at_the_end(run):
    sessions = {"count": 3, "rounds": 1, "groups": 1}
    _, told = run(sessions=sessions)
    assert [moment[1:] for moment in told if moment[0] == "session_changes"] == [(1, 2), (2, 3)]
