"""What all figures share: colours that colour-blind readers can tell apart, and the look of the axes."""

from __future__ import annotations

import html
import re
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from edgefl.results.report.read import Run

Figure = dict[str, Any]
_TOGETHER = re.compile(r"(?<=\d) (?=[\w%±])|(?<=[±=<>]) (?=\d)|(?<=\bp) (?=[=<])")  # spaces where no line may end

INK, MUTED, GRID = "#1c2733", "#5b6875", "#e6eaee"
FONT = '-apple-system, "Segoe UI", Roboto, "Helvetica Neue", "Noto Sans", "Liberation Sans", Arial, sans-serif'
RADIO_DOWN, COMPUTE, RADIO_UP, IDLE = "#86b8dc", "#e8a33d", "#1f5d99", "#d9dee4"
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
    """A column of ``devices.csv`` that a stack is made of."""

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
    """The run with the colour of its place; the dash changes when the colours are used up."""
    turn, colour = divmod(place, len(RUN_COLOURS))
    return Shown(run, label, RUN_COLOURS[colour], DASHES[turn % len(DASHES)])


def even(count: int, most: int) -> NDArray[np.intp]:
    """An even pick of at most so many of ``count`` rows that keeps the first and the last."""
    return np.linspace(0, count - 1, min(count, most)).round().astype(np.intp)


def safe(text: str) -> str:
    """Text for Plotly, which reads some HTML tags in labels."""
    return html.escape(text)


def prose(text: str) -> str:
    """Sentences as HTML whose numbers keep to their units."""
    return html.escape(_TOGETHER.sub("\N{NO-BREAK SPACE}", text))


def template() -> Figure:
    """The Plotly template that the page applies to every figure."""
    axis = {
        "gridcolor": GRID,
        "linecolor": "#c3cbd3",
        "zeroline": False,
        "ticks": "outside",
        "ticklen": 4,
        "tickcolor": "#c3cbd3",
        "tickfont": {"color": MUTED},
        "title": {"font": {"color": MUTED, "size": 13}, "standoff": 10},
        "automargin": True,
    }
    layout = {
        "font": {"family": FONT, "size": 12.5, "color": INK},
        "paper_bgcolor": "rgba(0,0,0,0)",
        "plot_bgcolor": "rgba(0,0,0,0)",
        "margin": {"l": 56, "r": 16, "t": 12, "b": 46},
        "showlegend": False,
        "hoverlabel": {
            "align": "left",
            "bgcolor": "#ffffff",
            "bordercolor": "#c3cbd3",
            "font": {"color": INK},
            "namelength": -1,
        },
        "xaxis": axis | {"showgrid": False, "showline": True},
        "yaxis": axis,
    }
    return {"layout": layout}
