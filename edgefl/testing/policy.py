"""The check of a server policy."""

from typing import Any

import numpy as np

from edgefl.api import run
from edgefl.coordination.policies import Policy
from edgefl.core import global_draws
from edgefl.results.result import Result
from edgefl.testing.calls import REPEATABLE, Calls, Property
from edgefl.testing.report import Report

ROUNDS = 4
DEVICES = 8
PARTICIPANTS = 3
DEADLINE_S = 0.5
CHURN = {"kind": "poisson", "arrivals_per_s": 300.0, "stay_s": {"exponential": 0.02}}  # stays as short as a few rounds
WORLDS: dict[str, dict[str, Any]] = {"all devices present": {"kind": "none"}, "devices that leave": CHURN}


def check_policy(policy: type[Policy] | Policy, **keys: Any) -> Report:
    """Check that a policy runs rounds as a server expects of it, and return the report.

    It runs a world of 8 devices without learning, once with all of them present, once with devices that come and go.
    """
    calls = Calls(policy, keys, Policy, "a policy")
    worlds = [(name,) for name in WORLDS]
    results: dict[str, Result] = {}
    ends = f"{ROUNDS} rounds end, with all devices present and with some that leave"
    books = "time never runs backwards, and rounds count the updates of their participants"
    calls.check(Property("runs", lambda calls, name: results.update({name: _result(calls, name)}), ends, worlds))
    calls.check(
        Property("books", lambda calls, name: _books_balance(calls, name, results[name]), books, worlds),
        Property(REPEATABLE, lambda calls, name: _runs_again(calls, name, results[name]), cases=worlds),
    )
    return calls.finished()


def _result(calls: Calls, name: str) -> Result:
    server: dict[str, Any] = {"participants": PARTICIPANTS, "policy": calls.subject}
    if calls.subject.has_deadline:
        server["deadline_s"] = DEADLINE_S
    scenario = {
        "rounds": ROUNDS,
        "data": {"dataset": "digits"},
        "model": "fcn",
        "devices": {"count": DEVICES},
        "server": server,
        "churn": WORLDS[name],
    }
    drawn = global_draws.states()
    result = run(scenario, train=False)
    for moved in global_draws.moved(drawn):
        calls.note(REPEATABLE, "run", f"draws from {moved}: {global_draws.REMEDY}")
    if result.status != "finished":
        calls.fault(f"with {name} the run is {result.status}: {result.error}")
    if len(result.rounds) != ROUNDS:
        text = f"with {name} the run has {len(result.rounds)} rounds, expected {ROUNDS}"
        calls.fault(f"{text}: call server.aggregate once each")
    return result


def _books_balance(calls: Calls, name: str, result: Result) -> None:
    rounds = result.rounds
    times_s = rounds["time_s"].to_numpy(dtype=float)
    if (np.diff(times_s) < 0).any() or (rounds["duration_s"].to_numpy(dtype=float) < 0).any():
        calls.fault(f"with {name} a round ends before the one before it: {times_s.tolist()}")
    received = result.devices[result.devices["status"] == "received"].groupby("round").size()
    counted = rounds.set_index("round")["received"]
    if not (received.reindex(counted.index, fill_value=0) == counted).all():
        text = "rounds count other updates than those of their participants"
        calls.fault(f"with {name} {text}: wait for a participation (or interrupt it and wait) before you aggregate")
    if WORLDS[name]["kind"] == "none" and not counted.to_numpy().any():
        calls.fault(f"with {name} no update ever arrives: wait for the processes that server.dispatch returns")


def _runs_again(calls: Calls, name: str, result: Result) -> None:
    with global_draws.seeded(321):
        again = _result(calls, name)
    if not (result.rounds.equals(again.rounds) and result.devices.equals(again.devices)):
        calls.fault(f"with {name} a second run gives other tables: use nothing but the server and its clock")
