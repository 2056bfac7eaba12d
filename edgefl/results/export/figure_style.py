"""The style of figures in print quality: sizes, fonts, colours and lines."""

import textwrap
from typing import Any, NamedTuple

from edgefl.core.words import words_of
from edgefl.results.report.shared.style import DASHES, RUN_COLOURS

# IEEE's two columns and its page, in inches
COLUMN_IN = 3.5
PAGE_IN = 7.16
PANEL_HEIGHT_IN = 2.4
TEXT_LINE_IN = 0.16
# Longest lines of text, in characters
LEGEND_CHARACTERS = 52
TICK_CHARACTERS = 20
MOST_TICK_CHARACTERS = 28  # if there is no room for so many lines
SMALLEST_FONT_SIZE = 4.5
STYLE: Any = words_of(__file__, "figure_style.yaml")  # Matplotlib's type names all of its keys
FONT_SIZE: float = STYLE["font.size"]
LINE_STYLES = {"solid": "-", "dash": "--", "dot": ":", "dashdot": "-."}
MARKERS = ("o", "s", "D", "v")  # filled; open markers and upward triangles have other meanings
# Without dates and versions the same folders give the same bytes.
NO_DATE: dict[str, dict[str, None]] = {"png": {"Software": None}, "pdf": {"CreationDate": None, "Producer": None}}


class LineLook(NamedTuple):
    """The look of a line: its colour, dashes and markers."""

    colour: str
    line_style: str
    marker: str


def look_of(number: int) -> LineLook:
    """Return the look of a line by its number; dashes and marker change when the colours are used up."""
    turn, colour = divmod(number, len(RUN_COLOURS))
    return LineLook(RUN_COLOURS[colour], LINE_STYLES[DASHES[turn % len(DASHES)]], MARKERS[turn % len(MARKERS)])


def wrapped(text: str, characters: int) -> str:
    """Return a text in lines of at most so many characters."""
    return textwrap.fill(text, characters)


class TickLabels(NamedTuple):
    """Labels beside a panel's axis, one below the other, and the size of their font [pt]."""

    texts: list[str]
    size: float


def tick_labels(labels: list[str]) -> TickLabels:
    """Return labels in short lines, in a smaller font where the panel has no room for all lines."""
    lines_of_each = 0.8 * PANEL_HEIGHT_IN / TEXT_LINE_IN / len(labels)  # the rest are the axis and its title
    texts = [wrapped(label, TICK_CHARACTERS) for label in labels]
    if max(text.count("\n") + 1 for text in texts) > lines_of_each:
        texts = [wrapped(label, MOST_TICK_CHARACTERS) for label in labels]
    most_lines = max(text.count("\n") + 1 for text in texts)
    size = FONT_SIZE * min(1.0, lines_of_each / most_lines)
    return TickLabels(texts, max(size, SMALLEST_FONT_SIZE))


def legend_height_in(labels: list[str]) -> float:
    """Return the height of a legend with one label per line [in]."""
    lines = sum(wrapped(label, LEGEND_CHARACTERS).count("\n") + 1 for label in labels)
    return lines * TEXT_LINE_IN
