"""The charts that open the pages of reproductions: measured over printed numbers, a point for each.

On the overview a colour is a paper; on a paper's page it says whether a number is within tolerance.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from edgefl.reproductions.comparison import Cell, Comparison
from edgefl.reproductions.library import Library
from edgefl.reproductions.readings.base import AccuracyReading
from edgefl.results.export.figure_style import PAGE_IN, STYLE
from edgefl.results.report.shared.style import INK, RUN_COLOURS
from site_pages.reproduction_pages import all_recorded

if TYPE_CHECKING:
    from matplotlib.axes import Axes

HEIGHT_IN = 3.9
WHOLE = 100  # per cent
SIZE = 3.0  # of a point
ACCURACIES = (0.05, 0.997)  # the ends of the axes, as shares
ACCURACY_TICKS = (0.1, 0.2, 0.5, 0.8, 0.9, 0.95, 0.98, 0.99)
OTHERS = (1e-6, 1e6)  # the ends of the axes, at which smaller and larger numbers are drawn
OTHER_POWERS = range(-6, 7, 2)
OTHER_TICKS = tuple(10.0**power for power in OTHER_POWERS)
OF_OTHERS = "#8a939c"  # the colour of numbers that are not of the five papers
BY_TOLERANCE = {  # colours, by whether a number is within tolerance
    "within tolerance": RUN_COLOURS[0],
    "outside tolerance": RUN_COLOURS[1],
    "not compared": OF_OTHERS,
}


class Point(NamedTuple):
    """A number that is printed and was measured."""

    paper: str
    printed: float
    measured: float
    is_accuracy: bool  # in per cent
    is_small: bool  # measured at the recipe's small scale only
    within: bool | None  # its tolerance; None: it is not compared


def points(library: Library) -> list[Point]:
    """Return all numbers that are printed and have been measured."""
    found = []
    for name, comparison in all_recorded(library).items():
        for cell in comparison.cells:
            if cell.printed_number is not None and cell.mean is not None:
                paper = name.partition("/")[0]
                is_small = comparison.scale != "full"
                is_accuracy = _is_accuracy(comparison, cell)
                found.append(Point(paper, cell.printed_number, cell.mean, is_accuracy, is_small, cell.within))
    return found


def _is_accuracy(comparison: Comparison, cell: Cell) -> bool:
    """Return whether a cell is an accuracy in per cent."""
    reading = comparison.measures.get(cell.measure)
    if not isinstance(reading, AccuracyReading) or not reading.percent:
        return False
    return (cell.printed_number or 0.0) < WHOLE  # not a variance of accuracies


def _by_tolerance(point: Point) -> str:
    """Return the name of a point's colour on the page of its paper."""
    if point.within is None:
        return "not compared"
    return "within tolerance" if point.within else "outside tolerance"


def draw_all(library: Library, folder: Path) -> None:
    """Draw the chart of all papers and that of each."""
    found = points(library)
    colours = _colours(library.papers)
    _draw({name: [point for point in found if point.paper == name] for name in colours}, colours, folder, "")
    for paper in library.papers:
        of_paper: dict[str, list[Point]] = {name: [] for name in BY_TOLERANCE}
        for point in found:
            if point.paper == paper:
                of_paper[_by_tolerance(point)].append(point)
        _draw(of_paper, BY_TOLERANCE, folder, f"-{paper}")


def _draw(groups: Mapping[str, Sequence[Point]], colours: Mapping[str, str], folder: Path, ending: str) -> None:
    """Draw groups of points in two panels, accuracies and other quantities; the same points give the same bytes."""
    import matplotlib as mpl
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D

    with mpl.rc_context({**STYLE, "svg.hashsalt": "printed", "svg.fonttype": "none"}):
        figure = Figure(figsize=(PAGE_IN, HEIGHT_IN), layout="constrained", facecolor="white")
        left, right = figure.subplots(1, 2)
        for name, found in groups.items():
            _draw_points(left, [_as_share(point) for point in found if point.is_accuracy], colours[name], ACCURACIES)
            others = [_without_sign(point) for point in found if not point.is_accuracy]
            _draw_points(right, others, colours[name], OTHERS)
        for panel, ends in ((left, ACCURACIES), (right, OTHERS)):
            panel.plot(ends, ends, color=INK, linewidth=0.6, zorder=1)
        # The logit of an accuracy shows differences at 99 % as clearly as at 50 %.
        _set_axes(left, "logit", ACCURACIES, ACCURACY_TICKS, [f"{100 * tick:g}" for tick in ACCURACY_TICKS])
        _set_axes(right, "log", OTHERS, OTHER_TICKS, [f"1e{power}" for power in OTHER_POWERS])
        left.set(xlabel="printed accuracy [%]", ylabel="measured accuracy [%]")
        right.set(xlabel="other printed numbers, in their units, without signs", ylabel="measured")
        marks = [
            Line2D([], [], linestyle="none", marker="o", markersize=4, color=colour, label=name)
            for name, colour in colours.items()
        ]
        marks.append(
            Line2D([], [], linestyle="none", marker="o", markersize=4, color=INK, mfc="none", label="small scale")
        )
        figure.legend(handles=marks, loc="outside upper center", ncols=len(marks), handletextpad=0.2, columnspacing=1.2)
        figure.savefig(folder / f"reproductions{ending}.svg", metadata={"Date": None, "Creator": None})


def _colours(papers: Sequence[str]) -> dict[str, str]:
    """Return the colour of each paper."""
    colours = dict(zip(papers, RUN_COLOURS, strict=False))
    if "third-party" in colours:
        colours["third-party"] = OF_OTHERS
    return colours


def _as_share(point: Point) -> Point:
    return point._replace(printed=point.printed / 100, measured=point.measured / 100)


def _without_sign(point: Point) -> Point:
    return point._replace(printed=abs(point.printed), measured=abs(point.measured))


def _draw_points(panel: Axes, found: Sequence[Point], colour: str, ends: tuple[float, float]) -> None:
    """Draw points of one colour, open ones at a small scale; those beyond the ends of the axes are drawn there."""
    for is_small in (False, True):
        chosen = [point for point in found if point.is_small == is_small]
        panel.plot(
            [min(max(point.printed, ends[0]), ends[1]) for point in chosen],
            [min(max(point.measured, ends[0]), ends[1]) for point in chosen],
            linestyle="none",
            marker="o",
            markersize=SIZE,
            markeredgewidth=0.6,
            markeredgecolor=colour,
            markerfacecolor="none" if is_small else colour,
            alpha=0.75,
            zorder=3,
        )


def _set_axes(
    panel: Axes, scale: str, ends: tuple[float, float], ticks: Sequence[float], labels: Sequence[str]
) -> None:
    """Give both axes of a panel the same scale, ends and ticks."""
    panel.set(xscale=scale, yscale=scale, xlim=ends, ylim=ends)
    for axis in (panel.xaxis, panel.yaxis):
        axis.set_ticks(ticks, labels)
        axis.set_ticks([], minor=True)
    panel.set_box_aspect(1)
    panel.grid(linewidth=0.4, alpha=0.5)
