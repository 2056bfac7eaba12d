"""Accuracy targets on the accuracy chart: a line at each target, and a mark where a run first reached it."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from edgefl.core.units import ENERGY, TIME, Unit, as_number, percent, quantity, short
from edgefl.results.report.shared.error_bars import ENDS, bar
from edgefl.results.report.shared.read import reached
from edgefl.results.report.shared.style import INK, MUTED, Figure, StyledRun, plotly_text
from edgefl.results.report.shared.views import Curve, View

TargetResult = Mapping[str, Any]  # an entry of `targets` in summary.json
TEXT_HEIGHT = 0.055  # of the axis, for a line of text
LOWEST_COST = 0.03  # of the axis: height of the lowest text next to a line
COST_SPACING = 0.07  # of the axis: from one of these texts to the next
RIGHT_PART = 0.75  # of the axis: right of this, text stands left of its line
DASHED = {"type": "line", "layer": "below", "line": {"color": "#9aa5b1", "width": 1, "dash": "4px,3px"}}


def crossings(run: StyledRun) -> Curve:
    """Return marks at the points where a run reached its targets."""
    hits = _hits(run)
    trace = {
        "type": "scatter",
        "mode": "markers",
        "name": plotly_text(run.label),
        "meta": {"what": "targets reached"},
        "y": [_height(run, target) for target in hits],
        "marker": {"color": "#ffffff", "size": 9, "line": {"color": run.colour, "width": 2.2}},
        "cliponaxis": False,  # a mark at 100 % is not cut in half
        "customdata": [_hover_text(target) for target in hits],
        "hovertemplate": "%{customdata}",
    }

    def horizontal(view: View, unit: Unit) -> Figure:
        bars = {**_bars(hits, view, unit), "color": run.colour, "thickness": 1.5}
        return {"x": _reached_at(hits, view, unit), "error_x": bars}

    return Curve(trace, horizontal)


def _hits(run: StyledRun) -> list[TargetResult]:
    return [target for target in run.data.targets if reached(target)]


def _hover_text(target: TargetResult) -> str:
    time = quantity(target.get("time_s"), TIME)
    energy = quantity(target.get("energy_j"), ENERGY)
    return f"{percent(target['accuracy'])} reached in round {quantity(target['round'])}<br>{time}, {energy}"


def _height(run: StyledRun, target: TargetResult) -> float:
    """Return the accuracy [%] of the round that reached the target; that of the target where it is not known.

    So the mark lies on the curve, which may have jumped over the target.
    """
    rows = np.flatnonzero(run.data.rounds["number"] == target["round"])
    accuracy = np.nan
    if rows.size:
        accuracy = float(run.data.rounds["test_accuracy"][rows[0]])
    if not np.isfinite(accuracy):
        accuracy = float(target["accuracy"])
    return round(100 * accuracy, 3)


def _bars(hits: Sequence[TargetResult], view: View, unit: Unit) -> Figure:
    """Return the error bars of the marks; hidden where a target has none."""
    ends = [bar(target, view.crossing) if view.crossing in ENDS else None for target in hits]
    if None in ends or not ends:
        return {"visible": False}
    values = np.array([as_number(target.get(view.crossing)) for target in hits], np.float64)
    low, high = np.array(ends, np.float64).T
    return {
        "visible": True,
        "symmetric": False,
        "array": short((high - values) / unit.size, 5),
        "arrayminus": short((values - low) / unit.size, 5),
    }


def _reached_at(hits: Sequence[TargetResult], view: View, unit: Unit) -> list[float | int | None]:
    found = [as_number(target.get(view.crossing)) for target in hits]
    return short(np.array(found, np.float64) / unit.size, 5)


def lines(targets: Sequence[float], alone: StyledRun | None, ceiling: float, view: View, unit: Unit) -> Figure:
    """Return the part of the layout that shows the targets.

    Each accuracy, in growing order, has a dashed line. If the chart has only one run, lines with costs mark where it
    reached them. The vertical axis ends at the ceiling [%].
    """
    whole_width = DASHED | {"xref": "paper", "x0": 0, "x1": 1}
    shapes = [whole_width | {"y0": 100 * target, "y1": 100 * target} for target in targets]
    annotations = _target_names(targets, ceiling)
    if alone:
        crossed = _crossed(alone, view, unit)
        for hit, x in crossed:
            shapes.append(DASHED | {"x0": x, "x1": x, "y0": 0, "y1": 100 * hit["accuracy"]})
        end = float(alone.data.rounds[view.column][-1]) / unit.size
        for index, (hit, x) in enumerate(reversed(crossed)):
            # Each text has a height of its own: targets are often reached soon after each other.
            height = ceiling * (LOWEST_COST + COST_SPACING * index)
            annotations.append(_cost(hit, view, x, end, height))
    return {"shapes": shapes, "annotations": annotations}


def _crossed(run: StyledRun, view: View, unit: Unit) -> list[tuple[TargetResult, float]]:
    hits = _hits(run)
    found = []
    for target, x in zip(hits, _reached_at(hits, view, unit), strict=True):
        if x is not None:
            found.append((target, x))
    return found


def _target_names(targets: Sequence[float], ceiling: float) -> list[Figure]:
    position = {"x": 1, "xref": "paper", "xanchor": "left", "xshift": 4, "yanchor": "middle"}
    look = {"showarrow": False, "font": {"color": MUTED, "size": 12}}
    heights = _spread([100 * target for target in targets], ceiling)
    names = []
    for target, height in zip(targets, heights, strict=True):
        names.append(position | look | {"y": height, "text": percent(target)})
    return names


def _spread(heights: Sequence[float], ceiling: float) -> list[float]:
    """Return growing heights, moved so that a line of text at each is legible and none is above the ceiling.

    They move up until they do not overlap, then those above the ceiling move down and push others below them.
    """
    step = TEXT_HEIGHT * ceiling
    moved = list(heights)
    for index in range(1, len(moved)):
        moved[index] = max(moved[index], moved[index - 1] + step)
    moved = [min(height, ceiling) for height in moved]
    for index in reversed(range(len(moved) - 1)):
        moved[index] = min(moved[index], moved[index + 1] - step)
    return moved


def _cost(target: TargetResult, view: View, x: float, end: float, height: float) -> Figure:
    """Return the cost of a target as text next to the foot of its line, on the side that has room."""
    cost = quantity(target.get(view.crossing), view.units)
    if view.name == "round":
        cost = f"round {cost}"
    side = {"xanchor": "left", "xshift": 5}
    if x > RIGHT_PART * end:
        side = {"xanchor": "right", "xshift": -5}
    return side | {
        "text": f"{percent(target['accuracy'])}: {cost}",
        "showarrow": False,
        "font": {"color": INK, "size": 12.5},
        "bgcolor": "rgba(255,255,255,0.85)",  # legible where a curve passes below
        "x": x,
        "y": height,
        "yanchor": "bottom",
        "borderpad": 0,
    }
