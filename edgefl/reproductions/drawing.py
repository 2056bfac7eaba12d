"""Draws the figure of a recipe from the measured rows: `figure.svg`, with a panel for each setting."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from edgefl.core.extras import require
from edgefl.reproductions import time_to_target
from edgefl.reproductions.figure import Figure
from edgefl.reproductions.readings.base import Reading, numbers_of
from edgefl.reproductions.readings.rounds import ColumnCurve
from edgefl.results.export.figure_style import STYLE

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from edgefl.core.arrays import Floats
    from edgefl.reproductions.comparison import Comparison
    from edgefl.reproductions.records import Row

FILE = "figure.svg"
ABREAST = 3
PANEL_IN = (3.2, 2.6)
BINS = 20
DOT = 4.0  # area in square points
LARGEST_DOT = 60.0  # of the entry with the largest number
DOT_ENTRY = 4  # numbers of an entry: x, y, colour, area
CELL_ENTRY = 3  # row, column, number


class Panel(NamedTuple):
    """A panel: a measure of the rows of one setting, by the names of lines."""

    title: str
    measure: str
    rows: Mapping[str, Sequence[Row]]


def draw(comparison: Comparison, folder: Path) -> list[Path]:
    """Write the figure of a comparison into a folder; return its file, or none if nothing has been measured.

    Raises:
        Unavailable: matplotlib is not installed.
    """
    figure = comparison.figure or _of_curves(comparison)
    if figure is None:
        return []
    if figure.kind == "time_to_target":
        return time_to_target.write(comparison.rows, figure, folder)
    panels = panels_of(figure, comparison.rows)
    if not panels:
        return []
    require("matplotlib", "plot", "figures of `edgefl reproduce`")
    import matplotlib as mpl
    from matplotlib.figure import Figure as Canvas

    across = min(ABREAST, len(panels))
    if len(figure.y) > 1:  # a line of panels for each measure
        across = len(panels) // len(figure.y) or 1
    down = math.ceil(len(panels) / across)
    path = folder / FILE
    with mpl.rc_context({**STYLE, "svg.hashsalt": comparison.name, "svg.fonttype": "none"}):
        canvas = Canvas(figsize=(PANEL_IN[0] * across, PANEL_IN[1] * down), layout="constrained", facecolor="white")
        places = list(canvas.subplots(down, across, squeeze=False).flat)
        for axes, panel in zip(places, panels, strict=False):
            axes.set(title=panel.title, xlabel=figure.x or "round", ylabel=panel.measure.replace("_", " "))
            _draw_panel(axes, figure, panel, comparison.measures.get(panel.measure))
        for axes in places[len(panels) :]:
            axes.set_axis_off()
        canvas.savefig(path, metadata={"Date": None, "Creator": None})
    return [path]


def _of_curves(comparison: Comparison) -> Figure | None:
    """Return the figure of a recipe that declares none: its curves, if there are any and matplotlib is installed."""
    curves = [name for name, reading in comparison.measures.items() if isinstance(reading, ColumnCurve)]
    if not curves or not comparison.rows or find_spec("matplotlib") is None:
        return None
    axes = [axis for axis in comparison.rows[0].point if len({row.point[axis] for row in comparison.rows}) > 1]
    return Figure(y=tuple(curves), group=tuple(axes[-1:]))


def panels_of(figure: Figure, rows: Sequence[Row]) -> list[Panel]:
    """Return the panels of a figure, in the order of its measures and of the rows."""
    panels = []
    for measure in figure.y:
        found: dict[str, dict[str, list[Row]]] = {}
        for row in rows:
            if row.measures.get(measure):
                title = ", ".join(value for axis, value in row.point.items() if axis not in {*figure.group, figure.x})
                line = ", ".join(row.point[axis] for axis in figure.group)
                found.setdefault(title, {}).setdefault(line, []).append(row)
        panels += [Panel(title, measure, lines) for title, lines in found.items()]
    return panels


def mean_curve(rows: Sequence[Row], measure: str) -> Floats:
    """Return the mean [n] over rows of a curve, as far as all of them have it; rows without one do not count."""
    curves = [numbers_of(row.measures[measure]) for row in rows if row.measures.get(measure)]
    if not curves:
        return np.empty(0)
    shortest = min(len(curve) for curve in curves)
    return np.asarray(np.mean([curve[:shortest] for curve in curves], axis=0))


def rounds_of(reading: Reading | None, count: int) -> Floats:
    """Return the rounds [count] of the entries of a curve, whose reading may keep each nth round."""
    every = reading.every if isinstance(reading, ColumnCurve) else 1
    return every * np.arange(1.0, count + 1)


def _draw_panel(axes: Axes, figure: Figure, panel: Panel, reading: Reading | None) -> None:
    if figure.kind == "dots":
        _draw_dots(axes, figure, panel)
    elif figure.kind == "heatmap":
        _draw_heatmap(axes, figure, panel)
    elif figure.kind == "boxes":
        axes.set_xlabel(", ".join(figure.group))
        pooled = [_pooled(rows, panel.measure) for rows in panel.rows.values()]
        axes.boxplot(pooled, tick_labels=list(panel.rows), showfliers=False)
    else:
        for name, rows in panel.rows.items():
            _draw_line(axes, figure, panel, (name, rows), reading)
        if len(panel.rows) > 1 or figure.factors:
            axes.legend()
    if figure.log:
        axes.set_yscale("log")
        axes.yaxis.set_major_formatter("{x:g}")


def _draw_line(
    axes: Axes, figure: Figure, panel: Panel, line: tuple[str, Sequence[Row]], reading: Reading | None
) -> None:
    name, rows = line
    if figure.kind == "histogram":
        axes.set(xlabel=panel.measure.replace("_", " "), ylabel="density")
        axes.hist(_pooled(rows, panel.measure), BINS, density=True, histtype="step", label=name)
    elif figure.x is not None:
        places = list(dict.fromkeys(row.point[figure.x] for row in rows))
        means = [
            np.mean([float(row.measures[panel.measure]) for row in rows if row.point[figure.x] == place])
            for place in places
        ]
        for label, factor in (figure.factors or {name: 1.0}).items():
            axes.plot([float(place) for place in places], factor * np.array(means), marker="o", label=label)
    else:
        curve = mean_curve(rows, panel.measure)
        known = np.isfinite(curve)
        if figure.kind == "percentiles":
            axes.set(xlabel=panel.measure.replace("_", " "), ylabel="percentile")
            axes.plot(curve, np.linspace(0.0, 100.0, len(curve) + 2)[1:-1], label=name)
        else:
            (mean,) = axes.plot(rounds_of(reading, len(curve))[known], curve[known], label=name)
            for row in rows if len(rows) > 1 else ():
                of_seed = np.array(numbers_of(row.measures[panel.measure]))
                axes.plot(rounds_of(reading, len(of_seed)), of_seed, color=mean.get_color(), alpha=0.3, linewidth=0.5)


def _pooled(rows: Sequence[Row], measure: str) -> Floats:
    numbers = np.array([number for row in rows for number in numbers_of(row.measures[measure])])
    return np.asarray(numbers[np.isfinite(numbers)])


def _draw_dots(axes: Axes, figure: Figure, panel: Panel) -> None:
    """Draw the numbers of the first seed as dots."""
    measures = _first(panel).measures
    numbers = np.array(numbers_of(measures[panel.measure]))
    if figure.x is not None:
        axes.scatter(numbers_of(measures[figure.x]), numbers, s=DOT, linewidths=0)
        axes.axhline(0.0, linewidth=0.5)
        axes.axvline(0.0, linewidth=0.5)
        return
    x, y, colour, area = numbers.reshape(-1, DOT_ENTRY).T
    axes.scatter(x, y, s=LARGEST_DOT * area / area.max(), c=colour, cmap="tab10", alpha=0.6, linewidths=0)


def _draw_heatmap(axes: Axes, figure: Figure, panel: Panel) -> None:
    """Draw the counts of the first seed as colours."""
    numbers = np.array(numbers_of(_first(panel).measures[panel.measure]))
    if figure.rows is not None:
        counts = numbers.reshape(figure.rows, -1)
    else:
        down, across, values = numbers.reshape(-1, CELL_ENTRY).T
        counts = np.zeros((int(down.max()) + 1, int(max(down.max(), across.max())) + 1))
        counts[down.astype(np.int64), across.astype(np.int64)] = values
    axes.imshow(np.log1p(counts), aspect="auto", cmap="viridis")  # a few large counts would outshine the others
    axes.set(xlabel="class", ylabel=panel.measure.replace("_", " "))


def _first(panel: Panel) -> Row:
    return next(iter(panel.rows.values()))[0]
