"""The table of a comparison for a paper, in LaTeX."""

from collections.abc import Callable

from edgefl.reproductions.comparison import Cell, Comparison
from edgefl.reproductions.texts import mean_text, published_text
from edgefl.results.export.dialects import Cell as TextCell
from edgefl.results.export.dialects import TextColumn, latex

NOTE = "Mean and standard deviation over seeds. >T: not reached within T."
RowKey = tuple[tuple[str, str], ...]


def as_latex(comparison: Comparison) -> str:
    """Return a tabular with a pair of columns, published and measured, for each printed column."""
    rows = by_row(comparison)
    columns = labels(comparison, list(rows))
    for name in dict.fromkeys(cell.column for cell in comparison.cells):
        found = [of_row.get(name) for of_row in rows.values()]
        published = [_text_cell(cell, published_text) for cell in found]
        measured = [_text_cell(cell, mean_text) for cell in found]
        if any(cell.text for cell in published):
            columns.append(TextColumn(name, "published", published))
        columns.append(TextColumn(name, "measured", measured))
    return latex(columns, NOTE)


def _text_cell(cell: Cell | None, text_of: Callable[[Cell], str]) -> TextCell:
    """Return a cell's text; nothing where a row has no cell, as not every printed one has one in every column."""
    if cell is None:
        return TextCell("")
    return TextCell(text_of(cell))


def by_row(comparison: Comparison) -> dict[RowKey, dict[str, Cell]]:
    """Return the cells of each row by their columns."""
    rows: dict[RowKey, dict[str, Cell]] = {}
    for cell in comparison.cells:
        rows.setdefault(tuple(cell.row.items()), {})[cell.column] = cell
    return rows


def labels(comparison: Comparison, rows: list[RowKey]) -> list[TextColumn]:
    """Return the columns that name the rows."""
    columns = []
    for name in comparison.row_names:
        cells = [TextCell(dict(row).get(name, "")) for row in rows]
        columns.append(TextColumn("", name, cells, left=True))
    return columns
