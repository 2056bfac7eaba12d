"""Charts of a comparison: published marks beside measured ones."""

import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from edgefl.reproductions.comparison import Cell, Comparison
from edgefl.reproductions.texts import difference_text, mean_text, place_text, published_text
from edgefl.results.report.shared.style import INK, MUTED, RUN_COLOURS, Figure, plotly_text

MOST_MARKED = 72  # cells with a place each; more cells are drawn over the printed numbers
MOST_TICKS = 8  # of a logarithmic axis
MEASURED_COLOUR = RUN_COLOURS[0]
OUTSIDE_COLOUR = RUN_COLOURS[1]


class Chart(NamedTuple):
    """A chart of the page."""

    name: str
    title: str
    figure: Figure


def charts(comparison: Comparison) -> list[Chart]:
    """Return a chart for each measure that was measured or printed."""
    found = []
    for number, measure in enumerate(dict.fromkeys(cell.measure for cell in comparison.cells)):
        cells = [cell for cell in comparison.cells if cell.measure == measure and (cell.asked or cell.is_measured)]
        if cells:
            found.append(Chart(f"cells-{number}", measure.replace("_", " "), _marks(comparison, cells)))
    return found


def _marks(comparison: Comparison, cells: Sequence[Cell]) -> Figure:
    if len(cells) <= MOST_MARKED:
        return _beside(comparison, cells)
    return _over_printed([cell for cell in cells if cell.asked and cell.mean is not None])


def _beside(comparison: Comparison, cells: Sequence[Cell]) -> Figure:
    places = _places(comparison, cells)
    printed = [cell.printed_number for cell in cells]
    traces = [_seed_marks(cells, places), *_mean_marks(cells, places)]
    marker = {"symbol": "diamond-open", "size": 11, "color": INK, "line": {"width": 1.6}}
    traces.append(_trace("published", places, printed, marker, [plotly_text(published_text(cell)) for cell in cells]))
    numbers = [number for number in printed if number is not None]
    numbers += [cell.mean for cell in cells if cell.mean is not None]
    traces += _diverged_marks(cells, places, lowest=min(numbers, default=0.0))
    title = {"title": {"text": plotly_text(cells[0].measure.replace("_", " "))}}
    layout = {"yaxis": _axis(numbers) | title, "hovermode": "closest"}
    if not isinstance(places[0], list):  # Plotly would take names such as 0.01 as numbers
        layout["xaxis"] = {"type": "category"}
    return {"data": traces, "layout": layout}


def _places(comparison: Comparison, cells: Sequence[Cell]) -> Any:
    """Return the horizontal places of cells: columns, and below them the rows if there are several."""
    columns = [plotly_text(cell.column or "measured") for cell in cells]
    names = _telling(comparison.row_names, cells)
    outer = [plotly_text(place_text(names, cell.row)) for cell in cells]
    if len(set(outer)) < 2:
        return columns
    inner = columns
    if len(set(columns)) < 2:  # the last name of rows labels the marks
        inner = [plotly_text(cell.row.get(names[-1], "")) for cell in cells]
        outer = [plotly_text(place_text(names[:-1], cell.row)) for cell in cells]
    if len(set(outer)) < 2:
        return inner
    return [outer, inner]


def _telling(names: Sequence[str], cells: Sequence[Cell]) -> list[str]:
    """Return as few names of rows as tell the rows apart, for short labels."""
    kept = list(names)
    rows = len({tuple(cell.row.items()) for cell in cells})
    for name in reversed(names):
        others = [one for one in kept if one != name]
        if others and len({tuple(cell.row.get(one) for one in others) for cell in cells}) == rows:
            kept = others
    return kept


def _seed_marks(cells: Sequence[Cell], places: Any) -> Figure:
    rows = [row for row, cell in enumerate(cells) for _ in cell.by_seed]
    values = [one.number for cell in cells for one in cell.by_seed.values()]
    texts = [f"seed {seed}: {one.text}" for cell in cells for seed, one in cell.by_seed.items()]
    marker = {"symbol": "circle", "size": 5, "color": MEASURED_COLOUR, "opacity": 0.45}
    return _trace("by seed", _picked(places, rows), values, marker, texts)


def _mean_marks(cells: Sequence[Cell], places: Any) -> list[Figure]:
    traces = []
    for is_outside, colour, name in ((False, MEASURED_COLOUR, "measured"), (True, OUTSIDE_COLOUR, "outside tolerance")):
        rows = [row for row, cell in enumerate(cells) if cell.mean is not None and (cell.within is False) == is_outside]
        chosen = [cells[row] for row in rows]
        # If some runs did not reach the target, the mean is a lower bound.
        symbols = ["triangle-up-open" if cell.bound else "circle" for cell in chosen]
        marker = {"symbol": symbols, "size": 9, "color": colour}
        texts = [f"{mean_text(cell)}<br>{difference_text(cell)}" for cell in chosen]
        trace = _trace(name, _picked(places, rows), [cell.mean for cell in chosen], marker, texts)
        deviations = [cell.std or 0.0 for cell in chosen]
        trace["error_y"] = {"type": "data", "array": deviations, "color": colour, "thickness": 1.2, "width": 3}
        traces.append(trace)
    return traces


def _diverged_marks(cells: Sequence[Cell], places: Any, lowest: float) -> list[Figure]:
    """Return the word "diverged" in the place of each cell with a diverged run, which has no mean."""
    rows = [row for row, cell in enumerate(cells) if cell.diverged]
    if not rows:
        return []
    words = [mean_text(cells[row]) for row in rows]
    trace = _trace("diverged", _picked(places, rows), [lowest] * len(rows), {}, words)
    return [trace | {"mode": "text", "textfont": {"color": OUTSIDE_COLOUR}, "cliponaxis": False}]


def _over_printed(cells: Sequence[Cell]) -> Figure:
    """Return the chart of many cells: measured over printed numbers, and the line where they are equal."""
    printed = [cell.printed_number for cell in cells if cell.printed_number is not None]
    measured = [cell.mean for cell in cells if cell.mean is not None]
    traces = []
    if printed and measured:
        ends = [min(*printed, *measured), max(*printed, *measured)]
        traces.append(
            {"x": ends, "y": ends, "mode": "lines", "line": {"color": MUTED, "width": 1}, "hoverinfo": "skip"}
        )
    for is_outside, colour in ((False, MEASURED_COLOUR), (True, OUTSIDE_COLOUR)):
        chosen = [cell for cell in cells if (cell.within is False) == is_outside]
        texts = [plotly_text(f"{place_text(list(cell.row), cell.row)}, {cell.column}") for cell in chosen]
        xs = [cell.printed_number for cell in chosen]
        marker = {"size": 7, "color": colour, "opacity": 0.8}
        traces.append(_trace("", xs, [cell.mean for cell in chosen], marker, texts))
    axes = {"xaxis": {"title": {"text": "published"}}, "yaxis": {"title": {"text": "measured"}}}
    return {"data": traces, "layout": {**axes, "hovermode": "closest"}}


def _trace(name: str, x: Any, y: Sequence[float | None], marker: Mapping[str, Any], texts: Sequence[str]) -> Figure:
    return {
        "name": name,
        "x": x,
        "y": list(y),
        "mode": "markers",
        "marker": dict(marker),
        "text": list(texts),
        "hovertemplate": "%{text}<extra>" + name + "</extra>",
    }


def _picked(places: Any, rows: Sequence[int]) -> Any:
    if places and isinstance(places[0], list):
        return [[axis[row] for row in rows] for axis in places]
    return [places[row] for row in rows]


def _axis(numbers: Sequence[float]) -> dict[str, Any]:
    """Return the vertical axis of numbers: logarithmic if they are positive and span more than two decades."""
    if not numbers or min(numbers) <= 0 or max(numbers) <= 100 * min(numbers):
        return {}
    decades = math.log10(max(numbers) / min(numbers))
    return {"type": "log", "dtick": math.ceil(decades / MOST_TICKS), "exponentformat": "power"}
