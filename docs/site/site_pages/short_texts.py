"""Tolerances and differences in a word or two, for the tables of the overview."""

from collections.abc import Callable, Sequence

from edgefl.reproductions.comparison import Comparison
from edgefl.reproductions.recipe import Tolerance

LARGEST_WHOLE = 100_000


def short_tolerance(tolerance: Tolerance | None) -> str:
    """Return the limits of numbers in one or two words, without the measures' names; empty if none is limited."""
    if tolerance is None:
        return ""
    parts = [_short_limits(one) for one in (tolerance, *tolerance.by_measure.values()) if one.asks_numbers]
    return ", ".join(dict.fromkeys(parts))


def _short_limits(tolerance: Tolerance) -> str:
    parts = []
    if tolerance.relative is not None:
        parts.append(f"{100 * tolerance.relative:g} %")
    if tolerance.absolute is not None:
        parts.append(f"{tolerance.absolute:g}")
    if tolerance.of_error is not None:
        parts.append(f"{100 * tolerance.of_error:g} % of the error")
    if tolerance.deviations is not None:
        parts.append(f"{tolerance.deviations:g} σ printed")
    if tolerance.trials is not None:
        parts.append(f"3 σ of {tolerance.trials:,} trials")
    return " and ".join(parts)


def difference_of(comparison: Comparison, statistic: Callable[[Sequence[float]], float]) -> str:
    """Return a statistic of the absolute differences of all compared numbers; empty if none was compared.

    It is in per cent of the printed number if the tolerance is relative, at least in part, and in its unit otherwise.
    """
    if not comparison.counts()[1]:
        return ""
    compared = [cell for cell in comparison.cells if cell.within is not None and cell.difference is not None]
    if comparison.tolerance is not None and _is_relative(comparison.tolerance):
        per_cent = [100 * abs(cell.relative) for cell in compared if cell.relative is not None]
        return f"{_two_digits(statistic(per_cent))} %" if per_cent else ""
    found = [abs(cell.difference) for cell in compared if cell.difference is not None]
    return _two_digits(statistic(found)) if found else ""


def _two_digits(number: float) -> str:
    """Return a number with two digits, without an exponent where it would be a whole number of a few digits."""
    if 100 <= number < LARGEST_WHOLE:
        return f"{number:.0f}"
    return f"{number:.2g}"


def _is_relative(tolerance: Tolerance) -> bool:
    """Return whether a tolerance is relative to the printed number, for some measure."""
    return any(one.relative is not None for one in (tolerance, *tolerance.by_measure.values()))
