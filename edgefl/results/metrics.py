"""Metrics of finished rounds, of one run and between runs: pure functions over arrays (docs/metrics.md)."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from edgefl.core.arrays import Floats

BASE_STATION_COLUMNS = ("bs_static_energy_j", "bs_load_energy_j")  # of runs with `cells.energy`
CURVE_COLUMNS = ("session", "round", "time_s", "energy_j", "test_accuracy")
INITIAL_ROUNDS = 10  # of a session, whose mean accuracy is wanted (dynamic-devices paper, appendix E)
SAME_ACCURACY = 1e-12  # files have 12 digits: accuracies that differ by less count as equal


class AccuracyCurve(NamedTuple):
    """A run, columns [rounds]: time and energy are cumulative, accuracy is NaN where nothing was tested."""

    number: Floats  # grows over the whole run
    time_s: Floats  # virtual, since the beginning
    energy_j: Floats  # of all devices, since the beginning
    accuracy: Floats  # from 0 to 1
    session: Floats  # from 1
    round: Floats  # in its session, from 1; below that are extra rounds, whose models are no results

    @property
    def tests(self) -> Floats:
        """The accuracies [tests] that were measured, in order."""
        return self.accuracy[np.isfinite(self.accuracy)]

    @property
    def best(self) -> float:
        """The highest accuracy; NaN without any test."""
        if not self.tests.size:
            return math.nan
        return float(self.tests.max())

    @property
    def final(self) -> float:
        """The accuracy of the last test; NaN without any test."""
        if not self.tests.size:
            return math.nan
        return float(self.tests[-1])


class Reach(NamedTuple):
    """The cost of reaching a target; where a run never did, the cost of the whole run, which is then a bound."""

    reached: bool
    round: int  # over the whole run
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
    df: int  # degrees of freedom
    p: float
    note: str = ""


def accuracy_curve(columns: Mapping[str, Any]) -> AccuracyCurve:
    """Return the curve in the columns [rounds] session, round, time_s, energy_j and test_accuracy of ``rounds.csv``.

    Without a column session all rounds belong to one session.
    """
    columns = {"session": np.ones(len(columns["round"])), **columns}
    session, number, time_s, energy_j, accuracy = (np.array(columns[name], dtype=np.float64) for name in CURVE_COLUMNS)
    # An extra round ends with a model that only serves to prepare the session: its test is no result.
    accuracy = np.where(number > 0, accuracy, np.nan)
    return AccuracyCurve(numbers(number), time_s, energy_j, accuracy, session, number)


def base_station_energy_j(columns: Mapping[str, Any]) -> Floats | None:
    """Return the energy [rounds] that base stations have drawn since the beginning; None where it was not measured."""
    # The table of a report has all columns, empty where the run lacks them.
    if not all(name in columns for name in BASE_STATION_COLUMNS):
        return None
    static_j, load_j = (np.array(columns[name], dtype=np.float64) for name in BASE_STATION_COLUMNS)
    if np.isnan(static_j).any():
        return None
    return np.asarray(np.cumsum(static_j + load_j))


def until(run: AccuracyCurve, reached: Reach, cumulative: Floats) -> float:
    """Return the value of a cumulative column [rounds] at the end of the round in which a target was reached."""
    return float(cumulative[np.flatnonzero(run.number == reached.round)[0]])


def sessions(run: AccuracyCurve) -> list[AccuracyCurve]:
    """Return each session of a run by itself; times and energies count from its beginning, extra rounds included."""
    if not run.round.size:
        return []
    borders = np.flatnonzero(np.diff(run.session)) + 1  # first rows of all sessions but the first
    begins = [0, *borders.tolist()]
    ends = [*borders.tolist(), len(run.session)]
    found = []
    before_s = 0.0
    before_j = 0.0
    for begin, end in zip(begins, ends, strict=True):
        session = AccuracyCurve(*(column[begin:end] for column in run))
        found.append(
            session._replace(
                number=session.round,
                time_s=session.time_s - before_s,
                energy_j=session.energy_j - before_j,
            )
        )
        # Columns are cumulative over the run: the next session begins where this one ends.
        before_s = float(session.time_s[-1])
        before_j = float(session.energy_j[-1])
    return found


def numbers(rounds: Floats) -> Floats:
    """Return round numbers [rounds] that grow over the whole run, also where sessions count from 1 again."""
    if np.all(np.diff(rounds) > 0):
        return rounds  # without sessions they are right as they are
    return np.arange(1.0, len(rounds) + 1)  # extra rounds count, as they have cost time and energy


def reach(run: AccuracyCurve, accuracy: float) -> Reach:
    """Return the first round with an accuracy, not smoothed (FedSSG paper, Table 3; dynamic-devices paper, eq. 31)."""
    # A comparison with NaN is false. The tolerance is for relative targets: 0.75 * 0.8 is a little more than 0.6.
    hits = np.flatnonzero(run.accuracy >= accuracy - SAME_ACCURACY)
    if not hits.size:
        return total(run)
    row = hits[0]
    return Reach(True, int(run.number[row]), float(run.time_s[row]), float(run.energy_j[row]))


def total(run: AccuracyCurve) -> Reach:
    """Return what a whole run took, as the bound of a target that it did not reach."""
    if not run.number.size:
        return Reach(False, 0, 0.0, 0.0)
    return Reach(False, int(run.number[-1]), float(run.time_s[-1]), float(run.energy_j[-1]))


def speed_up(reference: Reach, run: Reach) -> tuple[float, float, float]:
    """Return how many times less than the reference a run took: rounds, time, energy (FedSSG paper, Table 3).

    Where one of them never reached the target, all that it took counts, as in the paper. 0/0 is NaN.
    """
    return (
        _ratio(reference.round, run.round),
        _ratio(reference.time_s, run.time_s),
        _ratio(reference.energy_j, run.energy_j),
    )


def _ratio(reference: float, run: float) -> float:
    if not run:
        return math.nan
    return float(reference / run)


def last(run: AccuracyCurve, count: int) -> Spread:
    """Return mean and deviation of the last `count` tests, or of all if there are fewer (FedSSG paper, Table 1: 50)."""
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
    """Return the accuracies [n] of both runs in those rounds of the same session in which both were tested."""
    reference_tested = np.isfinite(reference.accuracy)
    run_tested = np.isfinite(run.accuracy)
    _, reference_rows, run_rows = np.intersect1d(
        _round_keys(reference)[reference_tested], _round_keys(run)[run_tested], return_indices=True
    )
    return reference.accuracy[reference_tested][reference_rows], run.accuracy[run_tested][run_rows]


def _round_keys(run: AccuracyCurve) -> npt.NDArray[np.complex128]:
    """Return session and round as one number [rounds]: NumPy finds common numbers, but not common pairs."""
    return run.session + 1j * run.round


def accumulated_gain_points(reference: Floats, run: Floats) -> float:
    """Return the sum of differences in percentage points of accuracies [n] (dynamic-devices paper, eq. 32)."""
    return float(100 * (run - reference).sum())


def paired_t(reference: Floats, run: Floats) -> PairedT:
    """Test whether accuracies [n] in the same rounds differ: `t = mean(d) / (s_d / sqrt(n))` (FedAR paper, Table 2).

    `d` is run - reference, its standard deviation `s_d` has n - 1 degrees of freedom. Accuracies of successive rounds
    are correlated, so p is smaller than it would be for independent pairs.
    """
    difference = run - reference
    n = len(run)
    if n < 2:
        return PairedT(math.nan, 0, math.nan, "fewer than two common tests")
    if np.ptp(difference) <= SAME_ACCURACY:
        note = "the same difference in every round"  # no deviation, so t would be infinite
        if abs(difference[0]) <= SAME_ACCURACY:
            note = "identical"
        return PairedT(math.nan, n - 1, math.nan, note)
    from scipy.special import stdtr  # scipy.stats would take much longer to import

    t = float(difference.mean() / (difference.std(ddof=1) / math.sqrt(n)))
    p = float(2 * stdtr(n - 1, -abs(t)))
    return PairedT(t, n - 1, p)


def fairness(accuracies: Floats) -> dict[str, float]:
    """Return statistics of per-device accuracies [n], also of the worst and the best tenth (FedAR paper, Table 3)."""
    ordered = np.sort(accuracies)
    tenth = max(1, round(len(ordered) / 10))  # at least one device, however few there are
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
