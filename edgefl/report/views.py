"""A chart with three choices of its horizontal axis: rounds, virtual time and energy."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from edgefl.report.read import Run, energy_of
from edgefl.report.style import Figure, Shown
from edgefl.units import ENERGY, PLAIN, TIME, Unit, fitting, short, top

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
    """A line where a session ends and the next begins, on an axis that is a column of ``rounds.csv``."""
    ends = run.rounds[column][np.flatnonzero(np.diff(run.rounds["session"]))] / unit.size + shift
    look = {"type": "line", "layer": "below", "line": {"color": "#c3cbd3", "width": 1}}
    return [look | {"yref": "paper", "y0": 0, "y1": 1, "x0": x, "x1": x} for x in short(ends, 5)]
