"""A comparison as text: tables for terminals and Markdown, one flat table for other programs."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence

from edgefl.results.csv_format import csv_bytes
from edgefl.results.report.comparison import Block, Comparison, learning, notes, overview

Grid = list[list[str]]  # rows of cells; the first row is the head


def formatted(comparison: Comparison, form: str) -> str:
    """Return the comparison in one of the `COMPARISON_FORMATS`."""
    return COMPARISON_FORMATS[form](comparison)


def _grids(comparison: Comparison) -> Iterator[tuple[str, Grid]]:
    """Yield the title and the grid of each table."""
    names = [row["run"] for row in comparison.rows]
    for block in (overview(comparison), *learning(comparison)):
        yield block.title, _grid(block, names)


def _grid(block: Block, names: list[str]) -> Grid:
    """Return a table with the names of the runs in its first column."""
    grid = [["run", *block.head]]
    for name, cells in zip(names, block.body, strict=True):
        grid.append([name, *cells])
    return grid


def _table(comparison: Comparison) -> str:
    """Return tables with aligned columns, for terminals."""
    tables = [f"{title}\n{_aligned(grid)}" for title, grid in _grids(comparison)]
    return _document(tables, comparison)


def _aligned(grid: Grid) -> str:
    """Return a grid as lines: names to the left, all else to the right, so that digits of equal weight line up."""
    columns = zip(*grid, strict=True)
    name_width, *widths = [max(len(cell) for cell in column) for column in columns]
    lines = []
    for name, *cells in grid:
        line = name.ljust(name_width)
        for cell, width in zip(cells, widths, strict=True):
            line += f"  {cell.rjust(width)}"
        lines.append(line)
    return "\n".join(lines)


def _markdown(comparison: Comparison) -> str:
    """Return tables in Markdown."""
    tables = []
    for title, grid in _grids(comparison):
        head, *body = grid
        # Colons align numbers to the right, as in the tables for terminals.
        rule = ["---", *["---:"] * (len(head) - 1)]
        lines = [_markdown_row(row) for row in (head, rule, *body)]
        tables.append(f"**{title}**\n\n" + "\n".join(lines))
    return _document(tables, comparison)


def _markdown_row(cells: Sequence[str]) -> str:
    """Return a row; a bar within a cell, such as in the name of a folder, would begin another cell."""
    escaped = [cell.replace("|", "&#124;") for cell in cells]
    return f"| {' | '.join(escaped)} |"


def _document(tables: list[str], comparison: Comparison) -> str:
    """Return the tables and, below them, the notes on the comparison."""
    parts = list(tables)
    remarks = notes(comparison)
    if remarks:
        parts.append("\n".join(remarks))
    return "\n\n".join(parts) + "\n"


def _csv(comparison: Comparison) -> str:
    """Return one row a run, with numbers as they were computed."""
    # All rows have the same keys, those of targets and sessions that any run has included.
    columns = {key: [row[key] for row in comparison.rows] for key in comparison.rows[0]}
    return csv_bytes(columns).decode()


def _json(comparison: Comparison) -> str:
    """Return a list with an object for each run, with numbers as they were computed."""
    # NaN is no JSON, and strict readers refuse it: rows have null in its place.
    return json.dumps(list(comparison.rows), indent=1, allow_nan=False) + "\n"


COMPARISON_FORMATS: dict[str, Callable[[Comparison], str]] = {
    "table": _table,
    "csv": _csv,
    "json": _json,
    "markdown": _markdown,
}
