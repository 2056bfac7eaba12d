"""The table "Sessions": costs and accuracies of each session of a run."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from edgefl.core.units import BYTES, ENERGY, NO_NUMBER, TIME, as_number, percent, quantity, score
from edgefl.results.metrics import INITIAL_ROUNDS
from edgefl.results.report.run import device_groups
from edgefl.results.report.run.results_section import target_cost
from edgefl.results.report.shared.read import Run
from edgefl.results.report.shared.tables import table
from edgefl.results.report.shared.templates import Html

SessionSummary = Mapping[str, Any]  # an entry of `sessions` in summary.json


def sessions_table(run: Run) -> Html:
    """Return the table as HTML, with a row for each session; an empty text for a run with fewer than two."""
    sessions = run.summary.get("sessions") or []
    if len(sessions) < 2:
        return Html()
    head = ["session", "rounds", "time", "energy", f"first {INITIAL_ROUNDS} rounds", "best", "final accuracy"]
    head += [_target_title(target) for target in sessions[0].get("targets") or []]  # all sessions have the same
    # A column that is empty in all sessions is left out.
    optional_columns = _optional_columns(run, sessions)
    head += optional_columns

    body = []
    for index, session in enumerate(sessions):
        cells = [
            quantity(session.get("session")),
            quantity(session.get("rounds")),
            quantity(session.get("time_s"), TIME),
            quantity(session.get("energy_j"), ENERGY),
            score(session.get("initial_accuracy")),
            score(session.get("best_accuracy")),
            score(session.get("final_accuracy")),
        ]
        cells += [_target_cell(target) for target in session.get("targets") or []]
        cells += [column[index] for column in optional_columns.values()]
        body.append(cells)
    return table(head, body, "facts", "Sessions")


def _target_title(target: Mapping[str, Any]) -> str:
    relative = as_number(target.get("relative"))
    if relative is None:
        return f"to {percent(target['accuracy'])}"
    return f"to {percent(relative)} of the reference's best"


def _target_cell(target: Mapping[str, Any]) -> str:
    if as_number(target.get("relative")) is None:
        return target_cost(target)
    if target["accuracy"] is None:  # the reference has no such session
        return NO_NUMBER
    return f"{score(target['accuracy'])}: {target_cost(target)}"


def _optional_columns(run: Run, sessions: Sequence[SessionSummary]) -> dict[str, list[str]]:
    group_names = []
    extra_counts = []
    kept_bytes = []
    for session in sessions:
        number = session.get("session")
        rows = np.flatnonzero(run.rounds["session"] == number)
        group = device_groups.group_of_session(run, int(number or 1))
        group_names.append(group.name if group else "")
        extra_counts.append(int((run.rounds["round"][rows] < 1).sum()))
        kept_bytes.append(float(np.nan_to_num(run.rounds["history_bytes"][rows]).max(initial=0)))

    columns = {}
    if any(group_names):
        columns["devices"] = group_names
    if any(extra_counts):
        columns["of the rounds extra"] = [f"{count}" for count in extra_counts]
    if any(kept_bytes):
        columns["kept by the server"] = [quantity(value, BYTES) for value in kept_bytes]
    return columns
