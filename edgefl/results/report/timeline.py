"""The first rounds as a timeline: devices as rows, what each does as slices of virtual time."""

from __future__ import annotations

from typing import Any

import numpy as np

from edgefl.core.arrays import Floats, Rows
from edgefl.core.units import TIME, Unit, fitting, short, top
from edgefl.results.report import expenses
from edgefl.results.report.describe import kind
from edgefl.results.report.read import Run
from edgefl.results.report.style import MUTED, TIME_PHASES, Figure, even

MOST_ROUNDS, MOST_BARS = 3, 60
LOWEST, HIGHEST, THICKEST = 400, 640, 34  # pixels: of the figure, and of a bar
IN_ORDER, LOST = ("received", "polled"), "#b3392f"
SAME_DIGITS = 9  # of seconds: what begins together


def figure(run: Run) -> Figure:
    """A bar of four slices for each participation, the rounds' borders as lines."""
    rows, devices = chosen(run), run.devices
    slices = np.array([np.nan_to_num(devices[phase.column][rows]) for phase in TIME_PHASES])
    starts = _starts(run, rows, slices)
    rounds = np.unique(devices["row"][rows])
    ends = run.rounds["time_s"][rounds]
    unit = fitting(top([ends]), TIME)
    offsets = starts + np.cumsum(slices, axis=0) - slices
    names = [f"{device:.0f}" for device in devices["device"][rows]]
    hover = [
        [f"{number:.0f}", status]
        for number, status in zip(run.rounds["number"][devices["row"][rows]], _told(run, rows), strict=True)
    ]
    data = [
        {
            "type": "bar",
            "orientation": "h",
            "name": phase.name,
            "y": names,
            "base": short(offset / unit.size, 6),
            "x": short(lengths / unit.size, 4),
            "marker": {"color": phase.colour, "line": {"width": 0}},
            "customdata": hover,
            "hovertemplate": f"<b>device %{{y}}</b>, round %{{customdata[0]}}, %{{customdata[1]}}<br>"
            f"{phase.name} %{{x:.3~g}} {unit.name}<extra></extra>",
        }
        for phase, lengths, offset in zip(TIME_PHASES, slices, offsets, strict=True)
    ]
    if lost := _lost(run, rows, names, offsets[-1] / unit.size):
        data.append(lost)
    begins = float(min(starts.min(), (ends - run.rounds["duration_s"][rounds]).min()))
    return {"data": data, "layout": _layout(run, rounds, names, unit, begins)}


def _lost(run: Run, rows: Rows, names: list[str], ends: Floats) -> Figure | None:
    """Crosses where work ended that the server did not receive."""
    status = run.devices["status"][rows]
    places = np.flatnonzero(~np.isin(status, IN_ORDER))
    if not places.size:
        return None
    return {
        "type": "scatter",
        "mode": "markers",
        "name": "not received",
        "x": short(ends[places], 6),
        "y": [names[place] for place in places],
        "marker": {"symbol": "x-thin", "size": 8, "line": {"color": LOST, "width": 2.5}},
        "hovertext": _told(run, rows[places]),
        "hovertemplate": "<b>device %{y}</b>: %{hovertext}<extra></extra>",
    }


def _told(run: Run, rows: Rows) -> list[str]:
    """How parts ended, in words."""
    return [expenses.told(end) for end in expenses.ends(run)[rows].tolist()]


def caption(run: Run) -> str:
    """Which rounds and how many of their participants are drawn."""
    rows = chosen(run)
    rounds = np.unique(run.devices["row"][rows])
    every = int(np.isin(run.devices["row"], rounds).sum())
    first = "The first round" if len(rounds) == 1 else f"The first {len(rounds)} rounds"
    part = f", {len(rows)} of {every:,} participations" if every > len(rows) else ""
    crosses = " Crosses: not received." if not np.isin(run.devices["status"][rows], IN_ORDER).all() else ""
    split = kind(run.scenario, "server.policy") == "split"
    alternating = " Phases alternate at every step; their sums are drawn." if split else ""
    return f"{first}{part}.{alternating}{crosses}"


def chosen(run: Run) -> Rows:
    """The device rows to draw, first and fastest on top: whole rounds while they fit, else an even pick from one."""
    row = run.devices["row"]
    slices = np.array([np.nan_to_num(run.devices[phase.column]) for phase in TIME_PHASES])
    starts = _starts(run, np.arange(len(row)), slices)
    order: Rows = np.lexsort((slices[:3].sum(axis=0), starts.round(SAME_DIGITS), row))
    first: Rows = order[row[order] == row.min()]
    if len(first) > MOST_BARS:
        return np.take(first, even(len(first), MOST_BARS))
    last = [value for value in np.unique(row)[:MOST_ROUNDS] if (row <= value).sum() <= MOST_BARS][-1]
    return np.compress(row[order] <= last, order)


def _starts(run: Run, rows: Rows, slices: Floats) -> Floats:
    """When each participation began; folders of earlier versions do not say: it ends with its round."""
    known = run.devices["start_s"][rows]
    return np.where(np.isfinite(known), known, run.rounds["time_s"][run.devices["row"][rows]] - slices.sum(axis=0))


def _layout(run: Run, rounds: Rows, names: list[str], unit: Unit, begins: float) -> Figure:
    ends, lengths = run.rounds["time_s"][rounds] / unit.size, run.rounds["duration_s"][rounds] / unit.size
    borders = sorted({*short(ends - lengths, 6), *short(ends, 6)}, key=lambda value: value or 0)
    line = {"type": "line", "yref": "paper", "y0": 0, "y1": 1, "line": {"color": "#7d8894", "width": 1, "dash": "dot"}}
    label = {"yref": "paper", "y": 1, "yanchor": "bottom", "showarrow": False, "font": {"color": MUTED, "size": 12}}
    places = zip(run.rounds["number"][rounds], short(ends - lengths / 2), strict=True)
    categories = list(dict.fromkeys(names))
    height = max(LOWEST, min(HIGHEST, 74 + 15 * len(categories)))
    axis: dict[str, Any] = {
        "type": "category",
        "categoryorder": "array",
        "categoryarray": categories,
        "range": [len(categories) - 0.5, -0.5],
        "title": {"text": "device"},
        "tickmode": "linear",
        "dtick": 1 if len(categories) <= 40 else 2,
        "tickfont": {"size": 10.5, "color": MUTED},
        "showgrid": False,
    }
    return {
        "barmode": "overlay",
        "bargap": 1 - min(0.78, THICKEST * len(categories) / (height - 74)),
        "height": height,
        "margin": {"t": 28},
        "xaxis": {
            "title": {"text": f"virtual time [{unit.name}]"},
            "range": [begins / unit.size, 1.01 * float(ends.max())],
        },
        "yaxis": axis,
        "shapes": [line | {"x0": x, "x1": x} for x in borders],
        "annotations": [label | {"text": f"round {number:.0f}", "x": x} for number, x in places],
    }
