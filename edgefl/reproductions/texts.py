"""The numbers of a comparison as short texts, for the terminal and for pages."""

import math
from collections.abc import Mapping, Sequence

from edgefl.reproductions.comparison import Cell, Comparison, Order
from edgefl.reproductions.recipe import Tolerance

LARGEST_RELATIVE = 100.0  # larger differences, relative to the printed number, are told only in its unit
DIVERGED = "diverged"
MINUS = "−"
MISPRINTED = "†"  # after a printed text that cannot be what was measured
MOST_DECIMALS = 6


def number_text(number: float) -> str:
    """Return a measured number in five digits, more than tables print."""
    return f"{number:.5g}"


def mean_text(cell: Cell) -> str:
    """Return the mean of a cell's seeds with their standard deviation, with > before a bound, or how many diverged."""
    if cell.diverged:
        return _divergence_text(cell)
    if cell.mean is None:
        return ""
    if cell.bound:
        return f">{number_text(cell.mean)}"
    if not cell.std:  # a single seed, or seeds that agree
        return number_text(cell.mean)
    # Two digits of the deviation; more digits of the mean are noise.
    decimals = 1 - math.floor(math.log10(cell.std))
    if decimals > MOST_DECIMALS:
        return f"{number_text(cell.mean)} ± {cell.std:.2g}"
    decimals = max(decimals, 0)
    return f"{cell.mean:.{decimals}f} ± {cell.std:.{decimals}f}"


def _divergence_text(cell: Cell) -> str:
    seeds = len(cell.diverged) + len(cell.by_seed)
    if len(cell.diverged) == seeds:
        return DIVERGED
    return f"{len(cell.diverged)} of {seeds} {DIVERGED}"


def seed_text(cell: Cell, seed: int) -> str:
    """Return the number of a seed; empty if it was not measured."""
    if seed in cell.diverged:
        return DIVERGED
    if seed in cell.by_seed:
        return cell.by_seed[seed].text
    return ""


def published_text(cell: Cell) -> str:
    """Return the text that is printed in a cell; empty if none is."""
    if cell.published is None:
        return ""
    text = cell.published.text
    if cell.asked or cell.is_misprint:
        text = text.partition("|")[0]  # the speed-up after the bar follows from the number
    return text.replace("±", " ± ") + MISPRINTED * cell.is_misprint


def seeds_text(cell: Cell, seeds: Sequence[int]) -> str:
    """Return the numbers of the seeds in their order."""
    texts = [seed_text(cell, seed) for seed in seeds]
    return ", ".join(text for text in texts if text)


def difference_text(cell: Cell) -> str:
    """Return the difference in the unit of the table, and relative to the printed number; empty if unknown."""
    if cell.difference is None:
        return ""
    text = f"{cell.difference:+.3g}"
    # A p value of 1e-9 instead of 1e-200 would be an unreadable percentage.
    if cell.relative is not None and abs(cell.relative) < LARGEST_RELATIVE:
        text = f"{text} ({100 * cell.relative:+.1f} %)"
    return text.replace("-", MINUS)


def tolerance_text(tolerance: Tolerance) -> str:
    """Return a tolerance in a few words."""
    parts = []
    if tolerance.relative is not None:
        parts.append(f"{100 * tolerance.relative:g} % of the printed number")
    if tolerance.absolute is not None:
        parts.append(f"{tolerance.absolute:g} in the printed unit")
    if tolerance.of_error is not None:
        parts.append(f"{100 * tolerance.of_error:g} % of what the printed number lacks to 100")
    if tolerance.deviations is not None:
        parts.append(f"{tolerance.deviations:g} printed standard deviations")
    if tolerance.trials is not None:
        parts.append(f"three standard deviations of a share of {tolerance.trials:,} trials")
    if tolerance.orders:
        parts.append("the order of columns")
    for measure, one in tolerance.by_measure.items():
        parts.append(f"{measure}: {tolerance_text(one)}")
    return ", ".join(parts)


def place_text(names: Sequence[str], row: Mapping[str, str]) -> str:
    """Return the labels of a row in the columns `names`."""
    return ", ".join(row[name] for name in names if row.get(name))


def within_text(comparison: Comparison) -> str:
    """Return how many of the compared independent numbers are within tolerance; empty if none was compared."""
    inside, compared = comparison.counts()
    if not compared:
        return ""
    return f"{inside} of {compared}"


def verdict_text(cell: Cell) -> str:
    """Return a word about a cell: outside tolerance, or misprinted; empty for others."""
    if cell.is_misprint:
        return "misprinted"
    return "outside" if cell.within is False else ""


def order_text(order: Order) -> str:
    """Return whether an order holds, and whether only because a run diverged."""
    if order.by_divergence:
        return "holds trivially, as a run diverged"
    return {True: "holds", False: "does not hold", None: "not known yet"}[order.holds]


def state_notes(comparison: Comparison) -> list[str]:
    """Return what limits the worth of a state: orders that hold as a run diverged, a fitted reading, no evidence."""
    notes = []
    if comparison.holds and any(order.by_divergence for order in comparison.orders):
        notes.append("in part as a run diverged")
    if comparison.reading is not None and any(cell.within is not None for cell in comparison.cells):
        notes.append("reading: fitted")
    if comparison.no_evidence is not None and any(cell.within is not None for cell in comparison.cells):
        notes.append("no evidence")
    return notes


def state_with_notes(comparison: Comparison) -> str:
    """Return the state with its notes."""
    return ", ".join([comparison.state_text, *state_notes(comparison)])


def last_day(comparison: Comparison) -> str:
    """Return the last day on which a run was measured; `earlier` if rows have no date, empty without rows."""
    rows = [*comparison.rows, *comparison.diverged]
    if not rows:
        return ""
    return max(row.origin.get("date", "") for row in rows) or "earlier"
