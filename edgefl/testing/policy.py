"""The check of a server policy."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from edgefl.api import run
from edgefl.coordination.policies import Policy
from edgefl.core import global_draws
from edgefl.testing.report import Check, Report, finished, made, noting

if TYPE_CHECKING:
    from edgefl.results.result import Result

ROUNDS = 4
DEVICES = 8
PARTICIPANTS = 3
DEADLINE_S = 0.5
CHURN = {"kind": "poisson", "arrivals_per_s": 300.0, "stay_s": {"exponential": 0.02}}  # stays as short as a few rounds


def check_policy(policy: type[Policy] | Policy, **keys: Any) -> Report:
    """Check that a policy runs rounds as a server expects of it, and return the report.

    It runs a world of 8 devices without learning, once with all of them present, once with devices that come and go.
    """
    subject: Policy = made(policy, keys, Policy, "a policy")
    report = Report.of(subject)
    runs = report.begin("runs", f"{ROUNDS} rounds end, with all devices present and with some that leave")
    books = report.begin("books", "time never runs backwards, and rounds count the updates of their participants")
    random = report.begin("repeatable", "a second run gives the same tables, whatever the global generators hold")
    for name, churn in (("all devices present", {"kind": "none"}), ("devices that leave", CHURN)):
        scenario = _scenario(subject, churn)
        drawn = global_draws.states()
        result = _result(runs, name, scenario)
        if result is None:
            continue
        for moved in global_draws.moved(drawn):
            random.fault(f"{type(subject).__name__}.run draws from {moved}: {global_draws.REMEDY}")
        _check_books(books, name, result, all_stay=churn["kind"] == "none")
        with global_draws.seeded(321):
            again = _result(random, name, scenario)
        if again is not None and not (result.rounds.equals(again.rounds) and result.devices.equals(again.devices)):
            random.fault(f"with {name} a second run gives other tables: use nothing but the server and its clock")
    return finished(report, subject)


def _scenario(policy: Policy, churn: dict[str, Any]) -> dict[str, Any]:
    server: dict[str, Any] = {"participants": PARTICIPANTS, "policy": policy}
    if policy.has_deadline:
        server["deadline_s"] = DEADLINE_S
    return {
        "rounds": ROUNDS,
        "data": {"dataset": "digits"},
        "model": "fcn",
        "devices": {"count": DEVICES},
        "server": server,
        "churn": churn,
    }


def _result(check: Check, name: str, scenario: dict[str, Any]) -> Result | None:
    """Return the result of a run; None if it fails, which is noted."""
    found: list[Result] = []
    with noting(check, f"a run with {name}"):
        found.append(run(scenario, train=False))
    if not found:
        return None
    (result,) = found
    if result.status != "finished":
        check.fault(f"with {name} the run is {result.status}: {result.error}")
        return None
    if len(result.rounds) != ROUNDS:
        text = f"with {name} the run has {len(result.rounds)} rounds, expected {ROUNDS}"
        check.fault(f"{text}: call server.aggregate once each")
    return result


def _check_books(check: Check, name: str, result: Result, *, all_stay: bool) -> None:
    rounds = result.rounds
    devices = result.devices
    times_s = rounds["time_s"].to_numpy(dtype=float)
    if (np.diff(times_s) < 0).any() or (rounds["duration_s"].to_numpy(dtype=float) < 0).any():
        check.fault(f"with {name} a round ends before the one before it: {times_s.tolist()}")
    received = devices[devices["status"] == "received"].groupby("round").size()
    counted = rounds.set_index("round")["received"]
    if not (received.reindex(counted.index, fill_value=0) == counted).all():
        text = "rounds count other updates than those of their participants"
        check.fault(f"with {name} {text}: wait for a participation (or interrupt it and wait) before you aggregate")
    if all_stay and not counted.to_numpy().any():
        check.fault(f"with {name} no update ever arrives: wait for the processes that server.dispatch returns")
