"""Metrics of one run and between runs: pure functions over arrays (docs/metrics.md)."""

import math
from collections.abc import Iterable, Mapping
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from edgefl.core.arrays import Bools, Floats
from edgefl.records.quantities import COSTS, Quantity

CURVE_COLUMNS = ("session", "round", "time_s", "energy_j", "test_accuracy")
INITIAL_ROUNDS = 10  # of a session, for its initial accuracy (dynamic-devices paper, appendix E)
SAME_ACCURACY = 1e-12  # files have 12 digits: accuracies closer than this count as equal


class AccuracyCurve(NamedTuple):
    """A run as columns [rounds]: time and energy are cumulative, accuracy is NaN in rounds without a test."""

    number: Floats  # grows over the whole run
    time_s: Floats  # virtual, since the beginning
    energy_j: Floats  # of all devices, since the beginning
    accuracy: Floats  # from 0 to 1
    session: Floats  # from 1
    round: Floats  # in its session, from 1; extra rounds, whose models are not results, have lower numbers

    @property
    def tests(self) -> Floats:
        """The measured accuracies [tests], in order."""
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
    """The cost of reaching a target, or of the whole run as a lower bound if it never did."""

    reached: bool
    round: int  # over the whole run
    time_s: float
    energy_j: float


class Spread(NamedTuple):
    """Mean and standard deviation over `n` tests; NaN if n is 0."""

    n: int
    mean: float
    std: float


class PairedT(NamedTuple):
    """A two-sided paired t-test; if t and p are undefined, they are NaN and `note` says why."""

    t: float
    df: int  # degrees of freedom
    p: float
    note: str = ""


def accuracy_curve(columns: Mapping[str, Any]) -> AccuracyCurve:
    """Return the curve of the columns [rounds] session, round, time_s, energy_j and test_accuracy of ``rounds.csv``.

    Without a column session, all rounds belong to one session.
    """
    columns = {"session": np.ones(len(columns["round"])), **columns}
    session, number, time_s, energy_j, accuracy = (np.array(columns[name], dtype=np.float64) for name in CURVE_COLUMNS)
    # The model of an extra round only prepares the session, so its test is not a result.
    accuracy = np.where(number > 0, accuracy, np.nan)
    return AccuracyCurve(numbers(number), time_s, energy_j, accuracy, session, number)


def total_of(columns: Mapping[str, Any], name: str) -> float:
    """Return the sum of a column [rounds]; empty cells count as nothing."""
    return float(np.nansum(np.array(columns[name], dtype=np.float64)))


def costs(columns: Mapping[str, Any], quantities: Iterable[Quantity] = COSTS) -> dict[str, Floats]:
    """Return the costs of targets, besides time and energy, that a run has: cumulative [rounds], by their names."""
    found = {}
    for cost in quantities:
        # A column of the same name, besides those of all runs, is cumulative already.
        names = cost.sums or ((cost.name,) if cost.when else ())
        # The table of a report has all columns, even if they are empty.
        if not cost.at_target or not names or not all(name in columns for name in names):
            continue
        terms = [np.array(columns[name], dtype=np.float64) for name in names]
        if not any(np.isnan(term).any() for term in terms):
            total = np.sum(terms, axis=0)
            found[cost.name] = np.asarray(np.cumsum(total) if cost.sums else total)
    return found


def until(run: AccuracyCurve, reached: Reach, cumulative: Floats) -> float:
    """Return the value of a cumulative column [rounds] at the end of the round that reached a target."""
    return float(cumulative[np.flatnonzero(run.number == reached.round)[0]])


def sessions(run: AccuracyCurve) -> list[AccuracyCurve]:
    """Return each session of a run; times and energies count from its beginning, including extra rounds."""
    if not run.round.size:
        return []
    borders = (np.flatnonzero(np.diff(run.session)) + 1).tolist()  # first rows of all sessions but the first
    found = []
    before_s = 0.0
    before_j = 0.0
    for begin, end in pairwise([0, *borders, len(run.session)]):
        session = AccuracyCurve(*(column[begin:end] for column in run))
        found.append(
            session._replace(
                number=session.round, time_s=session.time_s - before_s, energy_j=session.energy_j - before_j
            )
        )
        before_s = float(session.time_s[-1])
        before_j = float(session.energy_j[-1])
    return found


def numbers(rounds: Floats) -> Floats:
    """Return round numbers [rounds] that grow over the whole run, while those of sessions begin again from 1."""
    if np.all(np.diff(rounds) > 0):
        return rounds
    return np.arange(1.0, len(rounds) + 1)  # extra rounds count, as they cost time and energy


def reach(run: AccuracyCurve, accuracy: float) -> Reach:
    """Return the first round with an accuracy, not smoothed (FedSSG paper, Table 3; dynamic-devices paper, eq. 31)."""
    # The tolerance is for relative targets: 0.75 * 0.8 is slightly more than 0.6.
    return first(run, run.accuracy >= accuracy - SAME_ACCURACY)


def first(run: AccuracyCurve, met: Bools) -> Reach:
    """Return the cost of the first round that meets a condition [rounds]."""
    hits = np.flatnonzero(met)
    if not hits.size:
        return total(run)
    row = hits[0]
    return Reach(True, int(run.number[row]), float(run.time_s[row]), float(run.energy_j[row]))


def total(run: AccuracyCurve) -> Reach:
    """Return the cost of a whole run, as the bound of a target that it did not reach."""
    if not run.number.size:
        return Reach(False, 0, 0.0, 0.0)
    return Reach(False, int(run.number[-1]), float(run.time_s[-1]), float(run.energy_j[-1]))


def speed_up(reference: Reach, run: Reach) -> tuple[float, float, float]:
    """Return the reference's rounds, time and energy over the run's (FedSSG paper, Table 3).

    As in the paper, the whole run counts if it never reached the target. 0/0 is NaN.
    """
    return (
        _ratio(reference.round, run.round),
        _ratio(reference.time_s, run.time_s),
        _ratio(reference.energy_j, run.energy_j),
    )


def _ratio(reference: float, run: float) -> float:
    return float(reference / run) if run else math.nan


def last(run: AccuracyCurve, count: int) -> Spread:
    """Return mean and deviation of the last `count` tests, or of all of them (FedSSG paper, Table 1: 50)."""
    return _spread(run.tests[-count:])


def initial(run: AccuracyCurve, rounds: int) -> Spread:
    """Return mean and deviation of the tests in each session's first rounds (dynamic-devices paper, Table II: 10)."""
    tested = np.isfinite(run.accuracy) & (run.round <= rounds)
    return _spread(run.accuracy[tested])


def _spread(accuracies: Floats) -> Spread:
    if not accuracies.size:
        return Spread(0, math.nan, math.nan)
    deviation = float(accuracies.std())  # over n, not n - 1 (docs/metrics.md)
    return Spread(accuracies.size, float(accuracies.mean()), deviation)


def common(reference: AccuracyCurve, run: AccuracyCurve) -> tuple[Floats, Floats]:
    """Return the accuracies [n] of both runs in the rounds where both were tested."""
    reference_tested = np.isfinite(reference.accuracy)
    run_tested = np.isfinite(run.accuracy)
    _, reference_rows, run_rows = np.intersect1d(
        _round_keys(reference)[reference_tested], _round_keys(run)[run_tested], return_indices=True
    )
    return reference.accuracy[reference_tested][reference_rows], run.accuracy[run_tested][run_rows]


def _round_keys(run: AccuracyCurve) -> npt.NDArray[np.complex128]:
    """Return session and round as one number [rounds], as NumPy finds no common pairs."""
    return run.session + 1j * run.round


def accumulated_gain_points(reference: Floats, run: Floats) -> float:
    """Return the sum of differences in percentage points of accuracies [n] (dynamic-devices paper, eq. 32)."""
    return float(100 * (run - reference).sum())


def paired_t(reference: Floats, run: Floats) -> PairedT:
    """Test whether accuracies [n] in the same rounds differ: `t = mean(d) / (s_d / sqrt(n))` (FedAR paper, Table 2).

    `d` is run - reference, its standard deviation `s_d` has n - 1 degrees of freedom. Accuracies of successive rounds
    are correlated, so p is smaller than for independent pairs.
    """
    difference = run - reference
    n = len(run)
    if n < 2:
        return PairedT(math.nan, 0, math.nan, "fewer than two common tests")
    if np.ptp(difference) <= SAME_ACCURACY:
        note = "the same difference in every round"  # t would be infinite
        if abs(difference[0]) <= SAME_ACCURACY:
            note = "identical"
        return PairedT(math.nan, n - 1, math.nan, note)
    from scipy.special import stdtr  # scipy.stats would take much longer to import

    t = float(difference.mean() / (difference.std(ddof=1) / math.sqrt(n)))
    p = float(2 * stdtr(n - 1, -abs(t)))
    return PairedT(t, n - 1, p)


def fairness(accuracies: Floats) -> dict[str, float]:
    """Return statistics of per-device accuracies [n] and of their worst and best tenth (FedAR paper, Table 3)."""
    ordered = np.sort(accuracies)
    tenth = max(1, round(len(ordered) / 10))  # at least one device
    worst = ordered[:tenth]
    best = ordered[-tenth:]
    return {
        "mean": float(ordered.mean()),
        "variance": float(ordered.var()),
        "worst_10_percent": float(worst.mean()),
        "best_10_percent": float(best.mean()),
        "worst_10_percent_std": float(worst.std()),
        "best_10_percent_std": float(best.std()),
    }
