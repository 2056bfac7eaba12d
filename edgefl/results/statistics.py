"""What several seeds say together: pure functions over arrays (docs/sweep-report.md)."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from edgefl.core.arrays import Floats
from edgefl.results import metrics

CONFIDENCE = 0.95
ROUNDING = 1e-12  # relative: what differs by less is the same


class Estimate(NamedTuple):
    """Of n runs: mean, standard deviation and half the confidence interval where all of them got there; else NaN.

    The median is Kaplan and Meier's; where half of the runs or more never got there it is NaN, and larger than `above`.
    """

    n: int
    reached: int
    mean: float
    std: float  # with n - 1 degrees of freedom; NaN of a single run, as is `half`
    half: float
    median: float
    above: float

    @property
    def central(self) -> float:
        """The mean where all runs got there, else the median; NaN where that is not known either."""
        return self.mean if self.reached == self.n else self.median


class Paired(NamedTuple):
    """Differences of n pairs: mean, half the confidence interval, p of the two-sided t-test; NaN where undefined."""

    n: int
    mean: float
    half: float
    p: float
    note: str = ""  # why there is no p


def estimate(values: Floats, bounds: Floats | None = None) -> Estimate:
    """What runs [n] say together.

    Args:
        values: one number a run; NaN where it never got there.
        bounds: what such runs took in all, of which the value is then known to be larger (right-censored); not needed
            where there is none.
    """
    n, reached = len(values), int(np.isfinite(values).sum())
    mean = std = half = math.nan
    if n and n == reached:
        mean = float(values.mean())
    if n > 1 and n == reached:
        std = float(values.std(ddof=1))
        half = _half(std, n)
    median, above = _median(values, values if bounds is None else bounds)
    return Estimate(n, reached, mean, std, half, median, above)


def _half(std: float, n: int) -> float:
    """Half of Student's confidence interval of a mean."""
    from scipy.special import stdtrit

    return float(stdtrit(n - 1, (1 + CONFIDENCE) / 2) * std / math.sqrt(n))


def _median(values: Floats, bounds: Floats) -> tuple[float, float]:
    """Where Kaplan and Meier's estimate of those still under way falls to a half, or else what the median exceeds.

    Where it stays at a half between two values the median is their middle, as of numbers that are all known. The bound
    is the median of what is known at least, which holds whatever the censored runs would have taken.
    """
    if not len(values):
        return math.nan, math.nan
    known = np.isfinite(values)
    least = np.where(known, values, bounds)
    order = np.lexsort((~known, least))  # of equal ones those who got there come first
    ends = known[order]
    left = np.cumprod(1 - ends / np.arange(len(values), 0, -1))
    falls = np.flatnonzero(ends & (left < 0.5 + ROUNDING))
    if falls.size and left[falls[0]] < 0.5 - ROUNDING:
        return float(least[order[falls[0]]]), math.nan
    if falls.size > 1:
        return float(least[order[falls[:2]]].mean()), math.nan
    return math.nan, float(np.median(least))


def paired(reference: Mapping[int, float], run: Mapping[int, float]) -> Paired:
    """Differences run - reference, seed by seed: under one seed both met the same devices, channels and batches.

    Seeds that only one of them has are left out. Where one never got there (NaN) nothing can be said.
    """
    seeds = [seed for seed in reference if seed in run]
    ours, theirs = (np.array([numbers[seed] for seed in seeds], np.float64) for numbers in (run, reference))
    n, difference = len(seeds), ours - theirs
    if not np.isfinite(difference).all():
        return Paired(n, math.nan, math.nan, math.nan, "not reached under every seed")
    if n < 2:
        return Paired(n, float(difference.sum()) if n else math.nan, math.nan, math.nan, "fewer than two common seeds")
    size = float(np.abs([ours, theirs]).max()) or 1.0
    if np.ptp(difference) <= ROUNDING * size:
        same = abs(difference[0]) <= ROUNDING * size
        note = "identical under every seed" if same else "the same difference under every seed"
        return Paired(n, 0.0 if same else float(difference[0]), 0.0, math.nan, note)
    p = metrics.paired_t(theirs / size, ours / size).p
    return Paired(n, float(difference.mean()), _half(float(difference.std(ddof=1)), n), p)


def holm(p: Sequence[float]) -> Floats:
    """p-values [n] of n tests at once, adjusted so that one false alarm among all stays as rare as p says (Holm 1979).

    NaN stays NaN and counts for no test.
    """
    values = np.array(p, np.float64)
    tests = np.flatnonzero(np.isfinite(values))
    order = tests[np.argsort(values[tests], kind="stable")]
    factors = np.arange(len(order), 0, -1)
    values[order] = np.minimum(1.0, np.maximum.accumulate(factors * values[order]))
    return values
