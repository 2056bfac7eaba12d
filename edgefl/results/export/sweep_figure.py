"""The figure of a sweep: measures over a key, a line for each method, small multiples for the other keys."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from edgefl.core.arrays import Floats
from edgefl.core.errors import InputError
from edgefl.core.units import PERCENT, Unit, digits, fitting, top, with_unit
from edgefl.results.export.figure_style import (
    LEGEND_CHARACTERS,
    LINE_STYLES,
    MARKERS,
    PAGE_IN,
    LineLook,
    look_of,
    wrapped,
)
from edgefl.results.report.shared.style import spans_decades
from edgefl.results.report.sweep.estimates import (
    EstimateColumn,
    chosen_goal,
    chosen_measures,
    estimate_columns,
    runs_shown,
)
from edgefl.results.report.sweep.measures import measure_title
from edgefl.results.report.sweep.selection import (
    Layout,
    StudyChoice,
    chosen_study,
    layout_of,
    setting_text,
    settings_of,
)
from edgefl.results.report.sweep.study import Study, SweptKey
from edgefl.results.statistics import FEWEST_FOR_INTERVAL, SeedEstimate

if TYPE_CHECKING:
    from matplotlib.axes import Axes

DEFAULT_MEASURES = ("time", "energy")
MOST_UPRIGHT = 5  # categories whose names fit side by side
MOST_ABREAST = 4  # panels in a row, where facets follow each other
LEAST_GAP_IN = 0.24  # between two ticks of an axis
MARKER_SIZE = 3.5
COVERED_BY = 1.2  # how much larger the marks of a line are than those of the next one
BAND_OPACITY = 0.2
DODGE = 0.5  # of the distance of two categories, over which lines are spread


class SweepLine(NamedTuple):
    """A setting of the keys that are lines, in all panels, and its look."""

    setting: tuple[int, ...]
    label: str
    look: LineLook
    shift: float  # along an axis of categories, so that points do not cover each other


class Facet(NamedTuple):
    """A setting of the keys that are panels, its points, and its place in the grid of chosen rows and columns."""

    heading: str
    points: Sequence[int]
    row: int
    place: int  # in the row


class SweepPanel(NamedTuple):
    """A panel: a measure at one setting of the facets, and its place in the grid."""

    column: EstimateColumn
    title: str  # of the measure
    heading: str  # the setting of the facets
    points: Sequence[int]
    row: int
    place: int  # in the row


class SweepPanels(NamedTuple):
    """The panels of a sweep's figure, the key along their axes, and the lines in each of them."""

    study: Study
    layout: Layout
    key: SweptKey
    interval: str
    lines: Sequence[SweepLine]
    panels: Sequence[SweepPanel]

    @property
    def labels(self) -> list[str]:
        """The labels of the legend; none for a single line."""
        return [line.label for line in self.lines if line.label]

    @property
    def shape(self) -> tuple[int, int]:
        """The number of rows of the grid, and of panels in a row."""
        rows = 1 + max(panel.row for panel in self.panels)
        return rows, 1 + max(panel.place for panel in self.panels)


def panels_of(whole: Study, choice: StudyChoice) -> SweepPanels:
    """Return the panels of a sweep's figure.

    Raises:
        InputError: the sweep has no such key, value, target or measure, or varies no key.
    """
    study = chosen_study(whole, choice)
    layout = layout_of(study, choice)
    if layout.over is None:
        raise InputError(f"export: --figure sweep: {study.folder} varies no key that could be its horizontal axis")
    estimates = estimate_columns(study)
    goal = chosen_goal(study, estimates, choice.target)
    measures = chosen_measures(estimates, goal, choice.measure, DEFAULT_MEASURES)
    panels: list[SweepPanel] = []
    in_grid = bool(layout.rows or layout.columns)
    abreast = 1 if choice.width == "single" else 2
    for measure in measures:
        title = measure_title(measure, goal)
        facets = _facets(study, layout)
        first_row = 1 + max((panel.row for panel in panels), default=-1)
        if len(facets) == 1:  # measures stand side by side
            first_row = len(panels) // abreast
        for number, facet in enumerate(facets):
            row = facet.row
            place = facet.place
            if len(facets) == 1:
                place = len(panels) % abreast
            elif not in_grid:
                row, place = divmod(number, min(_abreast(len(facets)), 2 * abreast))
            column = estimates[measure.name]
            panels.append(SweepPanel(column, title, facet.heading, facet.points, first_row + row, place))
    lines = _lines(study, layout, layout.over)
    return SweepPanels(study, layout, study.keys[layout.over], choice.interval or "ci95", lines, panels)


def _abreast(count: int) -> int:
    """Return how many of this many panels stand in a row, so that rows are of similar length."""
    return math.ceil(count / math.ceil(count / MOST_ABREAST))


def _facets(study: Study, layout: Layout) -> list[Facet]:
    every_point = range(len(study.points))
    rows = settings_of(study, layout.rows, every_point)
    across = [*layout.columns, *layout.facets]
    columns = settings_of(study, across, every_point)
    found = []
    for point in every_point:
        row = settings_of(study, layout.rows, [point])[0]
        column = settings_of(study, across, [point])[0]
        found.append((row, column))
    facets = []
    for row in rows:
        for column in columns:
            points = [point for point in every_point if found[point] == (row, column)]
            if points:
                texts = [setting_text(study, layout.rows, row), setting_text(study, across, column)]
                heading = "\n".join(text for text in texts if text)
                facets.append(Facet(heading, points, rows.index(row), columns.index(column)))
    return facets


def _lines(study: Study, layout: Layout, over: int) -> list[SweepLine]:
    settings = settings_of(study, layout.lines, range(len(study.points)))
    lines = []
    for place, setting in enumerate(settings):
        shift = 0.0
        if study.keys[over].numbers is None and len(settings) > 1:
            shift = DODGE * (place / (len(settings) - 1) - 0.5)
        # Dashes and markers, as one line may cover another.
        style = list(LINE_STYLES.values())[place % len(LINE_STYLES)]
        look = look_of(place)._replace(line_style=style, marker=MARKERS[place % len(MARKERS)])
        lines.append(SweepLine(setting, setting_text(study, layout.lines, setting), look, shift))
    return lines


def draw_panel(axes: Axes, panels: SweepPanels, number: int) -> None:
    """Draw one measure over the key at one setting of the facets: means with intervals, medians and lower bounds."""
    panel = panels.panels[number]
    # All panels of a measure share unit and axis, so that they can be compared.
    estimates = panel.column.estimates
    central = np.array([estimate.central for estimate in estimates])
    above = np.array([estimate.above for estimate in estimates])
    is_share = panel.column.measure.is_share
    unit = fitting(top([central, above]), panel.column.measure.units)
    for line in panels.lines:
        _draw_line(axes, panels, panel, line, unit.size)
    shown = np.concatenate([central, above])
    shown = shown[np.isfinite(shown)] / unit.size
    if shown.size and spans_decades(shown) and not is_share:
        axes.set_yscale("log")
        axes.set_ylim(shown.min() / 1.3, 1.3 * _highest(panels, estimates, shown, unit))
        axes.yaxis.set_major_formatter(lambda value, _: digits(value))
        axes.yaxis.set_minor_formatter(lambda *_: "")
    elif shown.size:
        axes.set_ylim(bottom=0, top=1.05 * _highest(panels, estimates, shown, unit))
    axes.set_ylabel(with_unit(panel.title, unit))
    if panel.heading:
        width = 2 * LEGEND_CHARACTERS // panels.shape[1]
        axes.set_title("\n".join(wrapped(line, width) for line in panel.heading.splitlines()), fontsize=8)
    axes.grid(axis="y", linewidth=0.3)
    _set_key_axis(axes, panels)


def _highest(panels: SweepPanels, estimates: Sequence[SeedEstimate], shown: Floats, unit: Unit) -> float:
    """Return the highest end of an interval, in a unit: the limit of all panels of a measure."""
    upper = np.array([estimate.mean + _half(panels, estimate) for estimate in estimates]) / unit.size
    highest = max(float(shown.max()), float(upper[np.isfinite(upper)].max(initial=0.0)))
    if unit in PERCENT:
        return min(highest, 100.0)
    return highest or 1.0


def _half(panels: SweepPanels, estimate: SeedEstimate) -> float:
    if panels.interval == "sd":
        return estimate.std
    return estimate.half


def _draw_line(axes: Axes, panels: SweepPanels, panel: SweepPanel, line: SweepLine, size: float) -> None:
    study = panels.study
    points = [point for point in panel.points if settings_of(study, panels.layout.lines, [point]) == [line.setting]]
    points.sort(key=lambda point: study.points[point].value_indices[panels.layout.over or 0])
    if not points:
        axes.plot([], [], line.look.line_style, color=line.look.colour, label=line.label)
        return
    x = _places(panels, line, points)
    estimates = [panel.column.estimates[point] for point in points]
    mean = np.array([estimate.mean for estimate in estimates]) / size
    half = np.array([_half(panels, estimate) for estimate in estimates]) / size
    half[[estimate.n < FEWEST_FOR_INTERVAL for estimate in estimates]] = np.nan
    central = np.array([estimate.central for estimate in estimates]) / size
    above = np.array([estimate.above for estimate in estimates]) / size
    is_median = np.isfinite(central) & ~np.isfinite(mean)
    is_bound = np.isfinite(above) & ~np.isfinite(central)
    colour = line.look.colour
    # Student's t ignores that times and energies are positive.
    low = np.maximum(mean - half, np.min(mean, initial=np.inf, where=np.isfinite(mean)) / 10)
    label = None
    # Larger below, as a line may cover another one.
    marker_size = MARKER_SIZE + COVERED_BY * (len(panels.lines) - 1 - panels.lines.index(line))
    if panels.key.numbers is not None:
        axes.fill_between(x, low, mean + half, color=colour, alpha=_opacity(panels), linewidth=0)
        axes.plot(x, central, line.look.line_style, color=colour, label=line.label)
    else:
        axes.errorbar(x, mean, yerr=[mean - low, half], fmt="none", ecolor=colour, elinewidth=0.8, capsize=2)
        label = line.label
    axes.plot(x, mean, line.look.marker, color=colour, markersize=marker_size, label=label)
    for place, point in zip(x, points, strict=True):
        # Of few runs each is shown, as on the page: an interval would say little.
        runs = np.array(runs_shown(study, panel.column, point)) / size
        axes.plot(np.full(len(runs), place), runs, ".", color=colour, markersize=MARKER_SIZE - 1, alpha=0.5)
    axes.plot(
        x[is_median], central[is_median], line.look.marker, color=colour, markersize=MARKER_SIZE + 1, fillstyle="none"
    )
    axes.plot(x[is_bound], above[is_bound], "^", color=colour, markersize=MARKER_SIZE + 2, fillstyle="none")


def _opacity(panels: SweepPanels) -> float:
    """Return the opacity of a band: many bands lie on each other."""
    if len(panels.lines) < 3:
        return BAND_OPACITY
    return BAND_OPACITY / 2


def _places(panels: SweepPanels, line: SweepLine, points: Sequence[int]) -> Floats:
    number = panels.layout.over or 0
    indices = np.array([panels.study.points[point].value_indices[number] for point in points])
    if panels.key.numbers is None:
        return np.asarray(indices + line.shift)
    return np.array([panels.key.numbers[index] for index in indices])


def _set_key_axis(axes: Axes, panels: SweepPanels) -> None:
    key = panels.key
    axes.set_xlabel(with_unit(key.title, key.unit))
    abreast = panels.shape[1]
    if key.numbers is None:
        count = len(key.texts)
        if count * abreast > 2 * MOST_UPRIGHT:
            axes.set_xticks(range(count), key.texts, rotation=40, ha="right")
        else:
            axes.set_xticks(range(count), [wrapped(text, LEGEND_CHARACTERS // count) for text in key.texts])
        axes.set_xlim(-0.5, count - 0.5)
        return
    numbers = np.array(key.numbers)
    is_log = len(numbers) > 1 and spans_decades(numbers)
    if is_log:
        axes.set_xscale("log")
        axes.xaxis.set_minor_formatter(lambda *_: "")
    ticks = _apart(numbers, LEAST_GAP_IN * abreast / PAGE_IN, is_log=is_log)
    axes.set_xticks(ticks, [digits(number) for number in ticks])
    axes.set_xticks([], minor=True)


def _apart(numbers: Floats, least_gap: float, *, is_log: bool) -> list[float]:
    """Return the values of a key at which an axis has room for a tick, from the highest down; the lowest is kept."""
    places = numbers
    if is_log:
        places = np.log(numbers)
    length = float(np.ptp(places))
    if not length:
        return [float(number) for number in numbers]
    kept = [len(numbers) - 1]
    for number in reversed(range(len(numbers) - 1)):
        gap_above = (places[kept[-1]] - places[number]) / length
        gap_below = (places[number] - places[0]) / length
        if gap_above >= least_gap and (gap_below >= least_gap or number == 0):
            kept.append(number)
    return [float(numbers[number]) for number in reversed(kept)]
