"""Learning curves: accuracy, loss, and the toy problem's distance to its optimum."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from edgefl.core.arrays import Floats
from edgefl.core.units import Unit, digits, power_of_ten, short, top
from edgefl.results.report import targets, views
from edgefl.results.report.read import Run, reached
from edgefl.results.report.style import MUTED, Figure, Shown, even, safe

MOST_POINTS = 600
GAP = -1  # in the place of a row: the line is broken


class Measure(NamedTuple):
    """A column of ``rounds.csv`` as it is drawn."""

    column: str
    name: str
    form: str
    factor: float = 1.0
    above: float = -np.inf


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
    marks = [targets.crossings(one) for one in shown if any(map(reached, one.run.targets))]
    wanted = sorted({target["accuracy"] for one in shown for target in one.run.targets})
    highest = max([top([one.run.rounds["test_accuracy"] for one in shown]), *wanted])
    ceiling = 101 if highest > 0.85 else 104 * highest or 100
    layout = {"yaxis": {"title": {"text": "test accuracy [%]"}, "range": [0, ceiling]}, "margin": {"r": 52}}
    alone = shown[0] if len(shown) == 1 and shown[0].run.length else None
    moving = partial(targets.lines, wanted, alone, ceiling)
    return views.figure(shown, _lines(shown, ACCURACY) + marks, layout, moving)


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
    lowest = min((y for line in lines for y in line.trace["y"] if y is not None), default=0)
    title = "loss" if both else (TEST_LOSS if test else TRAIN_LOSS).name
    layout = {
        "yaxis": {"title": {"text": title}, "rangemode": "tozero" if lowest >= 0 else "normal"},
        "showlegend": both,
        "legend": {"orientation": "h", "x": 1, "xanchor": "right", "y": 1, "yanchor": "bottom"},
    }
    return views.figure(shown, lines, layout)


def distance(shown: Sequence[Shown]) -> Figure:
    """The quadratic problem's distance to the optimum, which is known."""
    lines = _lines(shown, DISTANCE)
    values = [value for line in lines for value in line.trace["y"] if value is not None]
    axis = {"title": {"text": DISTANCE.name}, "type": "log"} | (_ticks(min(values), max(values)) if values else {})
    return views.figure(shown, lines, {"yaxis": axis})


def _ticks(low: float, high: float) -> Figure:
    """Powers of ten as text of one size; between them 2 and 5 where there are few, none where there are too many."""
    decades = math.log10(high / low)
    powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1, 1 + int(decades / 8))
    if decades >= 2:
        return {"tickvals": [10.0**power for power in powers], "ticktext": [power_of_ten(power) for power in powers]}
    values = [factor * 10.0**power for power in powers for factor in (1, 2, 5)]
    return {"tickvals": values, "ticktext": [digits(value) for value in values]} if decades > 0.3 else {}


def _lines(shown: Sequence[Shown], measure: Measure) -> list[views.Curve]:
    """A line for every run that has the measure."""
    found = []
    for one in shown:
        values = one.run.rounds[measure.column]
        rows = np.flatnonzero(np.isfinite(values) & (values > measure.above))
        if rows.size:
            found.append(_line(one, measure, _broken(one.run, rows[even(rows.size, MOST_POINTS)])))
    return found


def _broken(run: Run, rows: NDArray[np.intp]) -> NDArray[np.intp]:
    """Rows with GAP where between two of them a session's extra rounds lie."""
    extra = np.concatenate([[0], np.cumsum(run.rounds["round"] < 1)])
    return np.insert(rows, np.flatnonzero(extra[rows[1:]] - extra[rows[:-1] + 1]) + 1, GAP)


def _at(column: Floats, rows: NDArray[np.intp]) -> Floats:
    """Values at rows; NaN at GAP, which breaks a line."""
    return np.where(rows == GAP, np.nan, column[rows])


def _line(one: Shown, measure: Measure, rows: NDArray[np.intp]) -> views.Curve:
    rounds = one.run.rounds
    trace = {
        "type": "scatter",
        "mode": "lines" if rows.size > 1 else "markers",
        "name": safe(one.label),
        "y": short(measure.factor * _at(rounds[measure.column], rows)),
        "line": {"color": one.colour, "width": 2.2, "dash": one.dash},
        "marker": {"color": one.colour, "size": 8},
        "customdata": short(_at(rounds["number"], rows), 9),
    }

    def across(view: views.View, unit: Unit) -> Figure:
        place = "" if view.name == "round" else f", %{{x:.4~g}} {unit.name}"
        hover = f"{measure.name} {measure.form}<br>round %{{customdata}}{place}"
        return {"x": short(_at(rounds[view.column], rows) / unit.size, 5), "hovertemplate": hover}

    return views.Curve(trace, across)
