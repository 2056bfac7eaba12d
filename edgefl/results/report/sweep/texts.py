"""Estimates, differences and p-values in a few characters."""

from __future__ import annotations

import math
from collections.abc import Sequence

from edgefl.core.units import NO_NUMBER, Unit, digits, fitting, score, spread
from edgefl.results.report.sweep.measures import SweepMeasure
from edgefl.results.statistics import Paired, SeedEstimate


def estimate_text(estimate: SeedEstimate, measure: SweepMeasure) -> str:
    """Return an estimate such as ``12.4 ± 0.3 s``, ``median 12 s (2 of 3)`` or ``> 15 s (1 of 3)``."""
    if not estimate.n:
        return NO_NUMBER
    if estimate.reached == estimate.n:
        if measure.is_accuracy:
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
    if not measure.is_accuracy:
        return f"{sign(paired.mean)}{_quantity(abs(paired.mean), paired.half, measure.units)}"
    text = f"{sign(paired.mean)}{abs(100 * paired.mean):.2f}"
    if math.isfinite(paired.half):
        text += f" ± {100 * paired.half:.2f}"
    return f"{text} points"


def sign(value: float) -> str:
    """Return a minus sign, which is as wide as a plus, or a plus."""
    return "−" if value < 0 else "+"


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
