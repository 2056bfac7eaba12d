"""The look that all figures share: colours that colour-blind readers can tell apart, and the axes."""

import html
import re
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from edgefl.core.arrays import Floats
from edgefl.core.words import words_of
from edgefl.results.report.shared.read import Run

Figure = dict[str, Any]
# The spaces of "12 s", "90 %", "± 3", "= 2" and "p < 0.05": no line may end there.
_NO_LINE_BREAK = re.compile(r"(?<=\d) (?=[\w%±])|(?<=[±=<>]) (?=\d)|(?<=\bp) (?=[=<])")

_STYLE = words_of(__file__, "style.yaml")
_COLOURS: dict[str, str] = _STYLE["colours"]
INK = _COLOURS["ink"]
MUTED = _COLOURS["muted"]
GRID_COLOUR = _COLOURS["grid"]
AXIS_COLOUR = _COLOURS["axis"]
RADIO_DOWN = _COLOURS["radio_down"]
COMPUTE = _COLOURS["compute"]
SETUP = _COLOURS["setup"]
RADIO_UP = _COLOURS["radio_up"]
IDLE = _COLOURS["idle"]
DARK: dict[str, str] = _STYLE["dark"]
TEMPLATE: Figure = _STYLE["template"]  # for Plotly
# Okabe and Ito's palette, yellow left out: it vanishes on white.
RUN_COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#4d4d4d")
LOGARITHMIC_FROM = 30  # largest over smallest value; a linear axis would squeeze the small ones together
DASHES = ("solid", "dash", "dot", "dashdot")
_WHITE = "#ffffff"
_BLACK = "#000000"


class StyledRun(NamedTuple):
    """A run with the label, the colour and the dash that stand for it on the whole page."""

    data: Run
    label: str
    colour: str
    dash: str


class KeyEntry(NamedTuple):
    """A colour of a chart and what it stands for."""

    name: str
    colour: str


class Phase(NamedTuple):
    """A column of ``devices.csv`` that is a part of a stacked bar, with its name in the chart and its colour."""

    column: str
    name: str
    colour: str
    optional: bool = False  # whether charts leave it out where it is zero in all runs


TIME_PHASES = (
    Phase("setup_s", "set-up", SETUP, optional=True),
    Phase("download_s", "download", RADIO_DOWN),
    Phase("compute_s", "compute", COMPUTE),
    Phase("upload_s", "upload", RADIO_UP),
    Phase("wait_s", "waiting", IDLE),
)
ENERGY_PHASES = (
    Phase("setup_energy_j", "set-up", SETUP, optional=True),
    Phase("rx_energy_j", "receive", RADIO_DOWN),
    Phase("cpu_energy_j", "compute", COMPUTE),
    Phase("tx_energy_j", "transmit", RADIO_UP),
    Phase("idle_energy_j", "idle", IDLE),
)


def styled_run(run: Run, label: str, index: int) -> StyledRun:
    """Return the run with the look of the ``index``-th run on the page, from 0.

    Colours come first; the dash changes when all colours are used.
    """
    dash, colour = divmod(index, len(RUN_COLOURS))
    return StyledRun(run, label, RUN_COLOURS[colour], DASHES[dash % len(DASHES)])


def on_page(colour: str) -> str:
    """Return a colour of charts for the page's styles, where it has a value on the light page and one on the dark."""
    return f"light-dark({colour},{DARK.get(colour, colour)})"


def text_on(colour: str) -> str:
    """Return the colour of legible text on a colour of charts, for the page's styles."""
    return f"light-dark({_text_on(colour)},{_text_on(DARK.get(colour, colour))})"


def _text_on(background: str) -> str:
    """Return white or black, whichever has more contrast with a background such as ``#1f5d99``: at least 4.58."""
    luminance = relative_luminance(background)
    if contrast(luminance, 1.0) >= contrast(luminance, 0.0):
        return _WHITE
    return _BLACK


def relative_luminance(colour: str) -> float:
    """Return the relative luminance of a colour such as ``#1f5d99``, from 0 to 1.

    Source: Web Content Accessibility Guidelines 2.2, "relative luminance".
    """
    luminance = 0.0
    for first, weight in ((1, 0.2126), (3, 0.7152), (5, 0.0722)):
        value = int(colour[first : first + 2], 16) / 255
        linear = ((value + 0.055) / 1.055) ** 2.4 if value > 0.04045 else value / 12.92
        luminance += weight * linear
    return luminance


def contrast(one: float, other: float) -> float:
    """Return the contrast of two relative luminances, from 1 to 21, by the same guidelines."""
    return (max(one, other) + 0.05) / (min(one, other) + 0.05)


def even_pick(count: int, most: int) -> NDArray[np.intp]:
    """Return at most ``most`` evenly spaced rows of ``count``, always with the first and the last."""
    return np.linspace(0, count - 1, min(count, most)).round().astype(np.intp)


def bar_trace(name: str, colour: str, x: Sequence[Any], y: Sequence[Any], hover: str, **more: Any) -> Figure:
    """Return a trace of bars without borders; ``hover`` is the text under the pointer."""
    look = {"marker": {"color": colour, "line": {"width": 0}}, "hovertemplate": f"{hover}<extra></extra>"}
    return {"type": "bar", "name": name, "x": x, "y": y} | look | more


def mode_of(points: int) -> str:
    """Return how Plotly draws a curve: a line through one point is invisible."""
    if points > 1:
        return "lines"
    return "markers"


def bar_gap(bars: int, most_spaced: int, gap: float) -> float:
    """Return the gap between bars, as a share of their distance; many bars have none."""
    if bars > most_spaced:
        return 0.0
    return gap


def count_axis(counts: ArrayLike, most_ticks: int = 8) -> Figure:
    """Return the ticks of an axis of counts: at whole numbers only, and about ``most_ticks`` of them at most."""
    values = np.asarray(counts, np.float64)
    values = values[np.isfinite(values)]
    if np.any(values % 1):  # means of several rounds
        return {"nticks": most_ticks}
    if np.abs(values).max(initial=0.0) <= most_ticks:
        return {"tickformat": ",d", "dtick": 1}  # Plotly would put ticks between few whole numbers
    return {"tickformat": ",d", "nticks": most_ticks}


def colour_bar(title: str, length: float, **more: Any) -> Figure:
    """Return the key to the colours of a map, on its right; ``length`` is a share of the map's height."""
    text = {"text": title, "side": "right", "font": {"color": MUTED, "size": 13}}
    look = {"thickness": 12, "outlinewidth": 0, "tickfont": {"color": MUTED}, "x": 1.01}
    return look | {"title": text, "len": length} | more


def plotly_text(text: str) -> str:
    """Return the text escaped for Plotly, which reads some HTML tags in labels."""
    return html.escape(text)


def prose(text: str) -> str:
    """Return sentences where no line ends between a number and its unit."""
    return _NO_LINE_BREAK.sub("\N{NO-BREAK SPACE}", text)


def spans_decades(values: Floats) -> bool:
    """Return whether values [n] need a logarithmic axis, which has no place for zero."""
    return bool(values.min() > 0 and values.max() > LOGARITHMIC_FROM * values.min())
