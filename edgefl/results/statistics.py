"""Estimates and tests over several seeds: pure functions over arrays (docs/sweep-report.md)."""

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from edgefl.core.arrays import Floats, Ints
from edgefl.results import metrics

CONFIDENCE = 0.95
# On charts. For the same deviation, Student's interval is 6.5 times as wide as a normal one with two runs and 2.2 times
# with three: it would cover the chart, and the runs themselves say more.
FEWEST_FOR_INTERVAL = 4
SAME_RELATIVE = 1e-12  # numbers closer than this, relative to the largest, count as equal


class SeedEstimate(NamedTuple):
    """Mean, standard deviation and half the confidence interval of n runs; NaN unless all of them reached the target.

    The median is Kaplan and Meier's; if half of the runs or more never reached the target, it is NaN, and larger than
    `above`.
    """

    n: int  # runs
    reached: int  # of these
    mean: float
    std: float  # with n - 1 degrees of freedom; NaN of a single run, as is `half`
    half: float
    median: float
    above: float  # a lower bound of an unknown median; else NaN

    @property
    def central(self) -> float:
        """The mean if all runs reached the target, else the median; NaN if that is unknown, too."""
        return self.mean if self.reached == self.n else self.median


class Paired(NamedTuple):
    """Differences of n pairs: mean, half the confidence interval, p of the two-sided t-test; NaN if undefined."""

    n: int
    mean: float
    half: float
    p: float
    note: str = ""  # why there is no p


class Matched(NamedTuple):
    """Values in matched pairs with their reference: the difference, and the ratio of positive values; NaN if undefined.

    Both are over the `known` pairs of n, those with two known values. The ratio is the geometric mean over pairs. `p`
    is that of the two-sided t-test over seeds, of the logarithms where there is a ratio, else of the differences.
    """

    n: int
    known: int
    difference: Paired
    ratio: float
    ratio_low: float  # the ends of the ratio's confidence interval
    ratio_high: float
    p: float


def estimate(values: Floats, bounds: Floats | None = None) -> SeedEstimate:
    """Return mean and median of runs [n]; some may have only a lower bound.

    Args:
        values: the cost of the target for each run; NaN if the run never reached it.
        bounds: the cost of the whole runs, which is less than a missing value (right-censored); needed only if there
            are missing values.
    """
    n = len(values)
    reached = int(np.isfinite(values).sum())
    mean = math.nan
    std = math.nan
    half = math.nan
    if n == reached:
        if n > 0:
            mean = float(values.mean())
        if n > 1:
            std = float(values.std(ddof=1))
            half = half_interval(std, n)
    if bounds is None:
        bounds = values
    median, above = _median(values, bounds)
    return SeedEstimate(n, reached, mean, std, half, median, above)


def half_interval(std: float, n: int, confidence: float = CONFIDENCE) -> float:
    """Return half the confidence interval of the mean of n numbers with this standard deviation."""
    from scipy.special import stdtrit  # scipy.stats would take much longer to import

    return float(stdtrit(n - 1, (1 + confidence) / 2) * std / math.sqrt(n))


def _median(values: Floats, bounds: Floats) -> tuple[float, float]:
    """Return Kaplan and Meier's median, or else a lower bound of it; NaN for the other one.

    The estimate is the share of runs that have not reached the target yet; the median is where that share falls to a
    half. If it stays at a half between two values, the median is their middle. The bound is the median of the costs
    that are known or at least bounded, which holds whatever the censored runs would have needed.
    """
    n = len(values)
    if n == 0:
        return math.nan, math.nan
    known = np.isfinite(values)
    least = np.where(known, values, bounds)
    order = np.lexsort((~known, least))  # of equal numbers, known ones come first
    ends = known[order]
    at_risk = np.arange(n, 0, -1)  # runs that needed at least as much
    share_left = np.cumprod(1 - ends / at_risk)
    # With a tolerance, as a product of fractions may miss a half by a rounding error.
    falls = np.flatnonzero(ends & (share_left < 0.5 + SAME_RELATIVE))
    if not falls.size:
        return math.nan, float(np.median(least))
    stays_at_half = share_left[falls[0]] >= 0.5 - SAME_RELATIVE
    if not stays_at_half:
        return float(least[order[falls[0]]]), math.nan
    if falls.size > 1:
        return float(least[order[falls[:2]]].mean()), math.nan
    return math.nan, float(np.median(least))


def paired(reference: Mapping[int, float], run: Mapping[int, float]) -> Paired:
    """Compare run and reference seed by seed: under one seed both had the same devices, channels and batches.

    Seeds that only one of them has are left out. If one of them never reached the target (NaN), there is no result.
    """
    seeds = [seed for seed in reference if seed in run]
    ours = np.array([run[seed] for seed in seeds], np.float64)
    theirs = np.array([reference[seed] for seed in seeds], np.float64)
    n = len(seeds)
    difference = ours - theirs
    if not np.isfinite(difference).all():
        return Paired(n, math.nan, math.nan, math.nan, "not reached under every seed")
    if n < 2:
        mean = float(difference[0]) if n else math.nan
        return Paired(n, mean, math.nan, math.nan, "fewer than two common seeds")
    size = float(np.abs([ours, theirs]).max()) or 1.0  # any size if all are 0
    tolerance = SAME_RELATIVE * size
    if np.ptp(difference) <= tolerance:
        if abs(difference[0]) <= tolerance:
            return Paired(n, 0.0, 0.0, math.nan, "identical under every seed")
        return Paired(n, float(difference[0]), 0.0, math.nan, "the same difference under every seed")
    p = metrics.paired_t(theirs / size, ours / size).p  # scaled, as its tolerance is absolute
    return Paired(n, float(difference.mean()), half_interval(float(difference.std(ddof=1)), n), p)


def matched(reference: Floats, values: Floats, seeds: Sequence[int], *, ratios: bool = True) -> Matched:
    """Compare values [n] with the reference [n] of each; a pair with an unknown number (NaN) does not count.

    Pairs of one seed share data, devices and channels, so they are not independent of each other. The mean over the
    pairs of each seed is one observation, and intervals and tests are over seeds.

    Args:
        reference: the reference of each value.
        values: the values.
        seeds: the seed of each pair.
        ratios: whether ratios mean something; those of shares, such as accuracies, do not.
    """
    known = np.isfinite(reference) & np.isfinite(values)
    theirs = reference[known]
    ours = values[known]
    of_pair = np.asarray(seeds)[known]
    difference = _over_seeds(theirs, ours, of_pair)
    no_ratio = Matched(len(values), len(ours), difference, math.nan, math.nan, math.nan, difference.p)
    if not ratios or not len(ours) or theirs.min() <= 0 or ours.min() <= 0:
        return no_ratio
    # Over settings of different size, such as a narrow and a wide band, ratios vary far less than differences.
    logarithm = _over_seeds(np.log(theirs), np.log(ours), of_pair)
    with np.errstate(over="ignore"):  # of two seeds an interval may be wider than numbers are
        ratio = np.exp(logarithm.mean)
        low = np.exp(logarithm.mean - logarithm.half)
        high = np.exp(logarithm.mean + logarithm.half)
    return no_ratio._replace(ratio=float(ratio), ratio_low=float(low), ratio_high=float(high), p=logarithm.p)


def _over_seeds(reference: Floats, values: Floats, seeds: Ints) -> Paired:
    """Return the paired comparison of the means of each seed; values are known [n]."""
    theirs = {int(seed): float(reference[seeds == seed].mean()) for seed in np.unique(seeds)}
    ours = {int(seed): float(values[seeds == seed].mean()) for seed in np.unique(seeds)}
    return paired(theirs, ours)


def holm(p: Sequence[float]) -> Floats:
    """Return p-values [n] adjusted for n tests (Holm 1979); NaN stays NaN and does not count as a test."""
    values = np.array(p, np.float64)
    tests = np.flatnonzero(np.isfinite(values))
    order = tests[np.argsort(values[tests], kind="stable")]
    factors = np.arange(len(order), 0, -1)
    # An adjusted value is never below the one of a smaller p, hence the running maximum.
    values[order] = np.minimum(1.0, np.maximum.accumulate(factors * values[order]))
    return values
