"""A chart with three choices of its horizontal axis: rounds, virtual time and energy; and its marks."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from edgefl.core.arrays import Rows
from edgefl.core.units import ENERGY, PLAIN, TIME, Unit, fitting, short, top, with_unit
from edgefl.results.report.shared.read import Run, energy_of
from edgefl.results.report.shared.style import Figure, StyledRun

WHOLE_HEIGHT = {"yref": "paper", "y0": 0, "y1": 1, "layer": "below"}  # of a mark
SESSION_BORDER = {"color": "#c3cbd3", "width": 1}
DATA_CHANGE = {"color": "#d55e00", "width": 1, "dash": "dash"}
EXTRA_ROUNDS_COLOUR = "rgba(230,159,0,0.16)"
FEW_ROUNDS = 12  # up to so many have a tick each
WIDENING_STEPS = 2  # of many equal curves the first ones are all of the same width
WIDENING = 3  # pixels a step


class View(NamedTuple):
    """One choice of the horizontal axis."""

    name: str
    title: str
    column: str  # of rounds.csv
    crossing: str  # the key of a target in the summary that says when it was reached
    units: Sequence[Unit]


class Curve(NamedTuple):
    """A trace without its horizontal values, and a function that returns these for a view and its unit."""

    trace: Figure
    horizontal: Callable[[View, Unit], Figure]


VIEWS = (
    View("round", "round", "number", "round", PLAIN),
    View("time", "virtual time", "time_s", "time_s", TIME),
    View("energy", "energy of all devices", "energy_j", "energy_j", ENERGY),
)
AXES = {"round": "Rounds", "time": "Virtual time", "energy": "Energy"}  # on buttons


def figure(
    runs: Sequence[StyledRun],
    curves: Sequence[Curve],
    layout: Figure,
    marks: Callable[[View, Unit], Figure] = lambda _view, _unit: {},
) -> Figure:
    """Return the curves and, for every view, the parts of data and layout that change with the horizontal axis.

    ``marks`` returns the part of the layout, such as shapes, that depends on the view.
    """
    views = {}
    for view in VIEWS:
        # All runs share the axis, and so its unit.
        unit = fitting(top([run.data.rounds[view.column] for run in runs]), view.units)
        view_layout = dict(marks(view, unit))
        shapes = view_layout.get("shapes", [])
        if len(runs) == 1:  # sessions of several runs end at different times
            shapes = shapes + marks_of(runs[0].data, view.column, unit)
        view_layout["xaxis"] = _horizontal_axis(runs, view, unit)
        view_layout["shapes"] = shapes
        views[view.name] = {
            "data": _widen_hidden(curves, [curve.horizontal(view, unit) for curve in curves]),
            "layout": view_layout,
        }
    return {"data": [curve.trace for curve in curves], "layout": layout, "views": views}


def _horizontal_axis(runs: Sequence[StyledRun], view: View, unit: Unit) -> Figure:
    title = view.title
    if view.name == "energy":
        title = energy_of([run.data for run in runs])
    axis: Figure = {"title": {"text": with_unit(title, unit)}, "rangemode": "tozero"}
    rounds = top([run.data.rounds["number"] for run in runs])
    if view.name == "round" and rounds <= FEW_ROUNDS:
        axis["dtick"] = 1  # Plotly would put ticks between the rounds
    return axis


def _widen_hidden(curves: Sequence[Curve], horizontals: Sequence[Figure]) -> list[Figure]:
    """Return the horizontal values of the curves, with wider lines for curves that later ones would hide.

    Runs that differ only in the radio learn the same in every round: the earlier ones stay visible as a rim.
    """
    points = [(curve.trace["y"], horizontal["x"]) for curve, horizontal in zip(curves, horizontals, strict=True)]
    result = []
    for index, (curve, horizontal) in enumerate(zip(curves, horizontals, strict=True)):
        later_equals = sum(points[index] == later for later in points[index + 1 :])
        line = curve.trace.get("line", {})
        if later_equals and line:
            width = line["width"] + WIDENING * min(WIDENING_STEPS, later_equals)
            result.append(horizontal | {"line": line | {"width": width}})
        else:
            result.append(horizontal)
    return result


def marks_of(run: Run, column: str, unit: Unit, shift: float = 0.0) -> list[Figure]:
    """Return the marks of sessions and of changes of the data, over an axis as `session_marks` has it."""
    return session_marks(run, column, unit, shift) + _change_marks(run, column, unit, shift)


def session_marks(run: Run, column: str, unit: Unit, shift: float = 0.0) -> list[Figure]:
    """Return a line for each border between two sessions, and a band over each stretch of extra rounds.

    The axis is a column of ``rounds.csv`` in a unit; a round ends a ``shift`` [unit] after its value.
    """
    values = run.rounds[column] / unit.size
    # Entry n is where round n begins, which is where the one before it ends.
    borders = np.concatenate([[0.0], values]) + shift
    band = WHOLE_HEIGHT | {"type": "rect", "line": {"width": 0}, "fillcolor": EXTRA_ROUNDS_COLOUR}
    line = WHOLE_HEIGHT | {"type": "line", "line": SESSION_BORDER}
    starts, stops = _extra_rounds(run)
    stretches = zip(short(borders[starts], 5), short(borders[stops], 5), strict=True)
    bands = [band | {"x0": start, "x1": stop} for start, stop in stretches]
    first_rows = np.flatnonzero(np.diff(run.rounds["session"])) + 1  # of each session but the first
    lines = [line | {"x0": border, "x1": border} for border in short(borders[first_rows], 5)]
    return bands + lines


def _change_marks(run: Run, column: str, unit: Unit, shift: float) -> list[Figure]:
    """Return a line where data of devices changed (`data.drift`): between two rounds as its time is between theirs."""
    ends_s = np.concatenate([[0.0], run.rounds["time_s"]])
    values = np.concatenate([[0.0], run.rounds[column]]) / unit.size
    places = np.interp(run.data_changes_s, ends_s, values) + shift
    line = WHOLE_HEIGHT | {"type": "line", "line": DATA_CHANGE}
    return [line | {"x0": place, "x1": place} for place in short(places, 5)]


def _extra_rounds(run: Run) -> tuple[Rows, Rows]:
    """Return the first row of each stretch of extra rounds, and the first row after it."""
    # Zeros at both ends make a stretch at the border of the table begin or end there.
    is_extra = run.rounds["round"] < 1
    steps = np.diff(np.concatenate([[0], is_extra, [0]]).astype(int))
    return np.flatnonzero(steps > 0), np.flatnonzero(steps < 0)


def legend(run: Run) -> str:
    """Return the meaning of lines and bands in sentences; an empty text for a run without them."""
    sentences = []
    if len(np.unique(run.rounds["session"])) > 1:
        text = "Grey lines, in all charts, show where a session begins"
        if (run.rounds["round"] < 1).any():
            text += "; yellow bands show its extra rounds, where no model is tested"
        sentences.append(f"{text}.")
    if len(run.data_changes_s):
        sentences.append("Dashed lines show where data of devices change.")
    return " ".join(sentences)
