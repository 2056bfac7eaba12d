"""A comparison as text: tables for terminals and Markdown, one flat table for other programs."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator

from edgefl.results.csv_format import csv_bytes
from edgefl.results.report.comparison import Block, Comparison, learning, notes, overview


def formatted(comparison: Comparison, form: str) -> str:
    """The comparison in one of the `COMPARISON_FORMATS`."""
    return COMPARISON_FORMATS[form](comparison)


def _grids(comparison: Comparison) -> Iterator[tuple[str, list[list[str]]]]:
    """Titles and grids of cells; the first row of a grid is its head."""
    names = [row["run"] for row in comparison.rows]
    for block in (overview(comparison), *learning(comparison)):
        yield block.title, _grid(block, names)


def _grid(block: Block, names: list[str]) -> list[list[str]]:
    rows = ([name, *cells] for name, cells in zip(names, block.body, strict=True))
    return [["run", *block.head], *rows]


def _table(comparison: Comparison) -> str:
    """Aligned columns, block after block."""
    parts = [f"{title}\n{_aligned(grid)}" for title, grid in _grids(comparison)]
    return "\n\n".join([*parts, *_remarks(comparison)]) + "\n"


def _aligned(grid: list[list[str]]) -> str:
    """Names to the left, the rest to the right."""
    widths = [max(map(len, column)) for column in zip(*grid, strict=True)]
    lines = []
    for name, *cells in grid:
        right = "".join(f"  {cell:>{width}}" for cell, width in zip(cells, widths[1:], strict=True))
        lines.append(f"{name:<{widths[0]}}{right}")
    return "\n".join(lines)


def _markdown(comparison: Comparison) -> str:
    parts = []
    for title, (head, *body) in _grids(comparison):
        rule = ["---", *["---:"] * (len(head) - 1)]
        lines = [f"| {' | '.join(cell.replace('|', '&#124;') for cell in row)} |" for row in (head, rule, *body)]
        parts.append(f"**{title}**\n\n" + "\n".join(lines))
    return "\n\n".join([*parts, *_remarks(comparison)]) + "\n"


def _remarks(comparison: Comparison) -> list[str]:
    lines = notes(comparison)
    return ["\n".join(lines)] if lines else []


def _csv(comparison: Comparison) -> str:
    return csv_bytes({key: [row[key] for row in comparison.rows] for key in comparison.rows[0]}).decode()


def _json(comparison: Comparison) -> str:
    return json.dumps(list(comparison.rows), indent=1, allow_nan=False) + "\n"


COMPARISON_FORMATS: dict[str, Callable[[Comparison], str]] = {
    "table": _table,
    "csv": _csv,
    "json": _json,
    "markdown": _markdown,
}
