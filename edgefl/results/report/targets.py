"""Accuracy targets on the accuracy chart: a line at each, and a mark where a run first reached it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import accumulate
from typing import Any

import numpy as np

from edgefl.core.units import ENERGY, TIME, Unit, as_number, percent, quantity, short
from edgefl.results.report.read import reached
from edgefl.results.report.style import INK, MUTED, Figure, Shown, safe
from edgefl.results.report.views import Curve, View

APART = 5.5  # percent of the axis that a line of text needs
LINE = {"type": "line", "layer": "below", "line": {"color": "#9aa5b1", "width": 1, "dash": "4px,3px"}}
Target = Mapping[str, Any]


def crossings(one: Shown) -> Curve:
    """The points where a run reached its targets."""
    hits = [target for target in one.run.targets if reached(target)]
    trace = {
        "type": "scatter",
        "mode": "markers",
        "name": safe(one.label),
        "y": [_height(one, target) for target in hits],
        "marker": {"color": "#ffffff", "size": 9, "line": {"color": one.colour, "width": 2.2}},
        "cliponaxis": False,
        "customdata": [_told(target) for target in hits],
        "hovertemplate": "%{customdata}",
    }
    return Curve(trace, lambda view, unit: {"x": _places(hits, view, unit)})


def _told(target: Target) -> str:
    cost = f"{quantity(target.get('time_s'), TIME)}, {quantity(target.get('energy_j'), ENERGY)}"
    return f"{percent(target['accuracy'])} reached in round {quantity(target['round'])}<br>{cost}"


def _height(one: Shown, target: Target) -> float:
    """The accuracy, in percent, of the round that reached the target."""
    row = np.flatnonzero(one.run.rounds["number"] == target["round"])
    value = float(one.run.rounds["test_accuracy"][row[0]]) if row.size else np.nan
    return round(100 * (value if np.isfinite(value) else float(target["accuracy"])), 3)


def _places(hits: Sequence[Target], view: View, unit: Unit) -> list[float | int | None]:
    """Where on the horizontal axis the targets were reached."""
    found = [as_number(target.get(view.crossing)) for target in hits]
    return short(np.array([np.nan if value is None else value for value in found]) / unit.size, 5)


def lines(wanted: Sequence[float], alone: Shown | None, ceiling: float, view: View, unit: Unit) -> Figure:
    """A dashed line at each target; for a run alone on the chart, one down to the axis with what it took."""
    hits = [target for target in alone.run.targets if reached(target)] if alone else []
    places = [(hit, x) for hit, x in zip(hits, _places(hits, view, unit), strict=True) if x is not None]
    across = [LINE | {"xref": "paper", "x0": 0, "x1": 1, "y0": 100 * value, "y1": 100 * value} for value in wanted]
    down = [LINE | {"x0": x, "x1": x, "y0": 0, "y1": 100 * hit["accuracy"]} for hit, x in places]
    end = float(alone.run.rounds[view.column][-1]) / unit.size if alone else 1.0
    texts = [_cost(hit, view, x, end, ceiling * (0.03 + 0.07 * turn)) for turn, (hit, x) in enumerate(reversed(places))]
    return {"shapes": across + down, "annotations": _names(wanted, ceiling) + texts}


def _names(wanted: Sequence[float], ceiling: float) -> list[Figure]:
    """The targets at the right border."""
    place = {"x": 1, "xref": "paper", "xanchor": "left", "xshift": 4, "yanchor": "middle"}
    look = {"showarrow": False, "font": {"color": MUTED, "size": 12}}
    heights = zip(wanted, _spread([100 * value for value in wanted], ceiling), strict=True)
    return [place | look | {"y": height, "text": percent(value)} for value, height in heights]


def _spread(heights: Sequence[float], ceiling: float) -> list[float]:
    """Growing heights moved up until they are apart, then down from the ceiling, beyond which none is drawn."""
    step = APART / 100 * ceiling
    up = list(accumulate(heights, lambda below, height: max(height, below + step)))
    return list(accumulate([min(height, ceiling) for height in up[::-1]], lambda above, h: min(h, above - step)))[::-1]


def _cost(target: Target, view: View, x: float, end: float, height: float) -> Figure:
    """What reaching a target took, written beside the foot of its line, on the side that has room."""
    cost = quantity(target.get(view.crossing), view.units)
    text = f"{percent(target['accuracy'])}: {'round ' if view.name == 'round' else ''}{cost}"
    side = {"xanchor": "right", "xshift": -5} if x > 0.75 * end else {"xanchor": "left", "xshift": 5}
    look = {"text": text, "showarrow": False, "font": {"color": INK, "size": 12.5}, "bgcolor": "rgba(255,255,255,0.85)"}
    return side | look | {"x": x, "y": height, "yanchor": "bottom", "borderpad": 0}
