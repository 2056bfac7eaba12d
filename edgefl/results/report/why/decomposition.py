"""The parts of a run's time and energy, up to a target or as a whole; the parts add up to the run's time and energy.

Time = rounds x mean round, along the critical path: of each round the participation that it waited for; of policies
without rounds the chain of participations that ended with the last update. Energy = participations x mean
participation.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from edgefl.core.arrays import Floats
from edgefl.records.statuses import NOT_CHOSEN, RECEIVED
from edgefl.results import metrics
from edgefl.results.report.shared.read import Run
from edgefl.results.report.why import critical_path
from edgefl.results.report.why.critical_path import SAME_TIME_S, Participations

# In the order of columns
TIME_PARTS = ("setup", "download", "compute", "upload", "wait", "evaluation")
ENERGY_PARTS = {
    "setup": "setup_energy_j",
    "download": "rx_energy_j",
    "compute": "cpu_energy_j",
    "upload": "tx_energy_j",
    "wait": "idle_energy_j",
}
UNFINISHED = "unfinished"  # status of participations that the end of the run cut off
OTHERS = "others"  # energy of polls, reports on channels, evaluations and other messages besides training


@dataclass(frozen=True, kw_only=True)
class Decomposition:
    """What a run, or the mean over runs, took up to the end of a round.

    Attributes:
        rounds: how many.
        time_s: by the names of `TIME_PARTS`; they add up to the virtual time.
        participations: of devices that were asked for an update.
        energy_j: by the names of `ENERGY_PARTS` and `OTHERS`; they add up to the energy of all devices.
        bs_energy_j: of base stations; None where it is not priced.
        received: participations whose update was used.
        lost: participations that ended without; the end of the run ends none.
        bytes_down: of a received participation, on average; NaN without any.
        bytes_up: likewise.
        in_rounds: whether each round begins when the one before has ended.
        runs: how many runs these are the means of.
    """

    rounds: float
    time_s: Mapping[str, float]
    participations: float
    energy_j: Mapping[str, float]
    bs_energy_j: float | None
    received: float
    lost: float
    bytes_down: float
    bytes_up: float
    in_rounds: bool = True
    runs: int = 1

    @property
    def total_s(self) -> float:
        """The virtual time."""
        return sum(self.time_s.values())

    @property
    def total_j(self) -> float:
        """The energy of all devices."""
        return sum(self.energy_j.values())

    @property
    def round_s(self) -> float:
        """The mean time of a round."""
        return self.total_s / self.rounds

    @property
    def participation_j(self) -> float:
        """The energy by participation, that of other messages included; 0 without any participation."""
        if not self.participations:
            return 0.0
        return self.total_j / self.participations

    def round_part_s(self, part: str) -> float:
        """Return a part of the mean round [s]."""
        return self.time_s[part] / self.rounds

    def participation_part_j(self, part: str) -> float:
        """Return a part of the energy by participation [J]."""
        if not self.participations:
            return 0.0
        return self.energy_j[part] / self.participations


def whole(run: Run) -> Decomposition | None:
    """Return the parts of a whole run; None for a run without rounds, or read without its devices."""
    if not run.length or not run.devices:
        return None
    return _until(run, run.length)


def to_target(run: Run, accuracy: float) -> Decomposition | None:
    """Return the parts up to the first round with an accuracy; None where there is none."""
    if not run.length or not run.devices:
        return None
    rounds = rounds_to(run, accuracy)
    return None if rounds is None else _until(run, rounds)


def rounds_to(run: Run, accuracy: float) -> int | None:
    """Return the number of rounds up to the first with an accuracy; None where there is none."""
    curve = metrics.accuracy_curve(run.rounds)
    reach = metrics.reach(curve, accuracy)
    if not reach.reached:
        return None
    return int(np.flatnonzero(curve.number == reach.round)[0]) + 1


def mean(parts: Sequence[Decomposition]) -> Decomposition:
    """Return the means over runs, such as those of several seeds: means of sums, so that their parts add up, too."""
    first = parts[0]
    if len(parts) == 1:
        return first
    bs_energy_j = [of.bs_energy_j for of in parts if of.bs_energy_j is not None]
    received = np.array([of.received for of in parts])

    def of_received(values: Sequence[float]) -> float:
        weights = received / max(received.sum(), 1.0)
        return float(np.nansum(np.array(values) * weights)) if received.any() else float("nan")

    return Decomposition(
        rounds=_mean([of.rounds for of in parts]),
        time_s={part: _mean([of.time_s[part] for of in parts]) for part in first.time_s},
        participations=_mean([of.participations for of in parts]),
        energy_j={part: _mean([of.energy_j[part] for of in parts]) for part in first.energy_j},
        bs_energy_j=_mean(bs_energy_j) if len(bs_energy_j) == len(parts) else None,
        received=float(received.mean()),
        lost=_mean([of.lost for of in parts]),
        bytes_down=of_received([of.bytes_down for of in parts]),
        bytes_up=of_received([of.bytes_up for of in parts]),
        in_rounds=all(of.in_rounds for of in parts),
        runs=len(parts),
    )


def _mean(values: Sequence[float]) -> float:
    return float(np.mean(values))


def _until(run: Run, rounds: int) -> Decomposition:
    """Return the parts of the first so many rounds."""
    if rounds < run.length:
        run = _first_rounds(run, rounds)
    devices = run.devices
    chosen = ~np.isin(devices["status"], NOT_CHOSEN)
    received = devices["status"] == RECEIVED
    energy_j = {}
    others_j = 0.0
    for part, column in ENERGY_PARTS.items():
        values_j = np.nan_to_num(devices[column])
        energy_j[part] = float(values_j[chosen].sum())
        others_j += float(values_j[~chosen].sum())
    energy_j[OTHERS] = others_j
    bs_energy_j = metrics.base_station_energy_j(run.rounds)
    parts = critical_path.participations(run)
    return Decomposition(
        rounds=run.length,
        time_s=_time_parts(run, parts),
        participations=int(chosen.sum()),
        energy_j=energy_j,
        bs_energy_j=None if bs_energy_j is None else float(bs_energy_j[-1]),
        received=int(received.sum()),
        lost=int((chosen & ~received & (devices["status"] != UNFINISHED)).sum()),
        bytes_down=_mean_of(devices["bytes_down"][received]),
        bytes_up=_mean_of(devices["bytes_up"][received]),
        in_rounds=not critical_path.overlaps(parts) or critical_path.takes_turns(run),
    )


def _mean_of(values: Floats) -> float:
    return float(values.mean()) if values.size else float("nan")


def _first_rounds(run: Run, rounds: int) -> Run:
    kept = run.devices["row"] < rounds
    return replace(
        run,
        rounds={name: column[:rounds] for name, column in run.rounds.items()},
        devices={name: column[kept] for name, column in run.devices.items()},
    )


def _time_parts(run: Run, parts: Participations) -> dict[str, float]:
    """Return the time of a run by `TIME_PARTS`: what no phase of the critical path takes is waiting."""
    if critical_path.takes_turns(run):
        phases_s = _turns(parts)
    elif critical_path.overlaps(parts):
        phases_s = _chain(parts, float(run.rounds["time_s"][-1]))
    else:
        phases_s = critical_path.time_by_phase(parts)[: len(critical_path.PHASE_COLUMNS)]
    setup_s, download_s, compute_s, upload_s = phases_s.tolist()
    evaluation_s = float(parts.evaluation_s.sum())
    total_s = float(run.rounds["time_s"][-1])
    times_s = {"setup": setup_s, "download": download_s, "compute": compute_s, "upload": upload_s}
    wait_s = total_s - sum(times_s.values()) - evaluation_s
    return {**times_s, "wait": _without_rounding(wait_s, total_s), "evaluation": evaluation_s}


def _without_rounding(wait_s: float, total_s: float) -> float:
    """Return a remainder [s], 0 where it is no more than what rounding in the tables leaves."""
    if abs(wait_s) <= 1e-10 * total_s:
        return 0.0
    return wait_s


def _turns(parts: Participations) -> Floats:
    """Return the time [phase] of devices that take turns; what a device does during another's turn is left out."""
    totals_s = np.zeros(len(parts.phases_s))
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


def _chain(parts: Participations, end_s: float) -> Floats:
    """Return the time [phase] of the chain of participations that ended last, each begun when the next before ended."""
    totals_s = np.zeros(len(parts.phases_s))
    began_s = _begins_s(parts)
    busy_until_s = began_s + parts.busy_s
    now_s = end_s
    for part in np.argsort(busy_until_s, kind="stable")[::-1].tolist():
        if busy_until_s[part] <= now_s + SAME_TIME_S and parts.busy_s[part] > 0:
            totals_s += parts.phases_s[:, part]
            now_s = began_s[part]
    return totals_s


def _begins_s(parts: Participations) -> Floats:
    """Return when each participation [n] began, since the beginning of the run."""
    round_began_s = np.cumsum(parts.duration_s) - parts.duration_s
    return np.asarray(round_began_s[parts.row] - parts.early_s)
