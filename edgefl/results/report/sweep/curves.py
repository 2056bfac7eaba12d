"""Learning curves of points: means over seeds with confidence bands, over rounds, virtual time and energy."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from edgefl.core.arrays import Floats
from edgefl.core.errors import InputError
from edgefl.core.units import fitting, short
from edgefl.results import statistics
from edgefl.results.reader import ColumnArrays
from edgefl.results.report.curves import ACCURACY, DISTANCE, TEST_LOSS, TRAIN_LOSS, Measure
from edgefl.results.report.read import load_rounds
from edgefl.results.report.style import Figure, even
from edgefl.results.report.sweep.study import Study
from edgefl.results.report.views import VIEWS

MOST_POINTS = 40  # whose curves the page has
MOST_RUNS = 400  # that are read for them
MOST_PLACES = 60  # of a curve


class Band(NamedTuple):
    """A mean and its confidence interval at places [n]; NaN where a single run has none."""

    at: Floats
    mean: Floats
    half: Floats


class Curves(NamedTuple):
    """What the page draws, and how many seeds of each point it has read."""

    figure: Figure
    points: int
    seeds: int


def curves(study: Study) -> Curves | None:
    """The curves of an even pick of points; None where nothing was learned.

    Raises:
        InputError: a run's ``rounds.csv`` is missing or damaged.
    """
    known = [place for place, rows in enumerate(study.finished) if rows]
    chosen = [known[place] for place in even(len(known), MOST_POINTS)] if known else []
    most = max(1, MOST_RUNS // max(1, len(chosen)))
    runs = {point: [_rounds(study, row) for row in study.finished[point][:most]] for point in chosen}
    every = [run for some in runs.values() for run in some]
    measure = next(
        (one for one in (ACCURACY, DISTANCE, TEST_LOSS, TRAIN_LOSS) if any(_has(run, one) for run in every)), None
    )
    if measure is None:
        return None
    figure: Figure = {"title": measure.name, "percent": measure.factor == 100, "views": {}, "points": {}}
    units = {
        view.name: fitting(max(run[view.column][-1] for run in every if len(run["round"])), view.units)
        for view in VIEWS
    }
    for view in VIEWS:
        unit = units[view.name]
        figure["views"][view.name] = f"{view.title} [{unit.name}]" if unit.name else view.title
    for point, some in runs.items():
        drawn = {}
        for view in VIEWS:
            found = band([(run[view.column], run[measure.column]) for run in some], whole=view.name == "round")
            if found:
                drawn[view.name] = _figure(found, measure, units[view.name].size)
        if drawn:
            figure["points"][point] = drawn
    return Curves(figure, len(figure["points"]), most)


def _rounds(study: Study, row: int) -> ColumnArrays:
    place = study.texts["folder"][row]
    if (study.folder / place).resolve().is_relative_to(study.folder.resolve()):
        return load_rounds(study.folder / place)
    raise InputError(f"{study.folder}/index.csv: row {row + 1}: folder: must be within the sweep's, got {place!r}")


def _has(run: ColumnArrays, measure: Measure) -> bool:
    return bool(np.isfinite(run[measure.column]).any())


def band(runs: Sequence[tuple[Floats, Floats]], *, whole: bool = False) -> Band | None:
    """Mean and interval over runs, each given as places [rounds] and values [rounds], NaN where nothing was tested.

    At any moment a run has the value that was measured last. The band begins when all runs have one and ends with the
    first of them, so that all of it is over the same runs. None where there is no such stretch.
    """
    steps = [(at[np.isfinite(values)], values[np.isfinite(values)]) for at, values in runs]
    if not steps or not all(len(at) for at, _ in steps):
        return None
    first, last = max(at[0] for at, _ in steps), min(at[-1] for at, _ in steps)
    if first > last:
        return None
    at = np.linspace(first, last, MOST_PLACES) if last > first else np.array([first])
    if whole:
        at = np.unique(at.round())
    values = np.array([value[np.searchsorted(place, at, side="right") - 1] for place, value in steps])
    each = [statistics.estimate(column) for column in values.T]
    return Band(at, values.mean(axis=0), np.array([one.half for one in each]))


def _figure(band: Band, measure: Measure, size: float) -> Figure:
    """A band as the script draws it."""
    mean, half = measure.factor * band.mean, measure.factor * band.half
    return {"x": short(band.at / size, 5), "y": short(mean), "half": short(half, 3)}
