"""The figure of a sweep: time and energy to a target over a key, a line for each setting of the other keys."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from edgefl.core.arrays import Floats
from edgefl.core.errors import InputError
from edgefl.core.units import as_number, digits, fitting, top, with_unit
from edgefl.results.export.figure_style import LEGEND_CHARACTERS, LineLook, look_of, wrapped
from edgefl.results.report.shared.style import spans_decades
from edgefl.results.report.sweep.answer import lines_along
from edgefl.results.report.sweep.estimates import EstimateColumn, estimate_columns, first_goal
from edgefl.results.report.sweep.measures import Goal, goals, measure_title
from edgefl.results.report.sweep.study import Study, SweptKey

if TYPE_CHECKING:
    from matplotlib.axes import Axes

NO_TARGET = "none"  # selects the whole run
MOST_LINES = 12  # that readers can tell apart
MOST_TICKS = 8  # up to which all values of a key are at the axis
MOST_UPRIGHT = 5  # categories whose names fit side by side
MARKER_SIZE = 3.5
BAND_OPACITY = 0.2
DODGE = 0.5  # of the distance of two categories, over which lines are spread


class SweepChoice(NamedTuple):
    """The content of a sweep's figure; None: the default."""

    over: str | None = None  # the key on the horizontal axis
    target: str | None = None  # an accuracy, or `none` for the whole run


class SweepLine(NamedTuple):
    """Points that differ only in the key on the horizontal axis, and their look."""

    points: Sequence[int]
    label: str  # the values of the other keys
    look: LineLook
    shift: float  # along an axis of categories, so that points do not cover each other


class SweepPanels(NamedTuple):
    """The panels of a sweep's figure: the measures, the key and the lines."""

    study: Study
    key: SweptKey
    columns: Sequence[EstimateColumn]  # one for each panel
    titles: Sequence[str]
    lines: Sequence[SweepLine]

    @property
    def labels(self) -> list[str]:
        """The labels of the legend; none for a single line."""
        return [line.label for line in self.lines if line.label]


def panels_of(study: Study, choice: SweepChoice) -> SweepPanels:
    """Return the panels of a sweep's figure.

    Raises:
        InputError: the sweep has no such key or target, or more lines than a figure can show.
    """
    number = _key_number(study, choice.over)
    estimates = estimate_columns(study)
    goal = _goal(study, estimates, choice.target)
    columns = [estimates[goal.time], estimates[goal.energy]]
    titles = [measure_title(column.measure, goal) for column in columns]
    along = lines_along(study, number)
    if len(along) > MOST_LINES:
        text = f"has {len(along)} settings of the other keys, and a figure shows at most {MOST_LINES}"
        raise InputError(f"export: --figure sweep: {text}: choose another key with --over, or export a table")
    lines = []
    for place, points in enumerate(along):
        shift = 0.0
        if study.keys[number].numbers is None and len(along) > 1:
            shift = DODGE * (place / (len(along) - 1) - 0.5)
        label = study.point_text(points[0], without=number)
        lines.append(SweepLine(points, label, look_of(place), shift))
    return SweepPanels(study, study.keys[number], columns, titles, lines)


def _key_number(study: Study, over: str | None) -> int:
    """Return the number of the key on the horizontal axis; by default the first range of numbers."""
    paths = [key.path for key in study.keys]
    if not paths:
        raise InputError(f"export: --figure sweep: {study.folder} varies no key")
    if over is None:
        has_range = [key.numbers is not None and len(key.texts) > 1 for key in study.keys]
        return int(np.argmax(has_range))  # 0 without any
    if over not in paths:
        raise InputError(f"export: --over {over}: is not a key of the sweep: use one of {', '.join(paths)}")
    return paths.index(over)


def _goal(study: Study, estimates: dict[str, EstimateColumn], target: str | None) -> Goal:
    """Return the requested goal, by default the highest target that most points reached."""
    every = goals(study)
    if target is None:
        return every[first_goal(estimates, every)]
    if target == NO_TARGET:
        return every[-1]
    accuracy = as_number(target)
    names = study.targets
    for name, goal in zip(names, every, strict=False):
        if accuracy is not None and math.isclose(float(name), accuracy, rel_tol=1e-6):
            return goal
    known = ", ".join([*names, NO_TARGET])
    raise InputError(f"export: --target {target}: is not a target of the sweep: use one of {known}")


def draw_panel(axes: Axes, panels: SweepPanels, number: int) -> None:
    """Draw one measure over the key: means with their 95 % confidence intervals, medians and lower bounds."""
    column = panels.columns[number]
    central = np.array([estimate.central for estimate in column.estimates])
    above = np.array([estimate.above for estimate in column.estimates])
    unit = fitting(top([central, above]), column.measure.units)
    for line in panels.lines:
        _draw_line(axes, panels, line, column, unit.size)
    shown = np.concatenate([central, above])
    shown = shown[np.isfinite(shown)]
    if shown.size and spans_decades(shown):
        axes.set_yscale("log")
        axes.yaxis.set_major_formatter(lambda value, _: digits(value))
        axes.yaxis.set_minor_formatter(lambda *_: "")
    else:
        axes.set_ylim(bottom=0)
    axes.set_ylabel(with_unit(panels.titles[number], unit))
    axes.grid(axis="y", linewidth=0.3)
    _set_key_axis(axes, panels.key)


def _draw_line(axes: Axes, panels: SweepPanels, line: SweepLine, column: EstimateColumn, size: float) -> None:
    """Draw the estimates of a line's points, in units of a size."""
    x = _places(panels, line)
    estimates = [column.estimates[point] for point in line.points]
    mean = np.array([estimate.mean for estimate in estimates]) / size
    half = np.array([estimate.half for estimate in estimates]) / size
    central = np.array([estimate.central for estimate in estimates]) / size
    above = np.array([estimate.above for estimate in estimates]) / size
    is_median = np.isfinite(central) & ~np.isfinite(mean)
    is_bound = np.isfinite(above) & ~np.isfinite(central)
    colour = line.look.colour
    # Student's t ignores that times and energies are positive.
    low = np.maximum(mean - half, np.nanmin(mean) / 10 if np.isfinite(mean).any() else 0.0)
    if panels.key.numbers is not None:
        axes.fill_between(x, low, mean + half, color=colour, alpha=BAND_OPACITY, linewidth=0)
        axes.plot(x, central, line.look.line_style, color=colour, label=line.label)
        style = line.look.marker
    else:
        style = line.look.marker
        axes.errorbar(x, mean, yerr=[mean - low, half], fmt="none", ecolor=colour, elinewidth=0.8, capsize=2)
    label = line.label if panels.key.numbers is None else None
    axes.plot(x, mean, style, color=colour, markersize=MARKER_SIZE, label=label)
    axes.plot(x[is_median], central[is_median], "o", color=colour, markersize=MARKER_SIZE + 1, fillstyle="none")
    axes.plot(x[is_bound], above[is_bound], "^", color=colour, markersize=MARKER_SIZE + 2, fillstyle="none")


def _places(panels: SweepPanels, line: SweepLine) -> Floats:
    """Return the places [points] of a line's points on the horizontal axis."""
    number = list(panels.study.keys).index(panels.key)
    indices = np.array([panels.study.points[point].value_indices[number] for point in line.points])
    if panels.key.numbers is None:
        return np.asarray(indices + line.shift)
    return np.array([panels.key.numbers[index] for index in indices])


def _set_key_axis(axes: Axes, key: SweptKey) -> None:
    axes.set_xlabel(with_unit(key.title, key.unit))
    if key.numbers is None:
        count = len(key.texts)
        if count > MOST_UPRIGHT:
            axes.set_xticks(range(count), key.texts, rotation=40, ha="right")
        else:
            axes.set_xticks(range(count), [wrapped(text, LEGEND_CHARACTERS // count) for text in key.texts])
        axes.set_xlim(-0.5, count - 0.5)
        return
    numbers = np.array(key.numbers)
    if len(numbers) > 1 and spans_decades(numbers):
        axes.set_xscale("log")
        axes.xaxis.set_minor_formatter(lambda *_: "")
        if len(numbers) > MOST_TICKS:
            axes.xaxis.set_major_formatter(lambda value, _: digits(value))
    if len(numbers) <= MOST_TICKS:
        axes.set_xticks(numbers, [digits(number) for number in key.numbers])
        axes.set_xticks([], minor=True)
