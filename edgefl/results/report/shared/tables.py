"""Tables as HTML; every text that comes from a file is escaped."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from html import escape

from edgefl.core.units import NO_NUMBER, digits
from edgefl.results.report.shared.style import StyledRun, on_page, prose

NOT_REACHED = "not reached"
CSS_LINES = {"solid": "solid", "dot": "dotted"}  # of Plotly's dashes; all others are dashed


def table(head: Sequence[str], body: Iterable[Sequence[str]], css_class: str, caption: str = "") -> str:
    """Return a table as HTML. Its cells are HTML already; the first cell of each row is the row's heading.

    The caption is read aloud, not seen: a title stands above each table already.
    """
    rows = "".join(_table_row(cells) for cells in body)
    table_head = ""  # a table of facts needs no titles
    if head:
        table_head = f"<thead><tr>{_column_titles(head)}</tr></thead>"
    name = ""
    if caption:
        name = f'<caption class="unseen">{escape(caption)}</caption>'
    return f'<div class="scroll"><table class="{css_class}">{name}{table_head}<tbody>{rows}</tbody></table></div>'


def _column_titles(head: Sequence[str]) -> str:
    titles = ""
    for cell in head:
        if cell:
            titles += f'<th scope="col">{cell}</th>'
        else:  # a column without a title is not headed by nothing
            titles += "<td></td>"
    return titles


def _table_row(cells: Sequence[str]) -> str:
    heading, *rest = cells
    data = "".join(f"<td>{cell}</td>" for cell in rest)
    return f'<tr><th scope="row">{heading}</th>{data}</tr>'


def swatch(run: StyledRun) -> str:
    """Return a short line in the run's colour and dash, and its label."""
    line = CSS_LINES.get(run.dash, "dashed")
    return f'<i class="swatch" style="border-top:3px {line} {on_page(run.colour)}"></i>{escape(run.label)}'


def shared_note(same: Mapping[str, str]) -> str:
    """Return a line with the facts that are the same in all runs, by name; an empty text where there are none."""
    if not same:
        return ""
    facts = "; ".join(f"{name} {value}" for name, value in same.items())
    return f'<p class="note">The same in all runs: {prose(facts)}.</p>'


def number_or_dash(value: float | None) -> str:
    """Return a plain number as text, a dash where it is unknown."""
    if value is None:
        return NO_NUMBER
    return digits(value)
