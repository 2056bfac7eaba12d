"""Measures of a sweep, which are columns of ``index.csv``, the goals of the page, and estimates as texts."""

import math
from collections.abc import Sequence
from typing import NamedTuple

from edgefl.core.units import NO_NUMBER, Unit, digits, fitting, score, spread
from edgefl.records.quantities import QUANTITIES, Quantity
from edgefl.results.report.sweep.study import Study
from edgefl.results.statistics import Paired, SeedEstimate
from edgefl.results.targets import target_of

RECEIVED = "received_share"  # of the updates
WASTED = "wasted_j"
FINAL_ACCURACY = "final_accuracy"
SPREAD = ("jain_index", "mean_age_rounds")  # of participation
ACCURACIES = (FINAL_ACCURACY, "best_accuracy")


WHOLE_RUN = ("time_s", "energy_j")  # the measures of a goal without a target


class SweepMeasure(NamedTuple):
    """A column of ``index.csv``.

    `bound` names another column: a run without a value, such as one that missed a target, would have exceeded what it
    has there. Empty for measures that every finished run has.
    """

    name: str
    title: str
    units: Sequence[Unit]
    bound: str = ""
    is_share: bool = False  # a fraction, shown in percent
    higher_is_better: bool = False  # whether the best point is the one with the highest value
    has_best: bool = True  # whether more or less is better
    optional: bool = False  # whether only some runs have it


class Goal(NamedTuple):
    """A target accuracy, or the whole run, with the names of the measures of its time and energy."""

    title: str  # "to 90 %"
    target: str  # "90 %"; empty for the whole run
    time: str
    energy: str


def goals(study: Study) -> list[Goal]:
    """Return the targets, lowest first, then the whole run."""
    every = []
    for name in study.targets:
        target = target_of(name).title
        every.append(Goal(f"to {target}", target, f"target_{name}_time_s", f"target_{name}_energy_j"))
    every.append(Goal(study.span, "", *WHOLE_RUN))
    return every


def measures(study: Study) -> list[SweepMeasure]:
    """Return the measures that the sweep has: those of targets, then the totals, then the accuracies."""
    every = []
    # Only some sweeps have all.
    known = [one for one in study.quantities if one.name in study.numbers and not one.end_of]
    for name in study.targets:
        for cost in known:
            if cost.at_target:
                column = f"target_{name}_{cost.at_target}"
                every.append(SweepMeasure(column, f"{cost.title} to {target_of(name).title}", cost.units, cost.name))
    of_run = [_measure(one) for one in known if study.has_accuracy or one.name not in ACCURACIES]
    return every + of_run


def _measure(of: Quantity) -> SweepMeasure:
    return SweepMeasure(
        of.name,
        of.title,
        of.units,
        of.bound,
        is_share=of.is_share,
        higher_is_better=of.better == "more",
        has_best=bool(of.better or of.at_target),
        optional=bool(of.when) or of.name not in QUANTITIES,
    )


def measure_title(measure: SweepMeasure, goal: Goal) -> str:
    """Return a measure in words, with its goal: ``time to 90 %``, ``energy of the whole run``."""
    if goal.target or measure.name not in {goal.time, goal.energy}:
        return measure.title
    return f"{measure.title} of {goal.title}"


# Texts


def estimate_text(estimate: SeedEstimate, measure: SweepMeasure) -> str:
    """Return an estimate such as ``12.4 ± 0.3 s``, ``median 12 s (2 of 3)`` or ``> 15 s (1 of 3)``."""
    if not estimate.n:
        return NO_NUMBER
    if estimate.reached == estimate.n:
        if measure.is_share:
            return spread(estimate.mean, estimate.half) if math.isfinite(estimate.half) else score(estimate.mean)
        return _quantity(estimate.mean, estimate.half, measure.units)
    seeds = f"({estimate.reached} of {estimate.n})"
    if math.isfinite(estimate.median):
        return f"median {_quantity(estimate.median, math.nan, measure.units)} {seeds}"
    return f"> {_quantity(estimate.above, math.nan, measure.units)} {seeds}"


def difference_text(paired: Paired, measure: SweepMeasure) -> str:
    """Return a paired difference with its sign: ``+3.2 ± 0.4 s``; of accuracies in percentage points."""
    if not math.isfinite(paired.mean):
        return NO_NUMBER
    if not measure.is_share:
        return f"{sign(paired.mean)}{_quantity(abs(paired.mean), paired.half, measure.units)}"
    text = f"{sign(paired.mean)}{abs(100 * paired.mean):.2f}"
    if math.isfinite(paired.half):
        text += f" ± {100 * paired.half:.2f}"
    return f"{text} points"


def sign(value: float) -> str:
    """Return a minus sign, which is as wide as a plus, or a plus."""
    if value < 0:
        return "−"
    return "+"


def p_text(p: float) -> str:
    """Return a p-value such as ``p = 0.003``."""
    if p < 0.001:
        return "p < 0.001"
    return f"p = {digits(p)}"


def _quantity(value: float, half: float, units: Sequence[Unit]) -> str:
    """Return a quantity, and half of its interval to two digits in the same unit unless that is NaN."""
    if not math.isfinite(half):
        unit = fitting(abs(value), units)
        return f"{digits(value / unit.size)} {unit.name}".rstrip()
    # An interval wider than its mean would not fit the mean's unit.
    unit = fitting(max(abs(value), half), units)
    two_digits = float(f"{half / unit.size:.2g}")
    return f"{digits(value / unit.size)} ± {digits(two_digits)} {unit.name}".rstrip()
