"""The critical path of a run's rounds: the participation that ends last, and the phases that its time is made of.

A device is busy for ``setup_s + download_s + compute_s + upload_s``; the rest of its round is ``wait_s``. The
participation that waits least is the one that the server and all others waited for.
"""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from edgefl.core.arrays import Bools, Floats, Rows
from edgefl.records.statuses import LATE, NOT_CHOSEN
from edgefl.results.report.shared import describe
from edgefl.results.report.shared.read import Run

SAME_END = 1e-6  # of a round: participations that end closer together end at the same time
IN_STEP = 0.01  # of a round: a device that waits no longer sets its pace
ALIKE = 0.01  # values that differ by less than this part count as equal
SAME_TIME_S = 1e-6  # tables hold 12 digits, of times since the run began
PHASE_COLUMNS = ("setup_s", "download_s", "compute_s", "upload_s")
TURNS = "sequential"  # a policy, and a mode of the policy `split`


class Participations(NamedTuple):
    """The participations [n] that the server waited for, in the rounds that have ended [rounds]."""

    rounds: int
    duration_s: Floats  # [rounds]
    evaluation_s: Floats  # [rounds] for which devices evaluated the new model, a part of it
    row: Rows  # of the round
    device: Floats
    phases_s: Floats  # [phase, n] in the order of `PHASE_COLUMNS`
    wait_s: Floats  # for the end of the round, or of what comes before its evaluation
    early_s: Floats  # how long before its round the participation began; below 0 if later
    until_end: Bools  # whether the device was there until then
    late: Bools  # whether it was cut off because its round had ended

    @property
    def busy_s(self) -> Floats:
        """Return the time [n] without waiting."""
        return np.asarray(self.phases_s.sum(axis=0))

    @property
    def in_round(self) -> npt.NDArray[np.int64]:
        """Return how many participations each round has."""
        return np.bincount(self.row, minlength=self.rounds)


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
    phases_s = np.array([np.nan_to_num(devices[column][rows]) for column in PHASE_COLUMNS])
    wait_s = np.nan_to_num(devices["wait_s"][rows])
    accounted_s = began_s + phases_s.sum(axis=0) + wait_s
    waits_longer_s = np.where(evaluation_s[row] > 0, np.maximum(accounted_s - end_s, 0.0), 0.0)
    wait_s = wait_s - waits_longer_s
    accounted_s = accounted_s - waits_longer_s
    return Participations(
        rounds=run.length,
        duration_s=duration_s,
        evaluation_s=evaluation_s,
        row=row,
        device=devices["device"][rows],
        phases_s=phases_s,
        wait_s=wait_s,
        early_s=round_began_s - began_s,
        until_end=np.abs(end_s - accounted_s) <= SAME_END * duration_s[row] + SAME_TIME_S,
        late=devices["status"][rows] == LATE,
    )


def takes_turns(run: Run) -> bool:
    """Return whether the policy asks one device after another."""
    kind = describe.kind(run.scenario, "server.policy")
    return TURNS in {kind, describe.at(run.scenario, "server.policy.mode")}


def overlaps(parts: Participations) -> bool:
    """Return whether participations go on from one round to the next, as without rounds."""
    return bool((parts.early_s > SAME_TIME_S).any())


def waited_for(parts: Participations) -> Bools:
    """Return which participations [n] waited least for the end of their round; several in a round that end together."""
    return parts.until_end & (parts.wait_s <= _least_wait_s(parts) + SAME_END * parts.duration_s[parts.row])


def time_by_phase(parts: Participations) -> Floats:
    """Return the time [s] of all rounds: in each phase of the devices waited for, their waits, the rest, evaluations.

    These devices wait for the server or the backhaul. In the rest no device has begun: the server waits for reports,
    or for devices to arrive. The numbers add up to the time of the run.
    """
    last = waited_for(parts)
    rows = parts.row[last]
    # Devices that end together share the round.
    weight = 1.0 / np.bincount(rows, minlength=parts.rounds)[rows]
    phases_s = (parts.phases_s[:, last] * weight).sum(axis=1)
    wait_s = (parts.wait_s[last] * weight).sum()
    evaluation_s = parts.evaluation_s.sum()
    rest_s = parts.duration_s.sum() - phases_s.sum() - wait_s - evaluation_s
    return np.array([*phases_s, wait_s, rest_s, evaluation_s])


def device_time_by_phase(parts: Participations) -> Floats:
    """Return the time of all participations in s: in each phase, in their waits, and 0 for the rest and evaluations."""
    return np.array([*parts.phases_s.sum(axis=1), parts.wait_s.sum(), 0.0, 0.0])


def lag_by_phase(parts: Participations, setters: Bools) -> Floats:
    """Return how much longer [s] some participations [n] took in each phase than the means of their rounds."""
    count = np.maximum(parts.in_round, 1)
    lags_s = []
    for phase_s in parts.phases_s:
        mean_s = np.bincount(parts.row, phase_s, parts.rounds) / count
        lags_s.append((phase_s - mean_s[parts.row])[setters].sum())
    return np.array(lags_s)


def set_pace(parts: Participations) -> Bools:
    """Return which participations [n] set the pace of their round: the last to arrive, busy nearly all the time."""
    is_last = waited_for(parts) & ~parts.late
    nearly_all_s = IN_STEP * parts.duration_s[parts.row]
    began_with_round = -parts.early_s - _first_start_s(parts) <= nearly_all_s
    return is_last & began_with_round & (parts.wait_s <= nearly_all_s)


def rounds_in_step(parts: Participations) -> int:
    """Return in how many rounds of several participations all of them end together, nearly without any waiting."""
    all_in_step = np.ones(parts.rounds, dtype=bool)
    waits = ~parts.until_end | parts.late | (parts.wait_s > IN_STEP * parts.duration_s[parts.row])
    all_in_step[parts.row[waits]] = False
    return int((all_in_step & (parts.in_round > 1)).sum())


def rounds_cut_off(parts: Participations) -> int:
    """Return how many rounds have ended with devices under way."""
    return len(np.unique(parts.row[parts.late]))


def largest_in_round(parts: Participations, values: Floats) -> Bools:
    """Return which participations [n] have the largest value of their round; none where all are nearly equal."""
    known = np.isfinite(values)
    highest = np.full(parts.rounds, -np.inf)
    np.maximum.at(highest, parts.row[known], values[known])
    lowest = np.full(parts.rounds, np.inf)
    np.minimum.at(lowest, parts.row[known], values[known])
    highest_of_round = highest[parts.row]
    differ = highest_of_round - lowest[parts.row] > ALIKE * np.abs(highest_of_round)
    return np.asarray(known & differ & (values >= highest_of_round))


def rounds_of(parts: Participations, which: Bools) -> int:
    """Return how many rounds have one of these participations."""
    return len(np.unique(parts.row[which]))


def duration_without(parts: Participations, phase: int) -> float:
    """Return how long [s] all rounds would take if one phase took no time, and everything else as long as it did."""
    end_s = np.full(parts.rounds, -np.inf)
    np.maximum.at(end_s, parts.row, parts.busy_s - parts.early_s)
    sooner_s = np.full(parts.rounds, -np.inf)
    np.maximum.at(sooner_s, parts.row, parts.busy_s - parts.early_s - parts.phases_s[phase])
    saved_s = np.where(np.isfinite(end_s), end_s, 0.0) - np.where(np.isfinite(sooner_s), sooner_s, 0.0)
    return float(parts.duration_s.sum() - saved_s.sum())


def longest_turns(parts: Participations) -> float:
    """Return the share of the longest participation in the time of all of its round, as a mean over rounds."""
    sums_s = np.bincount(parts.row, parts.busy_s, parts.rounds)
    longest_s = np.zeros(parts.rounds)
    np.maximum.at(longest_s, parts.row, parts.busy_s)
    with_turns = sums_s > 0
    if not with_turns.any():
        return 0.0
    return float((longest_s[with_turns] / sums_s[with_turns]).mean())


def _least_wait_s(parts: Participations) -> Floats:
    """Return the shortest wait in each participation's round [n], of devices that stayed until its end."""
    least_s = np.full(parts.rounds, np.inf)
    np.minimum.at(least_s, parts.row[parts.until_end], parts.wait_s[parts.until_end])
    return np.asarray(least_s[parts.row])


def _first_start_s(parts: Participations) -> Floats:
    """Return how long after the beginning of each participation's round [n] its first participation began."""
    first_s = np.full(parts.rounds, np.inf)
    np.minimum.at(first_s, parts.row, -parts.early_s)
    return np.asarray(first_s[parts.row])
