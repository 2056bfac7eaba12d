"""The numbers of a comparison as short texts, the same in the terminal, on pages and in documents."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from edgefl.reproductions.comparison import Cell, Comparison
from edgefl.reproductions.recipe import Tolerance

LARGEST_RELATIVE = 100.0  # differences beyond this many times the printed number are told in its unit alone
DIVERGED = "diverged"
MINUS = "−"
MOST_DECIMALS = 6


def number_text(number: float) -> str:
    """Return a measured number in five digits, which is more than tables print."""
    return f"{number:.5g}"


def mean_text(cell: Cell) -> str:
    """Return the mean of a cell's seeds with their standard deviation, with > before a bound; empty if not measured.

    Where a run diverged there is no mean: the text says so.
    """
    if cell.diverged:
        return _divergence_text(cell)
    if cell.mean is None:
        return ""
    if cell.bound:
        return f">{number_text(cell.mean)}"
    if not cell.std:  # a single seed, or seeds that agree
        return number_text(cell.mean)
    # Two digits of the deviation; more digits of the mean than that would pretend to be known.
    decimals = 1 - math.floor(math.log10(cell.std))
    if decimals > MOST_DECIMALS:
        return f"{number_text(cell.mean)} ± {cell.std:.2g}"
    decimals = max(decimals, 0)
    return f"{cell.mean:.{decimals}f} ± {cell.std:.{decimals}f}"


def _divergence_text(cell: Cell) -> str:
    """Return how many of a cell's seeds diverged."""
    seeds = len(cell.diverged) + len(cell.by_seed)
    if len(cell.diverged) == seeds:
        return DIVERGED
    return f"{len(cell.diverged)} of {seeds} {DIVERGED}"


def seed_text(cell: Cell, seed: int) -> str:
    """Return what a seed has given; empty if it has not been measured."""
    if seed in cell.diverged:
        return DIVERGED
    if seed in cell.by_seed:
        return cell.by_seed[seed].text
    return ""


def published_text(cell: Cell) -> str:
    """Return what is printed in a cell, as it is printed; empty if nothing is."""
    if cell.published is None:
        return ""
    text = cell.published.text
    if cell.asked:
        text = text.partition("|")[0]  # behind the bar stands a speed-up, which follows from the number
    return text.replace("±", " ± ")


def seeds_text(cell: Cell, seeds: Sequence[int]) -> str:
    """Return what each seed has given, in the order of the seeds."""
    texts = [seed_text(cell, seed) for seed in seeds]
    return ", ".join(text for text in texts if text)


def difference_text(cell: Cell) -> str:
    """Return the difference in the unit of the table, and as a part of what is printed; empty if it is not known."""
    if cell.difference is None:
        return ""
    text = f"{cell.difference:+.3g}"
    # A p value of 1e-9 where 1e-200 is printed is no percentage that anybody could read.
    if cell.relative is not None and abs(cell.relative) < LARGEST_RELATIVE:
        text = f"{text} ({100 * cell.relative:+.1f} %)"
    return text.replace("-", MINUS)


def tolerance_text(tolerance: Tolerance) -> str:
    """Return what a tolerance asks for, in a few words."""
    parts = []
    if tolerance.relative is not None:
        parts.append(f"{100 * tolerance.relative:g} % of the printed number")
    if tolerance.absolute is not None:
        parts.append(f"{tolerance.absolute:g} in the printed unit")
    if tolerance.trials is not None:
        parts.append(f"three standard deviations of a share of {tolerance.trials:,} trials")
    if tolerance.orders:
        parts.append("the order of columns")
    for measure, one in tolerance.by_measure.items():
        parts.append(f"{measure}: {tolerance_text(one)}")
    return ", ".join(parts)


def place_text(names: Sequence[str], row: Mapping[str, str]) -> str:
    """Return where a row stands: its values of the columns `names` that it has."""
    return ", ".join(row[name] for name in names if row.get(name))


def within_text(comparison: Comparison) -> str:
    """Return how many of the compared cells are within tolerance; empty where none was compared."""
    inside, compared = comparison.counts()
    if not compared:
        return ""
    return f"{inside} of {compared}"


def last_day(comparison: Comparison) -> str:
    """Return the last day on which a run was measured; `earlier` where rows do not say it, empty without rows."""
    rows = [*comparison.rows, *comparison.diverged]
    if not rows:
        return ""
    return max(row.origin.get("date", "") for row in rows) or "earlier"
