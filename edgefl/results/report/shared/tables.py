"""Tables of texts and runs as HTML."""

from collections.abc import Sequence

from edgefl.core.units import NO_NUMBER, digits
from edgefl.results.report.shared.style import StyledRun
from edgefl.results.report.shared.templates import Html, macro

NOT_REACHED = "not reached"
Cell = str | StyledRun  # a run stands as its swatch


def table(head: Sequence[Cell], body: Sequence[Sequence[Cell]], css_class: str, caption: str = "") -> Html:
    """Return a table whose texts are escaped; the first cell of each row is the row's heading."""
    return macro("table", head, body, css_class, caption)


def counted(count: float, noun: str) -> str:
    """Return such as ``1 point`` or ``6 points``."""
    if count == 1:
        return f"1 {noun}"
    return f"{digits(count)} {noun}s"


def number_or_dash(value: float | None) -> str:
    """Return a plain number as text, a dash where it is unknown."""
    if value is None:
        return NO_NUMBER
    return digits(value)
