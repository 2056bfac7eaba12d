"""What a study leaves for people: the comparison as CSV."""

from __future__ import annotations

from pathlib import Path

from edgefl.core.files import write_atomically
from edgefl.reproductions.comparison import Cell, Comparison
from edgefl.results.csv_format import csv_bytes

COMPARISON = "comparison.csv"


def write(comparison: Comparison, folder: Path) -> list[Path]:
    """Write a comparison into a folder; return the files.

    Raises:
        OSError: they cannot be written.
    """
    path = folder / COMPARISON
    write_atomically(path, as_csv(comparison))
    return [path]


def as_csv(comparison: Comparison) -> bytes:
    """Return a comparison as CSV, one line for each cell."""
    cells = comparison.cells
    columns: dict[str, list[object]] = {}
    for name in dict.fromkeys(name for cell in cells for name in cell.row):
        columns[name] = [cell.row.get(name) for cell in cells]
    columns["column"] = [cell.column for cell in cells]
    columns["measure"] = [cell.measure for cell in cells]
    columns["published"] = [cell.published.text if cell.published else None for cell in cells]
    columns["mean"] = [_mean(cell) for cell in cells]
    columns["std"] = [cell.std for cell in cells]
    for seed in comparison.seeds:
        columns[f"seed_{seed}"] = [cell.by_seed[seed].text if seed in cell.by_seed else None for cell in cells]
    columns["difference"] = [cell.difference for cell in cells]
    columns["relative_difference"] = [cell.relative for cell in cells]
    columns["within"] = [cell.within for cell in cells]
    return csv_bytes(columns)


def _mean(cell: Cell) -> str | float | None:
    """Return the mean, with > before a bound."""
    if cell.mean is None or not cell.bound:
        return cell.mean
    return f">{cell.mean:.12g}"
