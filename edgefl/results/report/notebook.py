"""A run in a notebook: the page's tiles, and its curves as pictures that need no script."""

from collections.abc import Sequence

import numpy as np

from edgefl.core.arrays import Floats, Rows
from edgefl.core.units import ENERGY, fitting, top, with_unit
from edgefl.results.labels import labels
from edgefl.results.report.comparison import headline
from edgefl.results.report.comparison.learning_curves import HIGH_ACCURACY
from edgefl.results.report.shared import describe
from edgefl.results.report.shared.chart import line_chart
from edgefl.results.report.shared.read import Run, energy_of
from edgefl.results.report.shared.style import RUN_COLOURS, even_pick
from edgefl.results.report.shared.templates import Html, render
from edgefl.results.report.shared.views import VIEWS, View

MOST_POINTS = 300  # of a curve: a notebook keeps every output
MARGIN = 1.04  # of the vertical axis, above the highest point
_, TIME_VIEW, ENERGY_VIEW = VIEWS


def html(run: Run) -> Html:
    """Return a run as HTML: its name, what ended it too early, the tiles, and curves over time and over energy."""
    return render(
        "notebook.html.j2",
        name=labels([run.scenario])[0],
        facts=describe.facts(run.scenario),
        banner=headline.banner(run, "This run"),
        tiles=headline.tiles(run),
        charts=_charts(run),
    )


def _charts(run: Run) -> list[Html]:
    """Return the accuracy, or else the test loss, over virtual time and energy; the energy over time without tests."""
    for column in ("test_accuracy", "test_loss"):
        tested = np.flatnonzero(np.isfinite(run.rounds[column]))
        if tested.size:
            rows = tested[even_pick(tested.size, MOST_POINTS)]
            if column == "test_accuracy":
                return [_accuracy(run, rows, view) for view in (TIME_VIEW, ENERGY_VIEW)]
            losses = run.rounds[column][rows]
            if losses.min() < 0:  # as of the scalar problem: the axis begins at 0
                return []
            return [_chart(run, rows, view, losses, "test loss") for view in (TIME_VIEW, ENERGY_VIEW)]
    ended = np.flatnonzero(np.isfinite(run.rounds["time_s"]) & np.isfinite(run.rounds["energy_j"]))
    if ended.size and top([run.rounds["energy_j"]]) > 0:
        rows = ended[even_pick(ended.size, MOST_POINTS)]
        unit = fitting(top([run.rounds["energy_j"]]), ENERGY)
        spent = run.rounds["energy_j"][rows] / unit.size
        return [_chart(run, rows, TIME_VIEW, spent, with_unit("energy", unit))]
    return []


def _accuracy(run: Run, rows: Rows, view: View) -> Html:
    percent = 100 * run.rounds["test_accuracy"][rows]
    targets = [100 * float(target["accuracy"]) for target in run.targets]
    highest = max([float(percent.max()), *targets])
    ceiling = 100.0 if highest > 100 * HIGH_ACCURACY else MARGIN * highest or 100.0
    return _chart(run, rows, view, percent, "test accuracy [%]", ceiling, targets)


def _chart(
    run: Run, rows: Rows, view: View, y: Floats, title: str, ceiling: float = 0.0, levels: Sequence[float] = ()
) -> Html:
    """Return a chart of values [n] at rows of ``rounds.csv``; by default the axis ends above the highest value."""
    x, x_title = _horizontal(run, rows, view)
    ceiling = ceiling or MARGIN * float(y.max()) or 1.0
    return line_chart(x, y, (x_title, title), RUN_COLOURS[0], ceiling, levels)


def _horizontal(run: Run, rows: Rows, view: View) -> tuple[Floats, str]:
    unit = fitting(top([run.rounds[view.column]]), view.units)
    title = view.title
    if view.name == "energy":
        title = energy_of([run])
    return run.rounds[view.column][rows] / unit.size, with_unit(title, unit)
