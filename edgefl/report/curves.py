"""Learning curves against rounds, virtual time and energy: one figure with three views of its horizontal axis."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from edgefl.report.read import reached
from edgefl.report.style import INK, MUTED, Figure, Shown, safe
from edgefl.report.units import (
    ENERGY,
    PLAIN,
    TIME,
    Unit,
    as_number,
    fitting,
    percent,
    power_of_ten,
    quantity,
    short,
    top,
)

MOST_POINTS = 600


class View(NamedTuple):
    """One choice of the horizontal axis: its name, its column, and the key of a target's crossing."""

    name: str
    title: str
    column: str
    crossing: str
    units: Sequence[Unit]


class Measure(NamedTuple):
    """A column of ``rounds.csv`` as it is drawn."""

    column: str
    name: str
    form: str
    factor: float = 1.0
    above: float = -np.inf


class Curve(NamedTuple):
    """A trace without its horizontal values, and these for every view."""

    trace: Figure
    across: Callable[[View, Unit], Figure]


VIEWS = (
    View("round", "round", "number", "round", PLAIN),
    View("time", "virtual time", "time_s", "time_s", TIME),
    View("energy", "energy of all devices", "energy_j", "energy_j", ENERGY),
)
ACCURACY = Measure("test_accuracy", "accuracy", "%{y:.1f} %", factor=100)
TEST_LOSS = Measure("test_loss", "test loss", "%{y:.4~g}")
TRAIN_LOSS = Measure("train_loss", "train loss", "%{y:.4~g}")
DISTANCE = Measure("distance_to_optimum", "distance to the optimum", "%{y:.4~g}", above=0)


def figures(shown: Sequence[Shown]) -> dict[str, Figure]:
    """The learning figures that the runs have data for, by name."""
    every = {"accuracy": accuracy(shown), "distance": distance(shown), "loss": loss(shown)}
    return {name: figure for name, figure in every.items() if figure["data"]}


def accuracy(shown: Sequence[Shown]) -> Figure:
    """Test accuracy with the targets as lines, marked where each is first reached."""
    alone = len(shown) == 1
    lines = _lines(shown, ACCURACY)
    marks = [_crossings(one, alone=alone) for one in shown if any(map(reached, one.run.targets))]
    wanted = sorted({target["accuracy"] for one in shown for target in one.run.targets})
    highest = max([top([one.run.rounds["test_accuracy"] for one in shown]), *wanted])
    layout = {
        "yaxis": {
            "title": {"text": "test accuracy [%]"},
            "range": [0, 101 if highest > 0.85 else 104 * highest or 100],
        },
        "margin": {"r": 52},
        "annotations": [_target_label(value) for value in wanted],
    }
    drops = [target for one in shown[:1] for target in one.run.targets if alone and reached(target)]
    return _figure(shown, lines + marks, layout, lambda view, unit: _target_lines(wanted, drops, view, unit))


def loss(shown: Sequence[Shown]) -> Figure:
    """Test loss of every run, training loss where there is no other; of a run alone both."""
    test, train = _lines(shown, TEST_LOSS), _lines(shown, TRAIN_LOSS)
    both = len(shown) == 1 and bool(test and train)
    if both:
        test[0].trace["name"], train[0].trace["name"] = TEST_LOSS.name, TRAIN_LOSS.name
        train[0].trace.update(
            {"line": {"color": MUTED, "width": 1.6, "dash": "dot"}, "marker": {"color": MUTED, "size": 8}}
        )
    lines = test + train if both else test or train
    lowest = min((min(line.trace["y"]) for line in lines), default=0)
    title = "loss" if both else (TEST_LOSS if test else TRAIN_LOSS).name
    layout = {
        "yaxis": {"title": {"text": title}, "rangemode": "tozero" if lowest >= 0 else "normal"},
        "showlegend": both,
        "legend": {"orientation": "h", "x": 1, "xanchor": "right", "y": 1, "yanchor": "bottom"},
    }
    return _figure(shown, lines, layout)


def distance(shown: Sequence[Shown]) -> Figure:
    """The quadratic problem's distance to the optimum, which is known."""
    lines = _lines(shown, DISTANCE)
    values = [value for line in lines for value in line.trace["y"]]
    decades = math.log10(max(values) / min(values)) if values else 0.0
    axis: Figure = {"title": {"text": DISTANCE.name}, "type": "log"}
    if decades >= 1:
        powers = range(
            math.floor(math.log10(min(values))), math.ceil(math.log10(max(values))) + 1, 1 + int(decades / 8)
        )
        axis |= {"tickvals": [10.0**power for power in powers], "ticktext": [power_of_ten(power) for power in powers]}
    return _figure(shown, lines, {"yaxis": axis})


def _lines(shown: Sequence[Shown], measure: Measure) -> list[Curve]:
    """A line for every run that has the measure."""
    found = []
    for one in shown:
        values = one.run.rounds[measure.column]
        rows = _thin(np.flatnonzero(np.isfinite(values) & (values > measure.above)))
        if rows.size:
            found.append(_line(one, measure, rows))
    return found


def _line(one: Shown, measure: Measure, rows: NDArray[np.intp]) -> Curve:
    rounds = one.run.rounds
    trace = {
        "type": "scatter",
        "mode": "lines" if rows.size > 1 else "markers",
        "name": safe(one.label),
        "y": short(measure.factor * rounds[measure.column][rows]),
        "line": {"color": one.colour, "width": 2.2, "dash": one.dash},
        "marker": {"color": one.colour, "size": 8},
        "customdata": short(rounds["number"][rows], 9),
    }

    def across(view: View, unit: Unit) -> Figure:
        place = "" if view.name == "round" else f", %{{x:.4~g}} {unit.name}"
        hover = f"{measure.name} {measure.form}<br>round %{{customdata}}{place}"
        return {"x": short(rounds[view.column][rows] / unit.size, 5), "hovertemplate": hover}

    return Curve(trace, across)


def _thin(rows: NDArray[np.intp]) -> NDArray[np.intp]:
    """An even pick of the rows that keeps the first and the last."""
    if rows.size <= MOST_POINTS:
        return rows
    return np.take(rows, np.linspace(0, rows.size - 1, MOST_POINTS).round().astype(np.intp))


def _crossings(one: Shown, *, alone: bool) -> Curve:
    """The points where targets were reached; a run alone on the chart has them written out."""
    hits = [target for target in one.run.targets if reached(target)]
    trace = {
        "type": "scatter",
        "mode": "markers+text" if alone else "markers",
        "name": safe(one.label),
        "y": [_height(one, target) for target in hits],
        "marker": {"color": "#ffffff", "size": 9, "line": {"color": one.colour, "width": 2.2}},
        "textposition": "bottom right",
        "textfont": {"color": INK},
        "cliponaxis": False,
        "customdata": [_told(target) for target in hits],
        "hovertemplate": "%{customdata}",
    }

    def across(view: View, unit: Unit) -> Figure:
        return {"x": _places(hits, view, unit), "text": [_mark(target, view) for target in hits]}

    return Curve(trace, across)


def _told(target: Mapping[str, Any]) -> str:
    cost = f"{quantity(target.get('time_s'), TIME)}, {quantity(target.get('energy_j'), ENERGY)}"
    return f"{percent(target['accuracy'])} reached in round {quantity(target['round'])}<br>{cost}"


def _height(one: Shown, target: Mapping[str, Any]) -> float:
    """The accuracy, in percent, of the round that reached the target."""
    row = np.flatnonzero(one.run.rounds["number"] == target["round"])
    value = float(one.run.rounds["test_accuracy"][row[0]]) if row.size else np.nan
    return round(100 * (value if np.isfinite(value) else float(target["accuracy"])), 3)


def _mark(target: Mapping[str, Any], view: View) -> str:
    text = quantity(target.get(view.crossing), view.units)
    return f"  round {text}" if view.name == "round" else f"  {text}"


def _places(hits: Sequence[Mapping[str, Any]], view: View, unit: Unit) -> list[float | int | None]:
    """Where on the horizontal axis the targets were reached."""
    found = [as_number(target.get(view.crossing)) for target in hits]
    return short(np.array([np.nan if value is None else value for value in found]) / unit.size, 5)


def _target_label(value: float) -> Figure:
    place = {"x": 1, "xref": "paper", "xanchor": "left", "y": 100 * value, "yanchor": "middle", "xshift": 4}
    return place | {"text": percent(value), "showarrow": False, "font": {"color": MUTED, "size": 12}}


def _target_lines(wanted: Sequence[float], hits: Sequence[Mapping[str, Any]], view: View, unit: Unit) -> list[Figure]:
    """A dashed line at each target, and one down to the axis where it is reached."""
    look = {"type": "line", "layer": "below", "line": {"color": "#9aa5b1", "width": 1, "dash": "4px,3px"}}
    across = [look | {"xref": "paper", "x0": 0, "x1": 1, "y0": 100 * value, "y1": 100 * value} for value in wanted]
    places = zip(hits, _places(hits, view, unit), strict=True)
    down = [look | {"x0": x, "x1": x, "y0": 0, "y1": 100 * target["accuracy"]} for target, x in places if x is not None]
    return across + down


def _session_lines(shown: Sequence[Shown], view: View, unit: Unit) -> list[Figure]:
    """Where a session ends and the next begins, for a run alone on the chart."""
    if len(shown) > 1:
        return []
    rounds = shown[0].run.rounds
    ends = short(rounds[view.column][np.flatnonzero(np.diff(rounds["session"]))] / unit.size, 5)
    look = {
        "type": "line",
        "layer": "below",
        "yref": "paper",
        "y0": 0,
        "y1": 1,
        "line": {"color": "#c3cbd3", "width": 1},
    }
    return [look | {"x0": x, "x1": x} for x in ends]


def _side_by_side(curves: Sequence[Curve], places: Sequence[Figure]) -> list[Figure]:
    """Equal curves drawn with equal places must not hide each other: the earlier are wider than the later."""
    drawn = [(curve.trace["y"], place["x"]) for curve, place in zip(curves, places, strict=True)]
    result = []
    for turn, (curve, place) in enumerate(zip(curves, places, strict=True)):
        hidden = sum(drawn[turn] == later for later in drawn[turn + 1 :])
        line = curve.trace.get("line", {})
        result.append(place | {"line": line | {"width": line["width"] + 3 * hidden}} if hidden and line else place)
    return result


def _figure(
    shown: Sequence[Shown],
    curves: Sequence[Curve],
    layout: Figure,
    shapes: Callable[[View, Unit], list[Figure]] = lambda _view, _unit: [],
) -> Figure:
    """The curves with, for every view, what changes with the horizontal axis."""
    views, last = {}, top([one.run.rounds["number"] for one in shown])
    for view in VIEWS:
        unit = fitting(top([one.run.rounds[view.column] for one in shown]), view.units)
        title = f"{view.title} [{unit.name}]" if unit.name else view.title
        whole: Figure = {"dtick": 1} if view.name == "round" and last <= 12 else {}
        views[view.name] = {
            "data": _side_by_side(curves, [curve.across(view, unit) for curve in curves]),
            "layout": {
                "xaxis": {"title": {"text": title}, "rangemode": "tozero"} | whole,
                "shapes": shapes(view, unit) + _session_lines(shown, view, unit),
            },
        }
    return {"data": [curve.trace for curve in curves], "layout": layout, "views": views}
