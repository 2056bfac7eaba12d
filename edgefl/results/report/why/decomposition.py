"""The parts of a run's time and energy, up to a target or as a whole; the parts add up to the run's time and energy.

Time = rounds x mean round, along the critical path: of each round the participation that it waited for; of policies
without rounds the chain of participations that ended with the last update. Energy = participations x mean
participation.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from edgefl.core.arrays import Floats
from edgefl.records.statuses import NOT_CHOSEN, RECEIVED
from edgefl.results import metrics
from edgefl.results.report.shared.read import Run, first_rounds
from edgefl.results.report.why import critical_path
from edgefl.results.report.why.critical_path import PHASES, Participations

# In the order of columns
TIME_PARTS = (*PHASES, "wait", "evaluation")
ENERGY_PARTS = {
    "setup": "setup_energy_j",
    "download": "rx_energy_j",
    "compute": "cpu_energy_j",
    "upload": "tx_energy_j",
    "wait": "idle_energy_j",
}
UNFINISHED = "unfinished"  # status of participations that the end of the run cut off
ROUNDING = 1e-10  # of a time: what rounding in the tables leaves
OTHERS = "others"  # energy of polls, reports on channels, evaluations and other messages besides training


@dataclass(frozen=True, kw_only=True)
class Factors:
    """A time or an energy as a product: how many rounds or participations, and the parts of a mean one.

    Attributes:
        count: of rounds or participations.
        parts: of one of them, in s or J, by name.
    """

    count: float
    parts: Mapping[str, float]

    @property
    def each(self) -> float:
        """What one of them takes."""
        return sum(self.parts.values())

    @property
    def total(self) -> float:
        """What all of them take."""
        return self.count * self.each


@dataclass(frozen=True, kw_only=True)
class Decomposition:
    """What a run, or the mean over runs, took up to the end of a round.

    Attributes:
        rounds: how many.
        time_s: by the names of `TIME_PARTS`; they add up to the virtual time.
        participations: of devices that were asked for an update.
        energy_j: by the names of `ENERGY_PARTS` and `OTHERS`; they add up to the energy of all devices.
        received: participations whose update was used.
        lost: participations that ended without; the end of the run ends none.
        received_bytes_down: of the received participations.
        received_bytes_up: the same of uploads.
        in_rounds: whether each round begins when the one before has ended.
    """

    rounds: float
    time_s: Mapping[str, float]
    participations: float
    energy_j: Mapping[str, float]
    received: float
    lost: float
    received_bytes_down: float
    received_bytes_up: float
    in_rounds: bool = True

    @property
    def time(self) -> Factors:
        """The virtual time by rounds."""
        return _factors(self.rounds, self.time_s)

    @property
    def energy(self) -> Factors:
        """The energy of all devices by participations, that of other messages included."""
        return _factors(self.participations, self.energy_j)

    @property
    def bytes_down(self) -> float:
        """The bytes to a device whose update was received; NaN without any."""
        return _mean(self.received_bytes_down, self.received)

    @property
    def bytes_up(self) -> float:
        """The bytes of a received update with all that comes with it; NaN without any."""
        return _mean(self.received_bytes_up, self.received)


def _factors(count: float, sums: Mapping[str, float]) -> Factors:
    return Factors(count=count, parts={part: value / (count or 1) for part, value in sums.items()})


def _mean(total: float, count: float) -> float:
    if not count:
        return float("nan")
    return total / count


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
    if rounds is None:
        return None
    return _until(run, rounds)


def rounds_to(run: Run, accuracy: float) -> int | None:
    """Return the number of rounds up to the first with an accuracy; None where there is none."""
    reach = metrics.reach(run.curve, accuracy)
    if not reach.reached:
        return None
    return int(np.flatnonzero(run.curve.number == reach.round)[0]) + 1


def mean(parts: Sequence[Decomposition]) -> Decomposition:
    """Return the means over runs, such as those of several seeds: means of sums, so that their parts add up, too."""

    def of(name: str) -> float:
        return float(np.mean([getattr(each, name) for each in parts]))

    return Decomposition(
        rounds=of("rounds"),
        time_s=_means([each.time_s for each in parts]),
        participations=of("participations"),
        energy_j=_means([each.energy_j for each in parts]),
        received=of("received"),
        lost=of("lost"),
        received_bytes_down=of("received_bytes_down"),
        received_bytes_up=of("received_bytes_up"),
        in_rounds=all(each.in_rounds for each in parts),
    )


def _means(sums: Sequence[Mapping[str, float]]) -> dict[str, float]:
    return {part: float(np.mean([each[part] for each in sums])) for part in sums[0]}


def _until(run: Run, rounds: int) -> Decomposition:
    if rounds < run.length:
        run = first_rounds(run, rounds)
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
    parts = critical_path.participations(run)
    return Decomposition(
        rounds=run.length,
        time_s=_time_parts(run, parts),
        participations=int(chosen.sum()),
        energy_j=energy_j,
        received=int(received.sum()),
        lost=int((chosen & ~received & (devices["status"] != UNFINISHED)).sum()),
        received_bytes_down=float(devices["bytes_down"][received].sum()),
        received_bytes_up=float(devices["bytes_up"][received].sum()),
        in_rounds=not critical_path.overlaps(parts) or critical_path.takes_turns(run),
    )


def _time_parts(run: Run, parts: Participations) -> dict[str, float]:
    """Return the time of a run by `TIME_PARTS`: what no phase of the critical path takes is waiting."""
    total_s = float(run.rounds["time_s"][-1])
    phases_s: Floats
    if critical_path.takes_turns(run):
        phases_s = critical_path.time_of_turns(parts)
    elif critical_path.overlaps(parts):
        phases_s = critical_path.time_of_chain(parts, total_s)
    else:
        phases_s = critical_path.time_of_last(parts)
    evaluation_s = float(parts.evaluation_s.sum())
    wait_s = total_s - sum(phases_s.tolist()) - evaluation_s
    if abs(wait_s) <= ROUNDING * total_s:
        wait_s = 0.0
    return dict(zip(TIME_PARTS, [*phases_s.tolist(), wait_s, evaluation_s], strict=True))
