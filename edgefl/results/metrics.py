"""Metrics over finished rounds, of one run and between runs: pure functions over arrays (docs/metrics.md)."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from edgefl.core.arrays import Floats

CURVE_COLUMNS = ("session", "round", "time_s", "energy_j", "test_accuracy")
INITIAL_ROUNDS = 10  # of a session, whose mean accuracy is wanted (dynamic-devices paper, appendix E)
ROUNDING = 1e-12  # accuracies have 12 digits: what differs by less is the same


class Curve(NamedTuple):
    """A run, columns [rounds]: time and energy are cumulative, accuracy is NaN where nothing was tested."""

    number: Floats  # grows over the whole run
    time_s: Floats
    energy_j: Floats
    accuracy: Floats
    session: Floats
    round: Floats  # in its session, from 1; below that are extra rounds, whose models are no results

    @property
    def tests(self) -> Floats:
        """The accuracies [tests] that were measured, in order."""
        return self.accuracy[np.isfinite(self.accuracy)]

    @property
    def best(self) -> float:
        """The highest accuracy; NaN without any test."""
        return float(self.tests.max()) if self.tests.size else math.nan

    @property
    def final(self) -> float:
        """The accuracy of the last test; NaN without any test."""
        return float(self.tests[-1]) if self.tests.size else math.nan


class Reach(NamedTuple):
    """What a run took to a target; where it never got there, what the whole run took, which is then a bound."""

    reached: bool
    round: int
    time_s: float
    energy_j: float


class Spread(NamedTuple):
    """Mean and standard deviation over `n` tests; NaN where n is 0."""

    n: int
    mean: float
    std: float


class PairedT(NamedTuple):
    """A paired t-test, two-sided; t and p are NaN where they are undefined, and `note` then says why."""

    t: float
    df: int
    p: float
    note: str = ""


def curve(columns: Mapping[str, Any]) -> Curve:
    """The curve in the columns [rounds] session, round, time_s, energy_j and test_accuracy of ``rounds.csv``.

    Without a column session all rounds are of one.
    """
    columns = {"session": np.ones(len(columns["round"])), **columns}
    session, number, time_s, energy_j, accuracy = (np.array(columns[name], dtype=np.float64) for name in CURVE_COLUMNS)
    return Curve(numbers(number), time_s, energy_j, np.where(number > 0, accuracy, np.nan), session, number)


def sessions(run: Curve) -> list[Curve]:
    """Each session of a run by itself; times and energies count from its beginning, so extra rounds are in them."""
    borders = np.flatnonzero(np.diff(run.session)) + 1
    parts = zip(*(np.split(column, borders) for column in run), strict=True)
    own = [Curve(*part)._replace(number=part[5]) for part in parts] if run.round.size else []
    spent = [(0.0, 0.0), *((float(one.time_s[-1]), float(one.energy_j[-1])) for one in own)]
    return [
        one._replace(time_s=one.time_s - time_s, energy_j=one.energy_j - energy_j)
        for one, (time_s, energy_j) in zip(own, spent, strict=False)
    ]


def numbers(rounds: Floats) -> Floats:
    """Round numbers [rounds] that grow over the whole run, also where sessions count from 1 again."""
    grows = bool(np.all(np.diff(rounds) > 0))
    return rounds if grows else np.arange(1.0, len(rounds) + 1)


def reach(run: Curve, accuracy: float) -> Reach:
    """The first round that reaches an accuracy, not smoothed (FedSSG paper, Table 3; dynamic-devices paper, eq. 31)."""
    hits = np.flatnonzero(run.accuracy >= accuracy - ROUNDING)  # NaN never is; 0.75 · 0.8 is a little more than 0.6
    if hits.size:
        row = hits[0]
        return Reach(True, int(run.number[row]), float(run.time_s[row]), float(run.energy_j[row]))
    return total(run)


def total(run: Curve) -> Reach:
    """What a whole run took, as if its target were out of reach."""
    rounds, time_s, energy_j = (float(column[-1]) if column.size else 0.0 for column in run[:3])
    return Reach(False, int(rounds), time_s, energy_j)


def speed_up(reference: Reach, run: Reach) -> tuple[float, float, float]:
    """How many times less than the reference a run took: rounds, time, energy (FedSSG paper, Table 3); NaN for 0/0.

    Where one of them never reached the target, all that it took counts, as the paper has it.
    """
    pairs = zip(reference[1:], run[1:], strict=True)
    rounds, time, energy = (float(theirs / ours) if ours else math.nan for theirs, ours in pairs)
    return rounds, time, energy


def last(run: Curve, count: int) -> Spread:
    """The last `count` tests, or all where there are fewer (FedSSG paper, Table 1: 50)."""
    return _spread(run.tests[-count:])


def initial(run: Curve, rounds: int) -> Spread:
    """The tests in the first `rounds` rounds of each session (dynamic-devices paper, Table II: 10)."""
    tested = np.isfinite(run.accuracy) & (run.round <= rounds)
    return _spread(run.accuracy[tested])


def _spread(accuracies: Floats) -> Spread:
    if not accuracies.size:
        return Spread(0, math.nan, math.nan)
    return Spread(accuracies.size, float(accuracies.mean()), float(accuracies.std()))


def common(reference: Curve, run: Curve) -> tuple[Floats, Floats]:
    """The accuracies [n] of both in the rounds, of the same sessions, in which both were tested."""
    theirs, ours = np.isfinite(reference.accuracy), np.isfinite(run.accuracy)
    _, row, other = np.intersect1d(_places(reference)[theirs], _places(run)[ours], return_indices=True)
    return reference.accuracy[theirs][row], run.accuracy[ours][other]


def _places(run: Curve) -> npt.NDArray[np.complex128]:
    """Session and round as one number [rounds] for each pair of them."""
    return run.session + 1j * run.round


def accumulated_gain_points(reference: Floats, run: Floats) -> float:
    """The sum of the differences in percentage points, of accuracies [n] each (dynamic-devices paper, eq. 32)."""
    return float(100 * (run - reference).sum())


def paired_t(reference: Floats, run: Floats) -> PairedT:
    """Whether accuracies [n] in the same rounds differ: t = mean(d) / (std(d) / sqrt(n)) (FedAR paper, Table 2).

    d is run - reference, its standard deviation has n - 1 degrees of freedom. Accuracies of one run hang together, so
    p is smaller than it would be for independent pairs.
    """
    difference, n = run - reference, len(run)
    if n < 2:
        return PairedT(math.nan, 0, math.nan, "fewer than two common tests")
    if np.ptp(difference) <= ROUNDING:
        note = "identical" if abs(difference[0]) <= ROUNDING else "the same difference in every round"
        return PairedT(math.nan, n - 1, math.nan, note)
    from scipy.special import stdtr

    t = float(difference.mean() / (difference.std(ddof=1) / math.sqrt(n)))
    return PairedT(t, n - 1, float(2 * stdtr(n - 1, -abs(t))))


def fairness(accuracies: Floats) -> dict[str, float]:
    """Statistics of per-device accuracies [n], also of the worst and the best tenth (FedAR paper, Table 3)."""
    ordered = np.sort(accuracies)
    tenth = max(1, round(len(ordered) / 10))
    worst, best = ordered[:tenth], ordered[-tenth:]
    return {
        "mean": float(ordered.mean()),
        "variance": float(ordered.var()),
        "worst_10_percent": float(worst.mean()),
        "best_10_percent": float(best.mean()),
        "worst_10_percent_std": float(worst.std()),
        "best_10_percent_std": float(best.std()),
    }
