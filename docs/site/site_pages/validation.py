"""Predicted beside measured rounds, seconds and watts of testbeds: the table and the picture of docs/validation.md.

    python -m edgefl.reproductions.validation                                          # prints the table
    python -m edgefl.reproductions.validation --picture docs/images/validation.svg     # draws the picture, too

All numbers are the recorded rows of the recipes below; `edgefl reproduce NAME` measures them again.
"""

from __future__ import annotations

import argparse
import statistics
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from edgefl.core.extras import require
from edgefl.reproductions.comparison import Cell, Comparison
from edgefl.reproductions.library import Library
from edgefl.results.export.dialects import Cell as TableCell
from edgefl.results.export.dialects import TextColumn, markdown
from edgefl.results.export.figure_style import PAGE_IN, STYLE
from edgefl.results.report.shared.style import RUN_COLOURS
from site_pages.reproduction_pages import recorded

if TYPE_CHECKING:
    from matplotlib.axes import Axes

PAPER = "third-party"
HEIGHT_IN = 4.4
FAR = 20.0  # an axis whose ends differ by a larger factor has marks at powers of ten
NEAR = 0.1  # the band that is drawn around the line of equal numbers
OTHER_COLOUR = "#98a1ab"


class Testbed(NamedTuple):
    """A recipe that predicts a testbed."""

    recipe: str
    counter_example: str | None  # the recipe that predicts the same by a simpler law
    title: str  # of its panel
    unit: str  # of its numbers


TESTBEDS = (
    Testbed("e2fl-wifi", "e2fl-wifi-constant", "E2FL\nrounds on Wi-Fi", "s"),
    Testbed("e2fl-wifi-unequal", None, "E2FL\nunequal shares", "s"),
    Testbed("fedconiot", None, "FedConIoT\nrounds of boards", "s"),
    Testbed("pi-compute", "pi-compute-macs", "Raspberry Pis\ntraining steps", "s"),
    Testbed("phone-energy", "phone-energy-proportional", "a phone\ntraining steps", "s, J"),
    Testbed("radio-power", "radio-power-constant", "a phone\nradio power", "W"),
    Testbed("e2fl-energy", None, "E2FL\npower by state", "W"),
    Testbed("pi-clocks", "pi-clocks-cubic", "a Raspberry Pi\npower by clock", "W"),
)


def compared(library: Library, recipe: str) -> Comparison:
    """Return the recorded comparison of a recipe."""
    return recorded(library, library.load(f"{PAPER}/{recipe}"))


def by_quantity(comparison: Comparison) -> dict[str, list[Cell]]:
    """Return the cells that were printed and measured, by what they are."""
    found: dict[str, list[Cell]] = {}
    for cell in comparison.cells:
        if cell.relative is not None:
            found.setdefault(cell.column, []).append(cell)
    return found


def table(library: Library) -> str:
    """Return the table of errors as Markdown."""
    names: list[str] = []
    quantities: list[str] = []
    counts: list[str] = []
    means: list[str] = []
    worst: list[str] = []
    others: list[str] = []
    for testbed in TESTBEDS:
        without: dict[str, list[Cell]] = {}
        if testbed.counter_example is not None:
            without = by_quantity(compared(library, testbed.counter_example))
        for quantity, cells in by_quantity(compared(library, testbed.recipe)).items():
            names.append(testbed.recipe)
            quantities.append(_words(quantity))
            counts.append(str(len(cells)))
            means.append(f"{100 * mean_error(cells):.1f} %")
            worst.append(f"{100 * max(_errors(cells), key=abs):+.1f} %")
            others.append(f"{100 * mean_error(without[quantity]):.1f} %" if quantity in without else "")
    columns = {
        "recipe": names,
        "what": quantities,
        "numbers": counts,
        "mean error": means,
        "worst": worst,
        "mean error of the counter-example": others,
    }
    left = {"recipe", "what"}
    return markdown(
        [
            TextColumn("", name, [TableCell(text) for text in texts], left=name in left)
            for name, texts in columns.items()
        ],
        "",
    )


def _words(quantity: str) -> str:
    """Return the name of a measure in words, such as last download [s] for last_download_s."""
    name, _, unit = quantity.rpartition("_")
    if not name:  # a board's name: its training steps
        return f"step on {unit} [s]"
    return f"{name.replace('_', ' ')} [{unit.upper() if unit in 'jw' else unit}]"


def mean_error(cells: Sequence[Cell]) -> float:
    """Return the mean relative error of predictions, without its sign."""
    return statistics.fmean(abs(error) for error in _errors(cells))


def _errors(cells: Sequence[Cell]) -> list[float]:
    return [cell.relative for cell in cells if cell.relative is not None]


def draw(library: Library, path: Path) -> None:
    """Draw predicted against measured numbers, a panel for each testbed; the same numbers give the same bytes."""
    require("matplotlib", "plot", "the picture of docs/validation.md")
    import matplotlib as mpl
    from matplotlib.figure import Figure

    with mpl.rc_context({**STYLE, "svg.hashsalt": "validation", "svg.fonttype": "none"}):
        figure = Figure(figsize=(PAGE_IN, HEIGHT_IN), layout="constrained", facecolor="white")
        panels = figure.subplots(2, 4).ravel()
        for panel, testbed in zip(panels, TESTBEDS, strict=False):
            _draw_panel(panel, library, testbed)
        marks, names = panels[0].get_legend_handles_labels()
        figure.legend(marks, names, loc="outside upper center", ncols=len(names))
        figure.savefig(path, metadata={"Date": None, "Creator": None})


def _draw_panel(panel: Axes, library: Library, testbed: Testbed) -> None:
    from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator, NullFormatter

    predicted, measured = _points(compared(library, testbed.recipe))
    ends = (0.7 * min(*predicted, *measured), 1.4 * max(*predicted, *measured))
    panel.fill_between(
        ends, [e * (1 - NEAR) for e in ends], [e * (1 + NEAR) for e in ends], color="#e8ebee", label="±10 %"
    )
    panel.plot(ends, ends, color=OTHER_COLOUR, linewidth=0.6)
    if testbed.counter_example is not None:
        other_predicted, other_measured = _points(compared(library, testbed.counter_example))
        panel.plot(
            other_measured,
            other_predicted,
            "o",
            markerfacecolor="none",
            color=OTHER_COLOUR,
            markersize=3,
            label="simpler law",
        )
    panel.plot(measured, predicted, "o", color=RUN_COLOURS[0], markersize=3, label="edgefl")
    panel.set_xscale("log")
    panel.set_yscale("log")
    panel.set_xlim(ends)
    panel.set_title(testbed.title)
    panel.set_xlabel(f"measured [{testbed.unit}]")
    panel.set_ylabel("predicted")
    for axis in (panel.xaxis, panel.yaxis):
        if ends[1] > FAR * ends[0]:
            axis.set_major_locator(LogLocator())
        else:
            axis.set_major_locator(MaxNLocator(4, steps=[1, 2, 5, 10]))
        axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
        axis.set_minor_formatter(NullFormatter())


def _points(comparison: Comparison) -> tuple[list[float], list[float]]:
    """Return predicted and measured numbers."""
    predicted: list[float] = []
    measured: list[float] = []
    for cells in by_quantity(comparison).values():
        for cell in cells:
            if cell.mean is not None and cell.difference is not None:
                predicted.append(cell.mean)
                measured.append(cell.mean - cell.difference)
    return predicted, measured


def main(arguments: Sequence[str]) -> None:
    """Print the table, and draw the picture if a file is named."""
    parser = argparse.ArgumentParser(prog="python -m edgefl.reproductions.validation")
    parser.add_argument("--picture", metavar="FILE", type=Path, help="draw the picture into an SVG file")
    options = parser.parse_args(arguments)
    library = Library()
    sys.stdout.write(table(library))
    if options.picture is not None:
        draw(library, options.picture)


if __name__ == "__main__":
    main(sys.argv[1:])
