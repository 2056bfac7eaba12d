"""Curves over several seeds: their mean, and a confidence band where there are enough of them."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from edgefl.core.arrays import Floats
from edgefl.results import statistics

MOST_PLACES = 60  # of a curve on the horizontal axis


class SeedBand(NamedTuple):
    """Curves of several runs at places `x` [n]: their mean [n], and each of them, `runs` [runs, n].

    `half` is half of the mean's confidence interval [n]; None of fewer runs than an interval on a chart needs.
    """

    x: Floats
    mean: Floats
    half: Floats | None
    runs: Floats


def seed_band(runs: Sequence[tuple[Floats, Floats]], *, whole: bool = False) -> SeedBand | None:
    """Return mean and spread over runs, each given as places [rounds] and values [rounds], NaN where not tested.

    At any moment a run has the value that was measured last. The band begins when all runs have one and ends with the
    first run that ends, so that all of it is over the same runs. None where there is no such stretch. Places such as
    rounds are ``whole`` numbers.
    """
    steps = []
    for places, values in runs:
        tested = np.isfinite(values)
        if not tested.any():
            return None
        steps.append((places[tested], values[tested]))
    if not steps:
        return None
    # Outside of this stretch some runs have no value; a mean over the others would jump where a run joins or leaves.
    first = max(places[0] for places, _ in steps)
    last = min(places[-1] for places, _ in steps)
    if first > last:
        return None
    x = np.unique(np.linspace(first, last, MOST_PLACES))  # a single place where the two are the same
    if whole:
        x = np.unique(x.round())
    last_values = []
    for places, values in steps:
        # A model stays as good as it was tested last: the curve is a staircase, not a line between two tests.
        last_tested = np.searchsorted(places, x, side="right") - 1
        last_values.append(values[last_tested])
    by_run = np.array(last_values)
    half = None
    if len(by_run) >= statistics.FEWEST_FOR_INTERVAL:
        half = np.array([statistics.estimate(over_runs).half for over_runs in by_run.T])
    return SeedBand(x, by_run.mean(axis=0), half, by_run)
