"""Figures in print quality, PNG or PDF with embedded fonts: accuracy, energy by phase, sweeps."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, NamedTuple

import numpy as np

from edgefl.core.arrays import Floats
from edgefl.core.errors import InputError
from edgefl.core.extras import require
from edgefl.core.units import ENERGY, Unit, fitting, top, with_unit
from edgefl.results.export.exported_runs import check_options, groups_of, sweep_alone
from edgefl.results.export.figure_style import (
    COLUMN_IN,
    LEGEND_CHARACTERS,
    NO_DATE,
    PAGE_IN,
    PANEL_HEIGHT_IN,
    STYLE,
    LineLook,
    legend_height_in,
    look_of,
    tick_labels,
    wrapped,
)
from edgefl.results.export.sweep_figure import draw_panel, panels_of
from edgefl.results.labels import labels
from edgefl.results.reader import rows_of
from edgefl.results.report.comparison.seed_groups import SeedGroup
from edgefl.results.report.shared.read import Run
from edgefl.results.report.shared.style import ENERGY_PHASES
from edgefl.results.report.shared.views import VIEWS, View
from edgefl.results.report.sweep.selection import NO_CHOICE, StudyChoice
from edgefl.results.report.sweep.study import Study

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

FEWEST_BARS = 3  # there is room for these, as a single bar would fill the panel
ENERGY_BY_PHASE = "phases"
SWEEP = "sweep"


class TestMeasure(NamedTuple):
    """A measure of the global model's tests: a column of rounds.csv, and the axis on which it is drawn."""

    column: str
    title: str
    factor: float  # of the numbers on the axis


ACCURACY = TestMeasure("test_accuracy", "test accuracy [%]", 100.0)
LOSS = TestMeasure("test_loss", "test loss", 1.0)  # for samples without classes


class DrawnGroup(NamedTuple):
    """A group of runs and its look."""

    group: SeedGroup
    look: LineLook

    def label(self, characters: int) -> str:
        """Return the name of the group, in lines of at most so many characters."""
        return wrapped(self.group.label, characters)


def write(
    folders: Sequence[Path], part: str | None, sink: IO[bytes], form: str, choice: StudyChoice = NO_CHOICE
) -> None:
    """Write one panel at a column's width, or all panels at a page's; the default for a sweep is its figure."""
    require("matplotlib", "plot", f"export --format {form}")
    study = sweep_alone(folders)
    if part == SWEEP and study is None:
        raise InputError("export: --figure sweep: needs the folder of a sweep, and no other folder")
    if study is not None and part in {None, SWEEP}:
        _save(_draw_sweep(study, choice), sink, form)
        return
    check_options(choice, {"where", "width"} if study else {"width"}, "--figure sweep")
    _save(draw(groups_of(folders, choice.where), part, choice.width), sink, form)


def _save(figure: Figure, sink: IO[bytes], form: str) -> None:
    import matplotlib as mpl

    with mpl.rc_context(STYLE):
        figure.savefig(sink, format=form, metadata=NO_DATE[form])


def _draw_sweep(study: Study, choice: StudyChoice) -> Figure:
    panels = panels_of(study, choice)
    rows, columns = panels.shape
    with _figure(rows, columns, legend_height_in(panels.labels), choice.width or "double") as (figure, every_axes):
        grid = np.reshape(every_axes, (rows, -1))
        used = set()
        for number, panel in enumerate(panels.panels):
            axes = grid[panel.row, panel.place]
            used.add(axes)
            draw_panel(axes, panels, number)
            # Panels of one measure share their axis, which the first one of a row names.
            if panel.heading and panel.place:
                axes.set_ylabel("")
        for axes in every_axes:
            axes.set_visible(axes in used)
        if panels.labels:
            handles, labels = grid[0, 0].get_legend_handles_labels()
            shown = [wrapped(label, LEGEND_CHARACTERS) for label in labels]
            figure.legend(handles, shown, loc="outside upper left", ncols=_legend_columns(shown))
    return figure


def _legend_columns(labels: Sequence[str]) -> int:
    longest = max(len(line) for label in labels for line in label.splitlines())
    fitting_columns = 2 * LEGEND_CHARACTERS // (longest + 8)  # beside the line and the gap
    return max(1, min(len(labels), fitting_columns))


def draw(groups: Sequence[SeedGroup], part: str | None, width: str | None = None) -> Figure:
    """Return a figure with a line or a bar for each group of runs: one panel at a column's width, or all at a page's.

    The `part` is rounds, time, energy or phases; None stands for all with data. The `width` is single or double.

    Raises:
        InputError: curves were requested, but no run was tested.
    """
    drawn = [DrawnGroup(group, look_of(number)) for number, group in enumerate(groups)]
    views = accuracy_views()
    measure = measure_of([run for group in groups for run in group.runs])
    names = _panel_names(part, list(views), tested=measure is not None)
    has_legend = len(drawn) > 1 and names != [ENERGY_BY_PHASE]  # bars have labels at the axis
    legend_in = 0.0
    if has_legend:
        legend_in = legend_height_in([one.group.label for one in drawn])  # the panels keep their height
    columns = 1 if width == "single" else min(2, len(names))
    with _figure(math.ceil(len(names) / columns), columns, legend_in, width) as (figure, panels):
        for axes, name in zip(panels, names, strict=False):
            if name == ENERGY_BY_PHASE:
                _draw_energy(axes, drawn)
            elif measure is not None:
                _draw_tests(axes, drawn, views[name], measure)
        if has_legend:
            figure.legend(*panels[0].get_legend_handles_labels(), loc="outside upper left")
    return figure


@contextmanager
def _figure(rows: int, columns: int, legend_in: float, width: str | None) -> Iterator[tuple[Figure, Any]]:
    import matplotlib as mpl  # after `require`

    from edgefl.results.export.shown_figure import ShownFigure

    width_in = PAGE_IN
    if width == "single" or (width is None and columns == 1):
        width_in = COLUMN_IN
    # Not by pyplot, which looks for a display and keeps every figure.
    with mpl.rc_context(STYLE):
        figure = ShownFigure(figsize=(width_in, PANEL_HEIGHT_IN * rows + legend_in), layout="constrained")
        yield figure, np.ravel(figure.subplots(rows, columns))


def accuracy_views() -> dict[str, View]:
    """Return the horizontal axes by the name of the option `--figure`."""
    names = {"round": "rounds"}
    return {names.get(view.name, view.name): view for view in VIEWS}


def measure_of(runs: Sequence[Run]) -> TestMeasure | None:
    """Return the measure of the runs' curves: accuracies, or losses if no run has classes; None without tests."""
    for measure in (ACCURACY, LOSS):
        if any(run.last(measure.column) is not None for run in runs):
            return measure
    return None


def _panel_names(part: str | None, views: Sequence[str], *, tested: bool) -> list[str]:
    if part in views and not tested:
        raise InputError(f"export: --figure {part}: no accuracy was measured; there is --figure {ENERGY_BY_PHASE}")
    if part:
        return [part]
    if tested:
        return [*views, ENERGY_BY_PHASE]
    return [ENERGY_BY_PHASE]


def add_curve(axes: Axes, run: Run, measure: TestMeasure, view: View, label: str | None) -> Figure:
    """Add the tests of a run to axes, in the next colour and the unit of earlier curves; return their figure.

    Raises:
        InputError: the axes hold something else.
    """
    unit = fitting(top([run.rounds[view.column]]), view.units)
    # The first curve has chosen the unit.
    units = {with_unit(view.title, known): known for known in view.units}
    titles = (axes.get_xlabel(), axes.get_ylabel())
    if any(titles):
        if titles[0] not in units or titles[1] != measure.title:
            wanted = f"{measure.title} over {view.title}"
            raise InputError(f"plot: axes: show {titles[1]} over {titles[0]}, and cannot show {wanted}, too")
        unit = units[titles[0]]
    figure = axes.get_figure(root=True)
    if figure is None:
        raise InputError("plot: axes: were removed from their figure")
    x, y = _points(run, measure, view, unit)
    look = look_of(len(axes.get_lines()))
    width = STYLE["lines.linewidth"]
    label = label or labels([run.scenario])[0]
    axes.plot(x, y, look.line_style, color=look.colour, linewidth=width, marker=_marker(x), label=label)
    axes.set_xlabel(with_unit(view.title, unit))
    axes.set_ylabel(measure.title)
    # The limits of another curve may cut this one off.
    axes.autoscale()
    axes.set_xlim(left=0)
    return figure


def _draw_tests(axes: Axes, drawn: Sequence[DrawnGroup], view: View, measure: TestMeasure) -> None:
    """Draw a line for each run, with the same look in a group; nothing is averaged or interpolated."""
    every_x = [run.rounds[view.column] for one in drawn for run in one.group.runs]
    unit = fitting(top(every_x), view.units)
    for one in drawn:
        label: str | None = one.label(LEGEND_CHARACTERS)
        for run in one.group.runs:
            x, y = _points(run, measure, view, unit)
            axes.plot(x, y, one.look.line_style, color=one.look.colour, label=label, marker=_marker(x))
            label = None  # one entry per group
    axes.set_xlabel(with_unit(view.title, unit))
    axes.set_ylabel(measure.title)
    axes.set_xlim(left=0)
    axes.grid(axis="y", linewidth=0.3)


def _points(run: Run, measure: TestMeasure, view: View, unit: Unit) -> tuple[Floats, Floats]:
    values = run.rounds[measure.column]
    tested = np.isfinite(values)
    return run.rounds[view.column][tested] / unit.size, measure.factor * values[tested]


def _marker(x: Floats) -> str:
    if len(x) > 1:
        return ""
    return "."  # a line of one point is invisible


def _draw_energy(axes: Axes, drawn: Sequence[DrawnGroup]) -> None:
    """Draw a bar for each group: the mean energy of all devices over its runs, phase by phase."""
    spent_j = np.array([_mean_spent_j(one.group) for one in drawn])  # [groups, phases]
    unit = fitting(top([spent_j.sum(axis=1)]), ENERGY)
    count = len(drawn)
    places = np.arange(count)
    left = np.zeros(count)
    phases = [
        phase for phase, values in zip(ENERGY_PHASES, spent_j.T, strict=True) if values.any() or not phase.optional
    ]
    for phase, values in zip(ENERGY_PHASES, spent_j.T / unit.size, strict=True):
        if phase not in phases:
            continue
        axes.barh(places, values, left=left, color=phase.colour, label=phase.name, height=0.7)
        left += values
    if count > 1:
        names = tick_labels([one.group.label for one in drawn])
        axes.set_yticks(places, names.texts, fontsize=names.size)
    else:
        axes.set_yticks([], [])
    middle = (count - 1) / 2
    half_range = max(count, FEWEST_BARS) / 2
    axes.set_ylim(middle + half_range, middle - half_range)  # downwards: the first group is at the top
    axes.set_xlabel(with_unit("energy", unit))
    axes.legend(loc="lower left", bbox_to_anchor=(0, 1), ncols=len(phases), columnspacing=1, handlelength=1)


def _mean_spent_j(group: SeedGroup) -> Floats:
    """Return the joules [phases] of all devices and rounds, mean over the runs of a group."""
    mean: Floats = np.mean([_spent_j(run) for run in group.runs], axis=0)
    return mean


def _spent_j(run: Run) -> list[float]:
    if run.devices:  # in memory
        return [float(np.nansum(run.devices[phase.column])) for phase in ENERGY_PHASES]
    total = np.zeros(len(ENERGY_PHASES))
    for row in rows_of(run.folder, "devices.csv"):
        total += [row.get(phase.column) or 0.0 for phase in ENERGY_PHASES]
    return list(total)
