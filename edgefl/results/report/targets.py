"""Accuracy targets on the accuracy chart: a line at each, and a mark where a run first reached it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from edgefl.core.units import ENERGY, TIME, Unit, as_number, percent, quantity, short
from edgefl.results.report.read import reached
from edgefl.results.report.style import INK, MUTED, Figure, Shown, safe
from edgefl.results.report.views import DIGITS, Curve, View

APART = 5.5  # percent of the axis that a line of text needs
LOWEST_COST = 0.03  # of the axis: the height of the lowest text about a cost
COST_STEP = 0.07  # of the axis, from one such text to the next
RIGHT_QUARTER = 0.75  # of the run: beyond, texts stand on the left of their line
LINE = {"type": "line", "layer": "below", "line": {"color": "#9aa5b1", "width": 1, "dash": "4px,3px"}}
SummaryTarget = Mapping[str, Any]  # an entry of the summary's targets


def crossings(one: Shown) -> Curve:
    """Return the points where a run reached its targets, as a curve that is drawn as marks."""
    hits = _hits(one)
    trace = {
        "type": "scatter",
        "mode": "markers",
        "name": safe(one.label),
        "y": [_accuracy_percent(one, target) for target in hits],
        "marker": {"color": "#ffffff", "size": 9, "line": {"color": one.colour, "width": 2.2}},
        "cliponaxis": False,  # a mark at 100 % stays whole
        "customdata": [_hover_text(target) for target in hits],
        "hovertemplate": "%{customdata}",
    }
    return Curve(trace, lambda view, unit: {"x": _places(hits, view, unit)})


def _hits(one: Shown) -> list[SummaryTarget]:
    """Return the targets that the run reached."""
    return [target for target in one.run.targets if reached(target)]


def _hover_text(target: SummaryTarget) -> str:
    cost = f"{quantity(target.get('time_s'), TIME)}, {quantity(target.get('energy_j'), ENERGY)}"
    return f"{percent(target['accuracy'])} reached in round {quantity(target['round'])}<br>{cost}"


def _accuracy_percent(one: Shown, target: SummaryTarget) -> float:
    """Return the accuracy [%] of the round that reached the target: the mark sits on the curve, not on the target."""
    accuracy = float(target["accuracy"])  # where the table lacks the round, such as in a run that was cut short
    rows = np.flatnonzero(one.run.rounds["number"] == target["round"])
    if rows.size:
        tested = float(one.run.rounds["test_accuracy"][rows[0]])
        if np.isfinite(tested):
            accuracy = tested
    return round(100 * accuracy, 3)


def _places(hits: Sequence[SummaryTarget], view: View, unit: Unit) -> list[float | int | None]:
    """Return where on the horizontal axis the targets were reached [hits]; None where that is not known."""
    places = []
    for target in hits:
        place = as_number(target.get(view.crossing))
        places.append(np.nan if place is None else place)
    return short(np.array(places) / unit.size, DIGITS)


def lines(wanted: Sequence[float], alone: Shown | None, ceiling: float, view: View, unit: Unit) -> Figure:
    """Return the part of the layout that draws the targets.

    Args:
        wanted: the targets of all runs, growing; each has a dashed line with its name.
        alone: the run, if there is one only: lines down to the axis say what its targets took. The crossings of
            several runs would overlap, and tables beside the chart compare them.
        ceiling: the upper end of the accuracy axis [%].
        view: the choice of the horizontal axis.
        unit: the unit of that axis.
    """
    shapes = [
        LINE | {"xref": "paper", "x0": 0, "x1": 1, "y0": 100 * accuracy, "y1": 100 * accuracy} for accuracy in wanted
    ]
    notes = _names(wanted, ceiling)
    if alone:
        hits = _hits(alone)
        placed = [(hit, x) for hit, x in zip(hits, _places(hits, view, unit), strict=True) if x is not None]
        end = float(alone.run.rounds[view.column][-1]) / unit.size
        shapes += [LINE | {"x0": x, "x1": x, "y0": 0, "y1": 100 * hit["accuracy"]} for hit, x in placed]
        # Each text has a height of its own: targets are often reached soon after each other.
        for step, (hit, x) in enumerate(reversed(placed)):
            height = ceiling * (LOWEST_COST + COST_STEP * step)
            notes.append(_cost(hit, view, x, end, height))
    return {"shapes": shapes, "annotations": notes}


def _names(wanted: Sequence[float], ceiling: float) -> list[Figure]:
    """Return the targets in percent as texts at the right border."""
    place = {"x": 1, "xref": "paper", "xanchor": "left", "xshift": 4, "yanchor": "middle"}
    look = {"showarrow": False, "font": {"color": MUTED, "size": 12}}
    heights = _spread([100 * accuracy for accuracy in wanted], ceiling)
    return [
        place | look | {"y": height, "text": percent(accuracy)}
        for accuracy, height in zip(wanted, heights, strict=True)
    ]


def _spread(heights: Sequence[float], ceiling: float) -> list[float]:
    """Return growing heights moved so far apart that texts do not overlap, and none above the ceiling."""
    step = APART / 100 * ceiling
    spread: list[float] = []
    for height in heights:
        if spread:
            spread.append(max(height, spread[-1] + step))
        else:
            spread.append(height)
    # What was pushed through the ceiling comes down again, and pushes those below it.
    limit = ceiling
    for place in reversed(range(len(spread))):
        spread[place] = min(spread[place], limit)
        limit = spread[place] - step
    return spread


def _cost(target: SummaryTarget, view: View, x: float, end: float, height: float) -> Figure:
    """Return a text on what reaching a target took, beside the foot of its line, on the side that has room.

    Args:
        target: the target.
        view: the choice of the horizontal axis.
        x: where the target was reached.
        end: where the run ended.
        height: the lower end of the text [%].
    """
    cost = quantity(target.get(view.crossing), view.units)
    if view.name == "round":
        cost = f"round {cost}"
    if x > RIGHT_QUARTER * end:
        side = {"xanchor": "right", "xshift": -5}
    else:
        side = {"xanchor": "left", "xshift": 5}
    text = f"{percent(target['accuracy'])}: {cost}"
    look = {"text": text, "showarrow": False, "font": {"color": INK, "size": 12.5}, "bgcolor": "rgba(255,255,255,0.85)"}
    return side | look | {"x": x, "y": height, "yanchor": "bottom", "borderpad": 0}
