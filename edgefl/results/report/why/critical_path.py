"""The critical path of a run's rounds: the participation that ends last, and the phases that its time is made of.

A device is busy for ``setup_s + download_s + compute_s + upload_s``; the rest of its round is ``wait_s``. The
participation that waits least is the one that the server and all others waited for.
"""

from typing import NamedTuple

import numpy as np

from edgefl.core.arrays import Bools, Floats, Rows
from edgefl.records.statuses import NOT_CHOSEN
from edgefl.results.report.shared import describe
from edgefl.results.report.shared.read import Run

SAME_END = 1e-6  # of a round: participations that end closer together end at the same time
SAME_TIME_S = 1e-6  # tables hold 12 digits, of times since the run began
PHASES = ("setup", "download", "compute", "upload")
TURNS = "sequential"  # a policy, and a mode of the policy `split`


class Participations(NamedTuple):
    """The participations [n] that the server waited for, in the rounds that have ended [rounds]."""

    duration_s: Floats  # [rounds]
    evaluation_s: Floats  # [rounds] time that devices evaluated the new model, a part of it
    row: Rows  # of the round
    phases_s: Floats  # [phase, n] in the order of `PHASES`
    wait_s: Floats  # for the end of the round, or of what comes before its evaluation
    early_s: Floats  # how long before its round the participation began; below 0 if later
    until_end: Bools  # whether the device was there until then

    @property
    def busy_s(self) -> Floats:
        """Return the time [n] without waiting."""
        return np.asarray(self.phases_s.sum(axis=0))


def participations(run: Run) -> Participations:
    """Return the participations of a run; polls, reports, evaluations and other messages are left out."""
    devices = run.devices
    rows = np.flatnonzero(~np.isin(devices["status"], NOT_CHOSEN))
    row = devices["row"][rows]
    duration_s = run.rounds["duration_s"]
    round_began_s = run.rounds["time_s"][row] - duration_s[row]
    # Participations end with the evaluation's beginning, but for those whose devices do not evaluate.
    evaluation_s = np.nan_to_num(run.rounds["evaluation_s"])
    end_s = run.rounds["time_s"][row] - evaluation_s[row]
    began_s = devices["start_s"][rows]
    began_s = np.where(np.isfinite(began_s), began_s, round_began_s)
    phases_s = np.array([np.nan_to_num(devices[f"{phase}_s"][rows]) for phase in PHASES])
    wait_s = np.nan_to_num(devices["wait_s"][rows])
    accounted_s = began_s + phases_s.sum(axis=0) + wait_s
    waits_longer_s = np.where(evaluation_s[row] > 0, np.maximum(accounted_s - end_s, 0.0), 0.0)
    wait_s = wait_s - waits_longer_s
    accounted_s = accounted_s - waits_longer_s
    return Participations(
        duration_s=duration_s,
        evaluation_s=evaluation_s,
        row=row,
        phases_s=phases_s,
        wait_s=wait_s,
        early_s=round_began_s - began_s,
        until_end=np.abs(end_s - accounted_s) <= SAME_END * duration_s[row] + SAME_TIME_S,
    )


def takes_turns(run: Run) -> bool:
    """Return whether the policy asks one device after another."""
    kind = describe.kind(run.scenario, "server.policy")
    return TURNS in {kind, describe.at(run.scenario, "server.policy.mode")}


def overlaps(parts: Participations) -> bool:
    """Return whether participations go on from one round to the next, as without rounds."""
    return bool((parts.early_s > SAME_TIME_S).any())


def time_of_last(parts: Participations) -> Floats:
    """Return the time [phase] in s of the devices that rounds waited for; those that end a round together share it."""
    least_s = np.full(len(parts.duration_s), np.inf)
    np.minimum.at(least_s, parts.row[parts.until_end], parts.wait_s[parts.until_end])
    same_s = SAME_END * parts.duration_s[parts.row]
    last = parts.until_end & (parts.wait_s <= least_s[parts.row] + same_s)
    rows = parts.row[last]
    weight = 1.0 / np.bincount(rows, minlength=len(parts.duration_s))[rows]
    return np.asarray((parts.phases_s[:, last] * weight).sum(axis=1))


def time_of_turns(parts: Participations) -> Floats:
    """Return the time [phase] of devices that take turns; what a device does during another's turn is left out."""
    totals_s = np.zeros(len(PHASES))
    began_s = _begins_s(parts)
    reached_s = -np.inf
    for part in np.argsort(began_s, kind="stable").tolist():
        overlap_s = max(reached_s - began_s[part], 0.0)
        now_s = began_s[part]
        for phase, phase_s in enumerate(parts.phases_s[:, part].tolist()):
            hidden_s = min(overlap_s, phase_s)
            overlap_s -= hidden_s
            totals_s[phase] += phase_s - hidden_s
            now_s += phase_s
        reached_s = max(reached_s, now_s)
    return totals_s


def time_of_chain(parts: Participations, end_s: float) -> Floats:
    """Return the time [phase] of the chain of participations that ended last, each begun when the next before ended."""
    totals_s = np.zeros(len(PHASES))
    began_s = _begins_s(parts)
    busy_until_s = began_s + parts.busy_s
    now_s = end_s
    for part in np.argsort(busy_until_s, kind="stable")[::-1].tolist():
        if busy_until_s[part] <= now_s + SAME_TIME_S and parts.busy_s[part] > 0:
            totals_s += parts.phases_s[:, part]
            now_s = began_s[part]
    return totals_s


def duration_without(parts: Participations, phase: int) -> float:
    """Return how long [s] all rounds would take if one phase took no time, and everything else as long as it did."""
    end_s = np.zeros(len(parts.duration_s))
    np.maximum.at(end_s, parts.row, parts.busy_s - parts.early_s)
    sooner_s = np.zeros(len(parts.duration_s))
    np.maximum.at(sooner_s, parts.row, parts.busy_s - parts.early_s - parts.phases_s[phase])
    return float(parts.duration_s.sum() - (end_s - sooner_s).sum())


def _begins_s(parts: Participations) -> Floats:
    """Return when each participation [n] began, since the beginning of the run."""
    round_began_s = np.cumsum(parts.duration_s) - parts.duration_s
    return np.asarray(round_began_s[parts.row] - parts.early_s)
