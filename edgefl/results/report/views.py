"""A chart with three choices of its horizontal axis: rounds, virtual time and energy."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from edgefl.core.units import ENERGY, PLAIN, TIME, Unit, fitting, short, top
from edgefl.results.report.read import Run, energy_of
from edgefl.results.report.style import Figure, Shown

BORDER, EXTRA = {"color": "#c3cbd3", "width": 1}, "rgba(230,159,0,0.16)"
WIDEST = 2  # steps: of many equal curves the first are all as wide


class View(NamedTuple):
    """One choice of the horizontal axis: its name, its column, and the key of a target's crossing."""

    name: str
    title: str
    column: str
    crossing: str
    units: Sequence[Unit]


class Curve(NamedTuple):
    """A trace without its horizontal values, and these for every view."""

    trace: Figure
    across: Callable[[View, Unit], Figure]


VIEWS = (
    View("round", "round", "number", "round", PLAIN),
    View("time", "virtual time", "time_s", "time_s", TIME),
    View("energy", "energy of all devices", "energy_j", "energy_j", ENERGY),
)


def nothing(_view: View, _unit: Unit) -> Figure:
    """The layout of a chart without marks that move with the horizontal axis."""
    return {}


def figure(
    shown: Sequence[Shown], curves: Sequence[Curve], layout: Figure, moving: Callable[[View, Unit], Figure] = nothing
) -> Figure:
    """The curves with, for every view, what changes with the horizontal axis; ``moving`` is that part of the layout."""
    views, last, alone = {}, top([one.run.rounds["number"] for one in shown]), len(shown) == 1
    for view in VIEWS:
        unit = fitting(top([one.run.rounds[view.column] for one in shown]), view.units)
        text = energy_of([one.run for one in shown]) if view.name == "energy" else view.title
        title = {"text": f"{text} [{unit.name}]" if unit.name else text}
        whole = {"dtick": 1} if view.name == "round" and last <= 12 else {}
        part = moving(view, unit)
        views[view.name] = {
            "data": _side_by_side(curves, [curve.across(view, unit) for curve in curves]),
            "layout": part
            | {
                "xaxis": {"title": title, "rangemode": "tozero", **whole},
                "shapes": part.get("shapes", []) + (borders(shown[0].run, view.column, unit) if alone else []),
            },
        }
    return {"data": [curve.trace for curve in curves], "layout": layout, "views": views}


def _side_by_side(curves: Sequence[Curve], places: Sequence[Figure]) -> list[Figure]:
    """Equal curves drawn at equal places must not hide each other: the earlier are wider than the later."""
    drawn = [(curve.trace["y"], place["x"]) for curve, place in zip(curves, places, strict=True)]
    result = []
    for turn, (curve, place) in enumerate(zip(curves, places, strict=True)):
        hidden = min(WIDEST, sum(drawn[turn] == later for later in drawn[turn + 1 :]))
        line = curve.trace.get("line", {})
        result.append(place | {"line": line | {"width": line["width"] + 3 * hidden}} if hidden and line else place)
    return result


def borders(run: Run, column: str, unit: Unit, shift: float = 0.0) -> list[Figure]:
    """A line where a session ends and the next begins, and a band over extra rounds.

    Args:
        run: whose sessions.
        column: of ``rounds.csv``, which the axis is.
        unit: of the axis.
        shift: how far behind a round's value it ends.
    """
    places = np.concatenate([[0.0], run.rounds[column] / unit.size]) + shift  # before each round, and behind the last
    ends = np.flatnonzero(np.diff(run.rounds["session"])) + 1
    whole = {"yref": "paper", "y0": 0, "y1": 1, "layer": "below"}
    line, band = {"type": "line", "line": BORDER}, {"type": "rect", "line": {"width": 0}, "fillcolor": EXTRA}
    lines = [whole | line | {"x0": x, "x1": x} for x in short(places[ends], 5)]
    spans = zip(*(short(places[rows], 5) for rows in _extra(run)), strict=True)
    return [whole | band | {"x0": x0, "x1": x1} for x0, x1 in spans] + lines


def _extra(run: Run) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Before which row each stretch of extra rounds begins, and the first row behind it."""
    steps = np.diff(np.concatenate([[0], run.rounds["round"] < 1, [0]]).astype(int))
    return np.flatnonzero(steps > 0), np.flatnonzero(steps < 0)


def legend(run: Run) -> str:
    """What lines and bands mean; nothing where there are none."""
    if len(np.unique(run.rounds["session"])) < 2:
        return ""
    extra = (
        ", yellow bands are their extra rounds, in which no model is tested" if (run.rounds["round"] < 1).any() else ""
    )
    return f"Grey lines, in all charts, are where a session begins{extra}."
