"""A comparison as text: tables for terminals and Markdown, one flat table for other programs."""

import json
import textwrap
from collections.abc import Callable, Sequence

from edgefl.results.csv_format import spreadsheet_bytes
from edgefl.results.report.comparison import error_margins
from edgefl.results.report.comparison.comparison import Comparison
from edgefl.results.report.comparison.comparison_tables import Block, accuracy_blocks, notes, overview, updates_block

TextRows = list[list[str]]  # rows of text; the first row is the head
LINE_WIDTH = 120  # of sentences


def formatted(comparison: Comparison, form: str) -> str:
    """Return the comparison in one of the `COMPARISON_FORMATS`."""
    return COMPARISON_FORMATS[form](comparison)


def _titled_cells(comparison: Comparison) -> list[tuple[str, TextRows]]:
    blocks = [overview(comparison), updates_block(comparison), *accuracy_blocks(comparison)]
    return [(block.title, _with_names(block, comparison.names)) for block in blocks if block is not None]


def _with_names(block: Block, names: Sequence[str]) -> TextRows:
    cells = [["run", *block.head]]
    for name, row in zip(names, block.body, strict=True):
        cells.append([name, *row])
    return cells


def _sentences(comparison: Comparison) -> dict[str, Sequence[str]]:
    """Return sentences by their titles, without empty lists of them."""
    titled = {"Why": comparison.why, error_margins.TITLE: comparison.margins}
    return {title: sentences for title, sentences in titled.items() if sentences}


def _table(comparison: Comparison) -> str:
    parts = [f"{title}\n{aligned(cells)}" for title, cells in _titled_cells(comparison)]
    for title, sentences in _sentences(comparison).items():
        parts.append("\n".join([title, *(textwrap.fill(sentence, LINE_WIDTH) for sentence in sentences)]))
    return _joined(parts, comparison)


def aligned(rows: TextRows, left: int = 1) -> str:
    """Return a table with its first columns aligned to the left, all others to the right, where digits line up."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = []
    for row in rows:
        cells = []
        for place, (cell, width) in enumerate(zip(row, widths, strict=True)):
            cells.append(cell.ljust(width) if place < left else cell.rjust(width))
        lines.append("  ".join(cells))
    return "\n".join(lines)


def _markdown(comparison: Comparison) -> str:
    parts = []
    for title, cells in _titled_cells(comparison):
        head, *body = cells
        # A colon on the right aligns numbers to the right, as in the tables for terminals.
        alignment = ["---", *["---:"] * (len(head) - 1)]
        lines = [_markdown_row(row) for row in (head, alignment, *body)]
        parts.append(f"**{title}**\n\n" + "\n".join(lines))
    for title, sentences in _sentences(comparison).items():
        parts.append(f"**{title}**\n\n" + "\n".join(f"- {sentence}" for sentence in sentences))
    return _joined(parts, comparison)


def _markdown_row(row: list[str]) -> str:
    """Return a row of a Markdown table; a bar in a name would end its cell."""
    cells = [cell.replace("|", "&#124;") for cell in row]
    return f"| {' | '.join(cells)} |"


def _joined(parts: list[str], comparison: Comparison) -> str:
    lines = notes(comparison)
    if lines:
        parts = [*parts, "\n".join(lines)]
    return "\n\n".join(parts) + "\n"


def _csv(comparison: Comparison) -> str:
    columns = {}
    for key in comparison.rows[0]:
        columns[key] = [row[key] for row in comparison.rows]
    return spreadsheet_bytes(columns).decode()


def _json(comparison: Comparison) -> str:
    # JSON has no NaN: an unknown number is None in the rows.
    return json.dumps(list(comparison.rows), indent=1, allow_nan=False) + "\n"


COMPARISON_FORMATS: dict[str, Callable[[Comparison], str]] = {
    "table": _table,
    "csv": _csv,
    "json": _json,
    "markdown": _markdown,
}
