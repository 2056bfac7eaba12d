"""Charts whose horizontal axis the reader chooses: rounds, virtual time or energy."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from edgefl.core.arrays import Rows
from edgefl.core.units import ENERGY, PLAIN, TIME, Unit, fitting, short, top, with_unit
from edgefl.results.report.read import Run, energy_of
from edgefl.results.report.style import Figure, Shown

SESSION_LINE = {"color": "#c3cbd3", "width": 1}
EXTRA_BAND = "rgba(230,159,0,0.16)"
WIDENING = 3  # pixels that a curve gains for each equal one drawn over it
MOST_WIDENINGS = 2  # many equal curves would swell: beyond that the first are equally wide
MOST_ROUND_TICKS = 12
DIGITS = 5  # of a place on the horizontal axis


class View(NamedTuple):
    """One choice of the horizontal axis: its name, its column, and the key of a target's crossing."""

    name: str
    title: str
    column: str
    crossing: str
    units: Sequence[Unit]


class Curve(NamedTuple):
    """A trace without its horizontal values, and a function that gives these for a view."""

    trace: Figure
    across: Callable[[View, Unit], Figure]


VIEWS = (
    View("round", "round", "number", "round", PLAIN),
    View("time", "virtual time", "time_s", "time_s", TIME),
    View("energy", "energy of all devices", "energy_j", "energy_j", ENERGY),
)


def unmarked(_view: View, _unit: Unit) -> Figure:
    """Return the layout of a chart without marks that depend on the horizontal axis: an empty one."""
    return {}


def figure(
    shown: Sequence[Shown], curves: Sequence[Curve], layout: Figure, moving: Callable[[View, Unit], Figure] = unmarked
) -> Figure:
    """Return a figure with what changes from view to view beside what stays.

    Args:
        shown: the runs on the chart.
        curves: their curves.
        layout: the part of the layout that all views share.
        moving: returns the part of the layout that depends on the view.
    """
    views = {}
    for view in VIEWS:
        # All runs share the axis, and so its unit.
        unit = fitting(top([one.run.rounds[view.column] for one in shown]), view.units)
        places = [curve.across(view, unit) for curve in curves]
        views[view.name] = {
            "data": _widened(curves, places),
            "layout": _layout(shown, view, unit, moving(view, unit)),
        }
    return {"data": [curve.trace for curve in curves], "layout": layout, "views": views}


def _layout(shown: Sequence[Shown], view: View, unit: Unit, marks: Figure) -> Figure:
    """Return the part of the layout that depends on the view."""
    name = view.title
    if view.name == "energy":
        name = energy_of([one.run for one in shown])
    axis: Figure = {"title": {"text": with_unit(name, unit)}, "rangemode": "tozero"}
    if view.name == "round" and top([one.run.rounds["number"] for one in shown]) <= MOST_ROUND_TICKS:
        axis["dtick"] = 1  # on a short axis Plotly would have ticks between two rounds
    shapes = list(marks.get("shapes", []))
    if len(shown) == 1:  # sessions of several runs end at different places
        shapes += borders(shown[0].run, view.column, unit)
    return marks | {"xaxis": axis, "shapes": shapes}


def _widened(curves: Sequence[Curve], places: Sequence[Figure]) -> list[Figure]:
    """Return the places, with a wider line for each curve that a later, equal one would hide.

    Runs that differ in the radio only learn the same in every round: the earlier ones stay visible as a rim.
    """
    points = [(curve.trace["y"], place["x"]) for curve, place in zip(curves, places, strict=True)]
    result = []
    for number, (curve, place) in enumerate(zip(curves, places, strict=True)):
        equal_later = points[number + 1 :].count(points[number])
        line = curve.trace.get("line")
        if equal_later and line:
            width = line["width"] + WIDENING * min(MOST_WIDENINGS, equal_later)
            result.append(place | {"line": line | {"width": width}})
        else:
            result.append(place)
    return result


def borders(run: Run, column: str, unit: Unit, shift: float = 0.0) -> list[Figure]:
    """Return a line where a session ends and the next begins, and a band over extra rounds.

    Args:
        run: the run whose sessions are marked.
        column: the column of ``rounds.csv`` that the axis shows.
        unit: the unit of the axis.
        shift: how far beyond its value a round ends on this axis; half a round where bars are centred.
    """
    # Place r is where row r begins; the last place is where the last row ends.
    places = np.concatenate([[0.0], run.rounds[column] / unit.size]) + shift
    full_height = {"yref": "paper", "y0": 0, "y1": 1, "layer": "below"}
    band = full_height | {"type": "rect", "line": {"width": 0}, "fillcolor": EXTRA_BAND}
    line = full_height | {"type": "line", "line": SESSION_LINE}
    first_rows, end_rows = _extra_spans(run)
    spans = zip(short(places[first_rows], DIGITS), short(places[end_rows], DIGITS), strict=True)
    bands = [band | {"x0": begin, "x1": end} for begin, end in spans]
    new_sessions = np.flatnonzero(np.diff(run.rounds["session"])) + 1
    lines = [line | {"x0": place, "x1": place} for place in short(places[new_sessions], DIGITS)]
    return bands + lines


def _extra_spans(run: Run) -> tuple[Rows, Rows]:
    """Return the first row of each stretch of extra rounds, and the row behind its last one."""
    # Zeros at both ends make a stretch at the border of the table begin or end there.
    is_extra = np.concatenate([[0], run.rounds["round"] < 1, [0]]).astype(int)
    steps = np.diff(is_extra)
    return np.flatnonzero(steps > 0), np.flatnonzero(steps < 0)


def legend(run: Run) -> str:
    """Return a sentence on what lines and bands mean; an empty text for a run of one session."""
    if len(np.unique(run.rounds["session"])) < 2:
        return ""
    bands = ""
    if (run.rounds["round"] < 1).any():
        bands = ", yellow bands are their extra rounds, in which no model is tested"
    return f"Grey lines, in all charts, are where a session begins{bands}."
