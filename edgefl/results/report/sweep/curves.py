"""Learning curves of points: means over seeds with their spread, over rounds, virtual time and energy."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from edgefl.core.units import Unit, fitting, short, with_unit
from edgefl.results.reader import ColumnArrays
from edgefl.results.report.comparison.learning_curves import ACCURACY, DISTANCE, TEST_LOSS, TRAIN_LOSS, RoundMeasure
from edgefl.results.report.comparison.seed_bands import SeedBand, seed_band
from edgefl.results.report.shared.read import load_rounds
from edgefl.results.report.shared.style import Figure, even_pick
from edgefl.results.report.shared.views import VIEWS
from edgefl.results.report.sweep.study import Study

MOST_CURVES = 200  # points whose curves the page has
MOST_RUNS = 800  # runs that are read for them


class SweepCurves(NamedTuple):
    """The curves that the page draws; how many points have one, and how many seeds of each point were read at most."""

    figure: Figure
    points: int
    seeds: int


def learning_curves(study: Study) -> SweepCurves | None:
    """Return the curves of an even pick of points; None where nothing was learned.

    Raises:
        InputError: a run's ``rounds.csv`` is missing or damaged, or lies outside the sweep's folder.
    """
    chosen = _chosen_points(study)
    most_seeds = max(1, MOST_RUNS // max(1, len(chosen)))
    runs_by_point = {}
    for point in chosen:
        rows = study.finished_rows[point][:most_seeds]
        runs_by_point[point] = [load_rounds(study.run_folder(row)) for row in rows]
    # All points share measure and units, as they share the axes of one chart.
    every_run = [run for runs in runs_by_point.values() for run in runs]
    measure = _measure_of(every_run)
    if measure is None:
        return None

    units = _units(every_run)
    titles = {view.name: with_unit(view.title, units[view.name]) for view in VIEWS}
    curves = {}
    for point, runs in runs_by_point.items():
        curves_by_view = _curves_of_point(runs, measure, units)
        if curves_by_view:
            curves[point] = curves_by_view
    figure: Figure = {
        "title": measure.name,
        "percent": measure.factor == 100,
        "views": titles,
        "points": curves,
    }
    return SweepCurves(figure, len(curves), most_seeds)


def _chosen_points(study: Study) -> list[int]:
    """Return an even pick of the points that have finished runs: the page must stay small enough to open."""
    with_runs = [point for point, rows in enumerate(study.finished_rows) if rows]
    if not with_runs:
        return []
    return [with_runs[place] for place in even_pick(len(with_runs), MOST_CURVES)]


def _measure_of(runs: Sequence[ColumnArrays]) -> RoundMeasure | None:
    for measure in (ACCURACY, DISTANCE, TEST_LOSS, TRAIN_LOSS):
        if any(np.isfinite(run[measure.column]).any() for run in runs):
            return measure
    return None


def _units(runs: Sequence[ColumnArrays]) -> dict[str, Unit]:
    units = {}
    for view in VIEWS:
        largest = max(run[view.column][-1] for run in runs if len(run["round"]))
        units[view.name] = fitting(largest, view.units)
    return units


def _curves_of_point(
    runs: Sequence[ColumnArrays], measure: RoundMeasure, units: Mapping[str, Unit]
) -> dict[str, Figure]:
    curves = {}
    for view in VIEWS:
        columns = [(run[view.column], run[measure.column]) for run in runs]
        band = seed_band(columns, whole=view.name == "round")
        if band is not None:
            curves[view.name] = _figure(band, measure, units[view.name])
    return curves


def _figure(band: SeedBand, measure: RoundMeasure, unit: Unit) -> Figure:
    figure: Figure = {"x": short(band.x / unit.size, 5), "y": short(measure.factor * band.mean)}
    if band.half is None:
        figure["runs"] = [short(measure.factor * values) for values in band.runs]
    else:
        figure["half"] = short(measure.factor * band.half, 3)
    return figure
