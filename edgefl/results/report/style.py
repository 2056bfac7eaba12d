"""The look that all figures share: colours that colour-blind readers can tell apart, and the axes."""

from __future__ import annotations

import html
import re
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from edgefl.results.report.read import Run

Figure = dict[str, Any]

# Spaces at which no line may end: between a number and its unit, within a ± b and p = 0.03
_KEPT_TOGETHER = re.compile(r"(?<=\d) (?=[\w%±])|(?<=[±=<>]) (?=\d)|(?<=\bp) (?=[=<])")

INK = "#1c2733"
MUTED = "#5b6875"
GRID = "#e6eaee"
AXIS_LINE = "#c3cbd3"
FONT = '-apple-system, "Segoe UI", Roboto, "Helvetica Neue", "Noto Sans", "Liberation Sans", Arial, sans-serif'
# Time and energy share these colours, so that a device's work looks the same in all stacks. Both directions of the
# radio are blue, one light and one dark.
RADIO_DOWN = "#86b8dc"
COMPUTE = "#e8a33d"
RADIO_UP = "#1f5d99"
IDLE = "#d9dee4"
# Okabe and Ito's palette, yellow left out: it vanishes on white.
RUN_COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#4d4d4d")
DASHES = ("solid", "dash", "dot", "dashdot")


class Shown(NamedTuple):
    """A run as the page shows it."""

    run: Run
    label: str
    colour: str
    dash: str


class Phase(NamedTuple):
    """A part of a stacked bar: a column of ``devices.csv``, its name and its colour."""

    column: str
    name: str
    colour: str


TIME_PHASES = (
    Phase("download_s", "download", RADIO_DOWN),
    Phase("compute_s", "compute", COMPUTE),
    Phase("upload_s", "upload", RADIO_UP),
    Phase("wait_s", "waiting", IDLE),
)
ENERGY_PHASES = (
    Phase("rx_energy_j", "receive", RADIO_DOWN),
    Phase("cpu_energy_j", "compute", COMPUTE),
    Phase("tx_energy_j", "transmit", RADIO_UP),
    Phase("idle_energy_j", "idle", IDLE),
)


def shown(run: Run, label: str, place: int) -> Shown:
    """Return the run with the colour of its place on the page; the dash changes when the colours are used up."""
    cycle, colour = divmod(place, len(RUN_COLOURS))
    dash = DASHES[cycle % len(DASHES)]
    return Shown(run, label, RUN_COLOURS[colour], dash)


def even(count: int, most: int) -> NDArray[np.intp]:
    """Return an even pick of at most so many of ``count`` rows; it keeps the first and, unless it is one row, the last.

    Drawn from the whole range rather than by a fixed step: a curve ends where its run ended.
    """
    return np.linspace(0, count - 1, min(count, most)).round().astype(np.intp)


def safe(text: str) -> str:
    """Return text for Plotly, which reads some HTML tags in labels, with these escaped."""
    return html.escape(text)


def prose(text: str) -> str:
    """Return sentences as HTML in which no line ends between a number and its unit."""
    return html.escape(_KEPT_TOGETHER.sub("\N{NO-BREAK SPACE}", text))


def template() -> Figure:
    """Return the Plotly template that the page applies to every figure."""
    axis = {
        "gridcolor": GRID,
        "linecolor": AXIS_LINE,
        "zeroline": False,
        "ticks": "outside",
        "ticklen": 4,
        "tickcolor": AXIS_LINE,
        "tickfont": {"color": MUTED},
        "title": {"font": {"color": MUTED, "size": 13}, "standoff": 10},
        "automargin": True,  # long tick labels are not cut off
    }
    layout = {
        "font": {"family": FONT, "size": 12.5, "color": INK},
        # The card of the page shows through.
        "paper_bgcolor": "rgba(0,0,0,0)",
        "plot_bgcolor": "rgba(0,0,0,0)",
        "margin": {"l": 56, "r": 16, "t": 12, "b": 46},
        "showlegend": False,  # the page has a key above the chart, which several charts can share
        "hoverlabel": {
            "align": "left",
            "bgcolor": "#ffffff",
            "bordercolor": AXIS_LINE,
            "font": {"color": INK},
            "namelength": -1,  # whole names
        },
        "xaxis": axis | {"showgrid": False, "showline": True},
        "yaxis": axis,
    }
    return {"layout": layout}
