"""Charts of one run over virtual time: panels above each other, lines and bars, the borders of its sessions."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from edgefl.core.arrays import Floats
from edgefl.core.units import TIME, Unit, fitting, short, top
from edgefl.results.report.shared import views
from edgefl.results.report.shared.read import Run
from edgefl.results.report.shared.style import Figure, bar_trace, even_pick, mode_of, plotly_text

MOST_LINE_POINTS = 600
MOST_TIME_BARS = 150
PANEL_GAP = 0.1  # of the whole height
THINNEST_BAR = 1 / 400  # of the whole width: a round of no length would be invisible


class Panel(NamedTuple):
    """Traces over one vertical axis; ``share`` is the panel's height relative to that of the others."""

    title: str
    traces: Sequence[Figure]
    share: float = 1.0
    axis: Figure = {}  # noqa: RUF012 - never changed


def figure(run: Run, panels: Sequence[Panel]) -> Figure:
    """Return the panels, from top to bottom, over one axis of virtual time."""
    unit = _time_unit(run)
    gaps = PANEL_GAP * (len(panels) - 1)
    height_per_share = (1 - gaps) / sum(panel.share for panel in panels)
    data: list[Figure] = []
    layout: Figure = {}
    axis_number = ""  # Plotly calls its first axis y, the second y2
    upper_edge = 1.0
    for number, panel in enumerate(panels, 1):
        if number > 1:
            axis_number = str(number)
        lower_edge = max(0.0, upper_edge - height_per_share * panel.share)  # rounding may leave it just below 0
        axis = {"title": {"text": panel.title}, "domain": [lower_edge, upper_edge]}
        layout[f"yaxis{axis_number}"] = axis | panel.axis
        data += [trace | {"yaxis": f"y{axis_number}"} for trace in panel.traces]
        upper_edge = lower_edge - PANEL_GAP
    layout["xaxis"] = {
        "title": {"text": f"virtual time [{unit.name}]"},
        "rangemode": "tozero",
        "anchor": f"y{axis_number}",  # below the lowest panel
    }
    layout["shapes"] = views.marks_of(run, "time_s", unit)
    layout["barmode"] = "relative"  # bars below zero stack downwards: departures hang under arrivals
    layout["bargap"] = 0
    return {"data": data, "layout": layout}


def line(run: Run, time_s: Floats, values: Floats, name: str, colour: str, most: int = MOST_LINE_POINTS) -> Figure:
    """Return a line through at most ``most`` of the values [n] at times [n], evenly picked.

    A value that is not finite breaks the line.
    """
    unit = _time_unit(run)
    rows = even_pick(len(values), most)
    label = plotly_text(name)
    return {
        "type": "scatter",
        "mode": mode_of(len(rows)),
        "name": label,
        "x": short(time_s[rows] / unit.size, 5),
        "y": short(values[rows]),
        "line": {"color": colour, "width": 2.2},
        "hovertemplate": f"{label} %{{y:.4~g}}<br>%{{x:.4~g}} {unit.name}<extra></extra>",
    }


def bars(run: Run, values: Floats, name: str, colour: str, unit_name: str = "") -> Figure:
    """Return a bar for each round's value [rounds], as wide as the round is long.

    In a long run neighbouring rounds share a bar, which is their sum, so that none is lost.
    """
    unit = _time_unit(run)
    rounds = run.rounds
    rounds_per_bar = max(1, -(-len(values) // MOST_TIME_BARS))  # rounded up
    first = np.arange(0, len(values), rounds_per_bar)
    last = np.minimum(first + rounds_per_bar, len(values)) - 1
    begin = (rounds["time_s"][first] - rounds["duration_s"][first]) / unit.size
    end = rounds["time_s"][last] / unit.size
    label = plotly_text(name)
    width = short(np.maximum(end - begin, THINNEST_BAR * end[-1]), 4)
    heights = short(np.add.reduceat(np.nan_to_num(values), first))
    hover = f"{label} %{{y:.3~g}} {unit_name}<br>%{{x:.4~g}} {unit.name}"
    return bar_trace(label, colour, short((begin + end) / 2, 6), heights, hover, width=width)


def begins_s(run: Run) -> Floats:
    """Return the time at which each round began [rounds]."""
    return np.asarray(run.rounds["time_s"] - run.rounds["duration_s"])


def _time_unit(run: Run) -> Unit:
    return fitting(top([run.rounds["time_s"]]), TIME)
