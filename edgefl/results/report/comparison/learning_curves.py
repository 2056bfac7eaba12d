"""Learning curves: accuracy, loss, and the toy problem's distance to its optimum."""

import math
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import NamedTuple

import numpy as np

from edgefl.core.arrays import Floats, Rows
from edgefl.core.units import Unit, digits, power_of_ten, short, top
from edgefl.results.report.comparison import target_marks
from edgefl.results.report.comparison.pooled_seeds import PooledRuns
from edgefl.results.report.comparison.seed_bands import SeedBand, seed_band
from edgefl.results.report.shared import views
from edgefl.results.report.shared.read import Run, reached
from edgefl.results.report.shared.style import MUTED, Figure, StyledRun, even_pick, mode_of, plotly_text
from edgefl.results.statistics import FEWEST_FOR_INTERVAL

MOST_CURVE_POINTS = 600
LINE_BREAK = -1  # instead of a row: the line is broken there
HIGH_ACCURACY = 0.85  # from here on the vertical axis reaches up to 100 %
MANY_DECADES = 8  # of a logarithmic axis: more powers of ten do not fit as ticks


Bands = Mapping[str, SeedBand]  # by the names of views


class RoundMeasure(NamedTuple):
    """A column of ``rounds.csv`` as it is drawn: ``factor`` times its values, those above ``above``."""

    column: str
    name: str
    hover_format: str
    factor: float = 1.0
    above: float = -np.inf


ACCURACY = RoundMeasure("test_accuracy", "accuracy", "%{y:.1f} %", factor=100)
TEST_LOSS = RoundMeasure("test_loss", "test loss", "%{y:.4~g}")
TRAIN_LOSS = RoundMeasure("train_loss", "train loss", "%{y:.4~g}")
VALIDATION_ACCURACY = RoundMeasure("validation_accuracy", "validation accuracy", "%{y:.1f} %", factor=100)
VALIDATION_LOSS = RoundMeasure("validation_loss", "validation loss", "%{y:.4~g}")
DISTANCE = RoundMeasure("distance_to_optimum", "distance to the optimum", "%{y:.4~g}", above=0)  # its axis is log
DASHES = {"train": "dot", "validation": "dash"}
LEGEND = {"orientation": "h", "x": 1, "xanchor": "right", "y": 1, "yanchor": "bottom"}
TITLES = {"accuracy": "Test accuracy", "distance": "Distance to the optimum", "loss": "Loss"}


def figures(runs: Sequence[StyledRun], groups: Sequence[PooledRuns] = ()) -> dict[str, Figure]:
    """Return the learning figures that the runs have data for, by their names in `TITLES`.

    ``groups`` has the same runs, where those that differ only in their seed are pooled.
    """
    candidates = {"accuracy": accuracy(runs, groups), "distance": distance(runs, groups), "loss": loss(runs, groups)}
    return {name: figure for name, figure in candidates.items() if figure["data"]}


def accuracy(runs: Sequence[StyledRun], groups: Sequence[PooledRuns] = ()) -> Figure:
    """Return the test accuracy, with the targets as lines and a mark where a run first reached one."""
    marks = []
    targets: set[float] = set()
    for run in runs:
        if any(map(reached, run.data.targets)) and not groups:  # a mean reaches a target when no run need do so
            marks.append(target_marks.crossings(run))
        targets.update(target["accuracy"] for target in run.data.targets)
    highest = max([top([run.data.rounds["test_accuracy"] for run in runs]), *targets])
    ceiling = 104 * highest or 100  # percent, with a margin above the curve; 100 where all is 0
    if highest > HIGH_ACCURACY:
        ceiling = 101
    alone = None
    if len(runs) == 1 and runs[0].data.length:  # with several runs the texts at the crossings would overlap
        alone = runs[0]
    tested = _curves(runs, ACCURACY, groups)
    beside = _beside(runs, tested, "test accuracy", [VALIDATION_ACCURACY])
    title = "test accuracy [%]"
    legend: Figure = {}
    if beside:
        title = "accuracy [%]"
        legend = {"showlegend": True, "legend": LEGEND}
    layout = legend | {
        "yaxis": {"title": {"text": title}, "range": [0, ceiling]},
        "margin": {"r": 52},  # the targets are written there
    }
    target_lines = partial(target_marks.lines, sorted(targets), alone, ceiling)
    return views.figure(runs, tested + beside + marks, layout, target_lines)


def loss(runs: Sequence[StyledRun], groups: Sequence[PooledRuns] = ()) -> Figure:
    """Return the test loss of every run, the training loss where no run was tested; of a single run all losses."""
    curves = _curves(runs, TEST_LOSS, groups)
    title = TEST_LOSS.name
    beside = _beside(runs, curves, TEST_LOSS.name, [TRAIN_LOSS, VALIDATION_LOSS])
    if beside:
        title = "loss"
        curves += beside
    elif not curves:
        curves = _curves(runs, TRAIN_LOSS, groups)
        title = TRAIN_LOSS.name
    range_mode = "tozero"  # so that losses can be compared by height
    if min(_drawn_values(curves), default=0) < 0:
        range_mode = "normal"
    layout = {
        "yaxis": {"title": {"text": title}, "rangemode": range_mode},
        "showlegend": bool(beside),
        "legend": LEGEND,
    }
    return views.figure(runs, curves, layout)


def _beside(
    runs: Sequence[StyledRun], tested: Sequence[views.Curve], name: str, measures: Sequence[RoundMeasure]
) -> list[views.Curve]:
    """Return the curves of other measures of a single run, thinner and grey, and name them and the tested one."""
    if len(runs) != 1 or not tested:
        return []
    found = []
    for measure in measures:
        for curve in _curves(runs, measure):
            curve.trace["name"] = measure.name
            curve.trace["line"] = {"color": MUTED, "width": 1.6, "dash": DASHES[measure.column.partition("_")[0]]}
            curve.trace["marker"] = {"color": MUTED, "size": 8}
            found.append(curve)
    if found:
        tested[0].trace["name"] = name
    return found


def distance(runs: Sequence[StyledRun], groups: Sequence[PooledRuns] = ()) -> Figure:
    """Return the quadratic problem's distance to the optimum, which is known, on a logarithmic axis."""
    curves = _curves(runs, DISTANCE, groups)
    axis: Figure = {"title": {"text": DISTANCE.name}, "type": "log"}
    values = _drawn_values(curves)
    if values:
        axis |= _log_ticks(min(values), max(values))
    return views.figure(runs, curves, {"yaxis": axis})


def _drawn_values(curves: Sequence[views.Curve]) -> list[float]:
    return [value for curve in curves for value in curve.trace["y"] if value is not None]


def _log_ticks(low: float, high: float) -> Figure:
    """Return the ticks of a logarithmic axis, as text of one size, which Plotly's own are not.

    Ticks are powers of ten; over less than two decades also 2 and 5 times these, and over many decades only some.
    Below a third of a decade Plotly's own ticks are better.
    """
    decades = math.log10(high / low)
    step = 1 + int(decades / MANY_DECADES)
    powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1, step)
    if decades >= 2:
        return {"tickvals": [10.0**power for power in powers], "ticktext": [power_of_ten(power) for power in powers]}
    if decades > 0.3:
        values = [factor * 10.0**power for power in powers for factor in (1, 2, 5)]
        return {"tickvals": values, "ticktext": [digits(value) for value in values]}
    return {}


def _curves(runs: Sequence[StyledRun], measure: RoundMeasure, groups: Sequence[PooledRuns] = ()) -> list[views.Curve]:
    curves = []
    if groups:
        for group in groups:
            curves += _pooled_curves(group, measure)
        return curves
    for run in runs:
        values = run.data.rounds[measure.column]
        rows = np.flatnonzero(np.isfinite(values) & (values > measure.above))
        if rows.size:
            drawn_rows = rows[even_pick(rows.size, MOST_CURVE_POINTS)]
            curves.append(_curve(run, measure, _with_line_breaks(run.data, drawn_rows)))
    return curves


def _with_line_breaks(run: Run, rows: Rows) -> Rows:
    """Return the rows with `LINE_BREAK` between two of them that have a session's extra rounds between them."""
    extra_so_far = np.concatenate([[0], np.cumsum(run.rounds["round"] < 1)])  # entry n: among the first n rounds
    extra_between = extra_so_far[rows[1:]] - extra_so_far[rows[:-1] + 1]
    return np.insert(rows, np.flatnonzero(extra_between) + 1, LINE_BREAK)


def _values_at(column: Floats, rows: Rows) -> Floats:
    """Return the values at rows; NaN, which breaks a line, at `LINE_BREAK`."""
    return np.where(rows == LINE_BREAK, np.nan, column[rows])


def _curve(run: StyledRun, measure: RoundMeasure, rows: Rows) -> views.Curve:
    rounds = run.data.rounds
    trace = {
        "type": "scatter",
        "mode": mode_of(rows.size),
        "name": plotly_text(run.label),
        "y": short(measure.factor * _values_at(rounds[measure.column], rows)),
        "line": {"color": run.colour, "width": 2.2, "dash": run.dash},
        "marker": {"color": run.colour, "size": 8},
        "customdata": short(_values_at(rounds["number"], rows), 9),
    }

    def horizontal(view: views.View, unit: Unit) -> Figure:
        values = short(_values_at(rounds[view.column], rows) / unit.size, 5)
        hover = f"{measure.name} {measure.hover_format}<br>round %{{customdata}}"
        if view.name != "round":
            hover += f", %{{x:.4~g}} {unit.name}"
        return {"x": values, "hovertemplate": hover}

    return views.Curve(trace, horizontal)


def _pooled_curves(group: PooledRuns, measure: RoundMeasure) -> list[views.Curve]:
    """Return the curves of runs that differ only in their seed: a band or thin single curves, then their mean."""
    single = _curves(group.runs, measure)
    bands = {}
    for view in views.VIEWS:
        band = _band(group, measure, view)
        if band is not None:
            bands[view.name] = band
    if len(single) < 2 or len(bands) < len(views.VIEWS):  # there is nothing to take a mean of
        return single
    if len(group.runs) >= FEWEST_FOR_INTERVAL:
        others = [_band_curve(group, measure, bands)]
    else:
        others = [_thin_curve(run, measure, bands, place) for place, run in enumerate(group.runs)]
    return [*others, _mean_curve(group, measure, bands)]


def _band(group: PooledRuns, measure: RoundMeasure, view: views.View) -> SeedBand | None:
    columns = [(run.data.rounds[view.column], run.data.rounds[measure.column]) for run in group.runs]
    return seed_band(columns, whole=view.name == "round")


def _curve_on_bands(
    bands: Bands, trace: Figure, points_of: Callable[[SeedBand], tuple[Floats, Floats]], hover: str = ""
) -> views.Curve:
    """Return a curve through the points of the band of each view; its text under the pointer ends with the place."""

    def horizontal(view: views.View, unit: Unit) -> Figure:
        x, y = points_of(bands[view.name])
        points: Figure = {"x": short(x / unit.size, 5), "y": short(y)}
        if hover:
            place = f"%{{x:.4~g}} {unit.name}"
            if view.name == "round":
                place = "round %{x}"
            points["hovertemplate"] = hover.replace("PLACE", place)
        return points

    first = views.VIEWS[0]
    base = {"type": "scatter", "mode": "lines", "y": horizontal(first, first.units[0])["y"]}
    return views.Curve(base | trace, horizontal)


def _thin_curve(run: StyledRun, measure: RoundMeasure, bands: Bands, place: int) -> views.Curve:
    line = {"color": run.colour, "width": 1, "dash": run.dash}
    trace = {"name": plotly_text(run.label), "line": line, "opacity": 0.6}
    hover = f"{measure.name} {measure.hover_format}"
    return _curve_on_bands(bands, trace, lambda band: (band.x, measure.factor * band.runs[place]), hover)


def _mean_curve(group: PooledRuns, measure: RoundMeasure, bands: Bands) -> views.Curve:
    look = group.look
    trace = {
        "mode": mode_of(bands[views.VIEWS[0].name].x.size),
        "name": plotly_text(look.label),
        "line": {"color": look.colour, "width": 2.6, "dash": look.dash},
        "marker": {"color": look.colour, "size": 8},
    }
    hover = f"mean {measure.name} {measure.hover_format} of {len(group.runs)} seeds<br>PLACE"
    return _curve_on_bands(bands, trace, lambda band: (band.x, measure.factor * band.mean), hover)


def _band_curve(group: PooledRuns, measure: RoundMeasure, bands: Bands) -> views.Curve:
    """Return the confidence interval of the mean: along its upper edge, and back along the lower one."""

    def edges(band: SeedBand) -> tuple[Floats, Floats]:
        half = np.zeros(band.x.size) if band.half is None else band.half
        lower = band.mean - half
        if np.isfinite(measure.above):  # on a logarithmic axis
            lower = np.maximum(lower, band.runs.min())
        x = np.concatenate([band.x, band.x[::-1]])
        return x, measure.factor * np.concatenate([band.mean + half, lower[::-1]])

    trace = {
        "name": plotly_text(f"{group.look.label}: 95 % confidence interval of the mean"),
        "line": {"width": 0, "color": group.look.colour},
        "fill": "toself",
        "fillcolor": group.look.colour,
        "opacity": 0.22,
        "hoverinfo": "skip",
    }
    return _curve_on_bands(bands, trace, edges)
