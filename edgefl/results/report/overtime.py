"""Charts of one run over virtual time: panels above each other, lines and bars, the borders of its sessions."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from edgefl.core.arrays import Floats
from edgefl.core.units import TIME, Unit, fitting, short, top
from edgefl.results.report import views
from edgefl.results.report.read import Run
from edgefl.results.report.style import Figure, even, safe

MOST_POINTS = 600
MOST_BARS = 150
PANEL_GAP = 0.1  # of the whole height
THINNEST = 1 / 400  # of the whole width


class Panel(NamedTuple):
    """Traces over one vertical axis; ``share`` says how high it is beside the others."""

    title: str
    traces: Sequence[Figure]
    share: float = 1.0
    axis: Figure = {}  # noqa: RUF012 - never changed


def figure(run: Run, panels: Sequence[Panel]) -> Figure:
    """Return the panels, from top to bottom, over one axis of time."""
    data = []
    axes: Figure = {}
    gaps = PANEL_GAP * (len(panels) - 1)
    share_height = (1 - gaps) / sum(panel.share for panel in panels)
    high = 1.0
    suffix = ""  # Plotly numbers its axes from 2: the first is plain "yaxis", and "y" in a trace
    for number, panel in enumerate(panels, 1):
        if number > 1:
            suffix = str(number)
        low = max(0.0, high - share_height * panel.share)  # rounding may leave the last one just below 0
        axes[f"yaxis{suffix}"] = {"title": {"text": panel.title}, "domain": [low, high], **panel.axis}
        data += [trace | {"yaxis": f"y{suffix}"} for trace in panel.traces]
        high = low - PANEL_GAP
    unit = _unit(run)
    axes["xaxis"] = {
        "title": {"text": f"virtual time [{unit.name}]"},
        "rangemode": "tozero",
        "anchor": f"y{suffix}",  # below the last panel
    }
    shapes = views.borders(run, "time_s", unit)
    # Relative bars stack, those below zero downwards: departures hang under arrivals.
    return {"data": data, "layout": axes | {"shapes": shapes, "barmode": "relative", "bargap": 0}}


def line(run: Run, time_s: Floats, values: Floats, name: str, colour: str, most: int = MOST_POINTS) -> Figure:
    """Return a line through values [n] at times [n]; a value that is not finite breaks it.

    Args:
        run: the run, whose length decides the unit of time.
        time_s: when each value was taken.
        values: what is drawn.
        name: of the line, shown at the pointer.
        colour: of the line.
        most: of more values an even pick of so many is drawn.
    """
    unit = _unit(run)
    rows = even(len(values), most)
    mode = "lines" if len(rows) > 1 else "markers"  # a line through one point is invisible
    return {
        "type": "scatter",
        "mode": mode,
        "name": safe(name),
        "x": short(time_s[rows] / unit.size, 5),
        "y": short(values[rows]),
        "line": {"color": colour, "width": 2.2},
        "hovertemplate": f"{safe(name)} %{{y:.4~g}}<br>%{{x:.4~g}} {unit.name}<extra></extra>",
    }


def bars(run: Run, values: Floats, name: str, colour: str, unit_name: str = "") -> Figure:
    """Return a bar for each round's value [rounds], as wide as the round is long.

    Neighbouring rounds of a long run share a bar, which has the sum of their values.
    """
    unit = _unit(run)
    per_bar = rounds_per_bar(len(values), MOST_BARS)
    first = np.arange(0, len(values), per_bar)
    last = np.minimum(first + per_bar, len(values)) - 1
    begin = begins_s(run)[first] / unit.size
    end = run.rounds["time_s"][last] / unit.size
    # A very short round keeps a visible bar.
    width = np.maximum(end - begin, THINNEST * end[-1])
    sums = np.add.reduceat(np.nan_to_num(values), first)
    return {
        "type": "bar",
        "name": safe(name),
        "x": short((begin + end) / 2, 6),
        "width": short(width, 4),
        "y": short(sums),
        "marker": {"color": colour, "line": {"width": 0}},
        "hovertemplate": f"{safe(name)} %{{y:.3~g}} {unit_name}<br>%{{x:.4~g}} {unit.name}<extra></extra>",
    }


def rounds_per_bar(rounds: int, most: int) -> int:
    """Return how many neighbouring rounds share a bar so that there are ``most`` bars or fewer."""
    return max(1, math.ceil(rounds / most))


def begins_s(run: Run) -> Floats:
    """Return when each round began [rounds]."""
    return np.asarray(run.rounds["time_s"] - run.rounds["duration_s"])


def _unit(run: Run) -> Unit:
    """Return the unit of time of all charts of a run."""
    return fitting(top([run.rounds["time_s"]]), TIME)
