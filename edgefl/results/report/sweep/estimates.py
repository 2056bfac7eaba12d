"""Estimates of each measure at each point: over seeds, and against the best point."""

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from edgefl.core.arrays import Floats
from edgefl.core.errors import InputError
from edgefl.records.quantities import SHORT_NAMES
from edgefl.results import statistics
from edgefl.results.participation import MOST_LOST
from edgefl.results.report.sweep.asked import NO_TARGET
from edgefl.results.report.sweep.measures import RECEIVED, Goal, SweepMeasure, goals, measures
from edgefl.results.report.sweep.selection import split
from edgefl.results.report.sweep.study import Study
from edgefl.results.statistics import FEWEST_FOR_INTERVAL, Paired, SeedEstimate
from edgefl.results.targets import target_of

SIGNIFICANCE_LEVEL = 0.05


class EstimateColumn(NamedTuple):
    """A measure at all points [points].

    `against` and `p` compare each point with the best one: paired differences, and p-values adjusted after Holm. Both
    are empty where no point is the best.
    """

    measure: SweepMeasure
    estimates: Sequence[SeedEstimate]
    best: int | None
    against: Sequence[Paired]
    p: Sequence[float]


def estimate_columns(study: Study) -> dict[str, EstimateColumn]:
    """Return the estimates of all measures, by the measure's name."""
    return {measure.name: _column(study, measure) for measure in measures(study)}


def first_goal(columns: Mapping[str, EstimateColumn], every_goal: Sequence[Goal]) -> int:
    """Return the goal that is shown first: the highest target that most points have reached, else the whole run."""
    whole_run = len(every_goal) - 1
    for number in reversed(range(whole_run)):
        estimates = columns[every_goal[number].time].estimates
        # A target that few points reached would fill charts with missing points.
        reached = sum(bool(np.isfinite(estimate.central)) for estimate in estimates)
        if 2 * reached > len(estimates):
            return number
    return whole_run


def chosen_goal(study: Study, columns: Mapping[str, EstimateColumn], target: str | None) -> Goal:
    """Return the goal that a user names, which the study was asked for, by default the first one of the page."""
    every = goals(study)
    if target is None:
        return every[first_goal(columns, every)]
    if target == NO_TARGET:
        return every[-1]
    return every[study.targets.index(target_of(target).name)]


def chosen_measures(
    columns: Mapping[str, EstimateColumn], goal: Goal, names: Sequence[str], default: Sequence[str]
) -> list[SweepMeasure]:
    """Return the measures that a user names: time, energy, rounds, accuracy, received, wasted, or columns of the index.

    Without names those of the default that the sweep has.

    Raises:
        InputError: the sweep has no such measure.
    """
    rounds = "rounds"
    if goal.target:
        rounds = goal.time.replace("time_s", "round")
    words = SHORT_NAMES | {"time": goal.time, "energy": goal.energy, "rounds": rounds}
    if not names:
        return [columns[words.get(name, name)].measure for name in default if words.get(name, name) in columns]
    chosen = []
    for name in split(names):
        column = words.get(name, name)
        if column not in columns:
            known = [word for word, own in words.items() if own in columns]
            raise InputError(
                f"--measure {name}: is not a measure of the sweep: use one of {', '.join([*known, *columns])}"
            )
        chosen.append(columns[column].measure)
    return chosen


def updates_are_lost(columns: Mapping[str, EstimateColumn]) -> bool:
    """Return whether so many updates were lost at any point that a page begins with them."""
    if RECEIVED not in columns:
        return False
    return any(estimate.mean < 1 - MOST_LOST for estimate in columns[RECEIVED].estimates)


def more_columns(columns: Mapping[str, EstimateColumn]) -> list[str]:
    """Return the measures of whole runs that only some runs have, and that differ between points."""
    found = []
    for name, column in columns.items():
        values = {estimate.central for estimate in column.estimates if estimate.n}
        if column.measure.optional and len(values) > 1:
            found.append(name)
    return found


def values_by_seed(study: Study, measure: SweepMeasure, point: int) -> dict[int, float]:
    """Return a measure of a point's finished runs, by seed; NaN for a run that missed the target."""
    seeds = study.numbers["seed"]
    values = study.numbers[measure.name]
    return {int(seeds[row]): float(values[row]) for row in study.finished_rows[point]}


def runs_shown(study: Study, column: EstimateColumn, point: int) -> Floats:
    """Return the values of a point's few runs; many have an interval, and one is its own mean."""
    values = np.array(list(values_by_seed(study, column.measure, point).values()), np.float64)
    known = values[np.isfinite(values)]
    if column.estimates[point].n >= FEWEST_FOR_INTERVAL or len(known) < 2:
        return known[:0]
    return known


def _column(study: Study, measure: SweepMeasure) -> EstimateColumn:
    estimates = [_estimate(study, measure, rows) for rows in study.finished_rows]
    best = None
    # Where more is better, a run without a value has passed all that have one.
    passed = measure.higher_is_better and any(estimate.reached < estimate.n for estimate in estimates)
    if measure.has_best and not passed:
        best = _best_point(estimates, higher_is_better=measure.higher_is_better)
    if best is None:
        return EstimateColumn(measure, estimates, None, [], [])
    # Under one seed all points meet the same devices, channels and batches (common random numbers), so that the
    # difference of two points varies far less than either of them.
    reference = values_by_seed(study, measure, best)
    against = [
        statistics.paired(reference, values_by_seed(study, measure, point)) for point in range(len(study.points))
    ]
    # The best point against itself is not a test: it must not count in Holm's correction.
    tested = [paired.p for paired in against]
    tested[best] = math.nan
    return EstimateColumn(measure, estimates, best, against, statistics.holm(tested).tolist())


def _estimate(study: Study, measure: SweepMeasure, rows: Sequence[int]) -> SeedEstimate:
    values = study.numbers[measure.name]
    if measure.bound:
        # A run that missed the target is right-censored: it would have taken longer than the whole run did.
        bounds = study.numbers[measure.bound]
        return statistics.estimate(values[rows], bounds[rows])
    # Without a bound an empty cell is a number that was not measured, not one that is larger than some other.
    measured = [row for row in rows if np.isfinite(values[row])]
    return statistics.estimate(values[measured], values[measured])


def _best_point(estimates: Sequence[SeedEstimate], *, higher_is_better: bool) -> int | None:
    """Return the point with the best mean, or the best median where no point reached the target under every seed.

    None where there is nothing to choose: one point, no known number, or the same number everywhere.
    """
    known = [point for point, estimate in enumerate(estimates) if np.isfinite(estimate.central)]
    # A median of the runs that were quick enough would beat the mean of a point that always gets there.
    complete = [point for point in known if estimates[point].reached == estimates[point].n]
    centrals = {point: estimates[point].central for point in complete or known}
    if len(estimates) < 2 or not centrals:
        return None
    all_equal = len(centrals) > 1 and len(set(centrals.values())) == 1
    if all_equal:
        return None
    if higher_is_better:
        return max(centrals, key=lambda point: centrals[point])
    return min(centrals, key=lambda point: centrals[point])
