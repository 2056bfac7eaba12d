"""Charts of one run over virtual time: panels above each other, lines and bars, the borders of its sessions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from edgefl.core.arrays import Floats
from edgefl.core.units import TIME, Unit, fitting, short, top
from edgefl.results.report import views
from edgefl.results.report.read import Run
from edgefl.results.report.style import Figure, even, safe

MOST_POINTS, MOST_BARS = 600, 150
GAP = 0.1  # between panels, of the whole height
THINNEST = 1 / 400  # of the whole width


class Panel(NamedTuple):
    """Traces over one vertical axis; ``share`` says how high it is beside the others."""

    title: str
    traces: Sequence[Figure]
    share: float = 1.0
    axis: Figure = {}  # noqa: RUF012 - never changed


def figure(run: Run, panels: Sequence[Panel]) -> Figure:
    """The panels, from top to bottom, over one axis of time."""
    unit, layout = _unit(run), {}
    free = (1 - GAP * (len(panels) - 1)) / sum(panel.share for panel in panels)
    high, data = 1.0, []
    for turn, panel in enumerate(panels, 1):
        place = "" if turn == 1 else str(turn)
        low = max(0.0, high - free * panel.share)
        layout[f"yaxis{place}"] = {"title": {"text": panel.title}, "domain": [low, high], **panel.axis}
        data += [trace | {"yaxis": f"y{place}"} for trace in panel.traces]
        high = low - GAP
    axis = {"title": {"text": f"virtual time [{unit.name}]"}, "rangemode": "tozero", "anchor": f"y{place}"}
    shapes = views.borders(run, "time_s", unit)
    return {"data": data, "layout": layout | {"xaxis": axis, "shapes": shapes, "barmode": "relative", "bargap": 0}}


def line(run: Run, time_s: Floats, values: Floats, name: str, colour: str, most: int = MOST_POINTS) -> Figure:
    """Values [n] at times [n], an even pick of very many; a value that is not finite breaks the line."""
    unit, rows = _unit(run), even(len(values), most)
    return {
        "type": "scatter",
        "mode": "lines" if len(rows) > 1 else "markers",
        "name": safe(name),
        "x": short(time_s[rows] / unit.size, 5),
        "y": short(values[rows]),
        "line": {"color": colour, "width": 2.2},
        "hovertemplate": f"{safe(name)} %{{y:.4~g}}<br>%{{x:.4~g}} {unit.name}<extra></extra>",
    }


def bars(run: Run, values: Floats, name: str, colour: str, unit_name: str = "") -> Figure:
    """A bar for each round's value [rounds], as wide as the round is long; of many rounds the sums of neighbours."""
    unit, rounds = _unit(run), run.rounds
    width = max(1, -(-len(values) // MOST_BARS))
    first = np.arange(0, len(values), width)
    last = np.minimum(first + width, len(values)) - 1
    begin = (rounds["time_s"][first] - rounds["duration_s"][first]) / unit.size
    end = rounds["time_s"][last] / unit.size
    return {
        "type": "bar",
        "name": safe(name),
        "x": short((begin + end) / 2, 6),
        "width": short(np.maximum(end - begin, THINNEST * end[-1]), 4),
        "y": short(np.add.reduceat(np.nan_to_num(values), first)),
        "marker": {"color": colour, "line": {"width": 0}},
        "hovertemplate": f"{safe(name)} %{{y:.3~g}} {unit_name}<br>%{{x:.4~g}} {unit.name}<extra></extra>",
    }


def begins_s(run: Run) -> Floats:
    """When each round began [rounds]."""
    return np.asarray(run.rounds["time_s"] - run.rounds["duration_s"])


def _unit(run: Run) -> Unit:
    return fitting(top([run.rounds["time_s"]]), TIME)
