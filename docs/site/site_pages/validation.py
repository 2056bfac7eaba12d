"""Predicted beside measured rounds, seconds and watts of testbeds: the table and the picture of docs/validation.md.

All numbers are the recorded rows of the recipes below; `edgefl reproduce NAME` measures them again.
"""

import statistics
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

from edgefl.calibration.picture import Marks, draw_panel
from edgefl.core.extras import require
from edgefl.reproductions.comparison import Cell, Comparison
from edgefl.reproductions.library import Library
from edgefl.results.export.dialects import Cell as TableCell
from edgefl.results.export.dialects import TextColumn, markdown
from edgefl.results.export.figure_style import PAGE_IN, STYLE
from edgefl.results.report.shared.style import RUN_COLOURS
from site_pages.reproduction_pages import recorded

PAPER = "third-party"
HEIGHT_IN = 4.4
OWN = {"color": RUN_COLOURS[0], "markersize": 3}
LOOKS = {
    "held out": {**OWN, "label": "edgefl, held out"},
    "fitted": {**OWN, "markerfacecolor": "none", "label": "edgefl, fitted"},
}
SIMPLER = {"color": "#98a1ab", "markersize": 3, "markerfacecolor": "none", "label": "simpler law"}


class Testbed(NamedTuple):
    """A recipe that predicts a testbed."""

    recipe: str
    counter_example: str | None  # the recipe that predicts the same by a simpler law
    title: str  # of its panel
    unit: str  # of its numbers
    # By quantity, the rows whose numbers, or parts of them, the recipe was calibrated on.
    fitted: Mapping[str, frozenset[str] | None] = MappingProxyType({})  # None: all rows

    def is_fitted(self, cell: Cell) -> bool:
        """Return whether the calibration has used a cell, or a part of it."""
        if cell.column not in self.fitted:
            return False
        rows = self.fitted[cell.column]
        return rows is None or not rows.isdisjoint(cell.row.values())


ALL = None
LARGE = frozenset({"squeezenet1_0", "shufflenet_v2_x1_0", "mobilenet_v3_small"})  # LeNet has steps of another session
FIVE = frozenset({"5 Jetson Nano", "5 Raspberry Pi 4"})
TESTBEDS = (
    Testbed(
        "e2fl-wifi",
        "e2fl-wifi-constant",
        "E2FL\nrounds on Wi-Fi",
        "s",
        {"last_download_s": LARGE, "mean_download_s": ALL, "fit_phase_s": LARGE, "round_s": LARGE},
    ),
    Testbed(
        "e2fl-wifi-unequal",
        None,
        "E2FL\nunequal shares",
        "s",
        {"last_download_s": ALL, "mean_download_s": ALL},
    ),
    Testbed(
        "fedconiot",
        None,
        "FedConIoT\nrounds of boards",
        "s",
        {"download_s": ALL, "compute_s": FIVE, "upload_s": FIVE, "round_s": ALL},
    ),
    Testbed(
        "pi-compute",
        "pi-compute-macs",
        "Raspberry Pis\ntraining steps",
        "s",
        {"pi4b": ALL, "pi5": frozenset({"resnet18"})},
    ),
    Testbed("phone-energy", "phone-energy-proportional", "a phone\ntraining steps", "s, J"),
    Testbed("radio-power", "radio-power-constant", "a phone\nradio power", "W", {"down_w": ALL, "up_w": ALL}),
    Testbed("e2fl-energy", None, "E2FL\npower by state", "W"),
    Testbed("pi-clocks", "pi-clocks-cubic", "a Raspberry Pi\npower by clock", "W", {"power_w": ALL}),
)


def compared(library: Library, recipe: str) -> Comparison:
    """Return the recorded comparison of a recipe."""
    return recorded(library, library.load(f"{PAPER}/{recipe}"))


def by_quantity(comparison: Comparison) -> dict[str, list[Cell]]:
    """Return the printed and measured cells by quantity."""
    found: dict[str, list[Cell]] = {}
    for cell in comparison.cells:
        if cell.relative is not None:
            found.setdefault(cell.column, []).append(cell)
    return found


def table(library: Library) -> str:
    """Return the table of errors as Markdown."""
    names: list[str] = []
    quantities: list[str] = []
    uses: list[str] = []
    counts: list[str] = []
    means: list[str] = []
    worst: list[str] = []
    others: list[str] = []
    for testbed in TESTBEDS:
        without: dict[str, list[Cell]] = {}
        if testbed.counter_example is not None:
            without = by_quantity(compared(library, testbed.counter_example))
        for quantity, all_cells in by_quantity(compared(library, testbed.recipe)).items():
            for use, cells in _by_use(testbed, all_cells).items():
                names.append(testbed.recipe)
                quantities.append(_words(quantity))
                uses.append(use)
                counts.append(str(len(cells)))
                means.append(f"{100 * mean_error(cells):.1f} %")
                worst.append(f"{100 * max(_errors(cells), key=abs):+.1f} %")
                simpler = _by_use(testbed, without.get(quantity, [])).get(use)
                others.append(f"{100 * mean_error(simpler):.1f} %" if simpler else "")
    columns = {
        "recipe": names,
        "what": quantities,
        "fitted or held out": uses,
        "numbers": counts,
        "mean error": means,
        "worst": worst,
        "mean error of the counter-example": others,
    }
    left = {"recipe", "what", "fitted or held out"}
    return markdown(
        [
            TextColumn("", name, [TableCell(text) for text in texts], left=name in left)
            for name, texts in columns.items()
        ],
        "",
    )


def _by_use(testbed: Testbed, cells: Sequence[Cell]) -> dict[str, list[Cell]]:
    found: dict[str, list[Cell]] = {}
    for cell in cells:
        found.setdefault("fitted" if testbed.is_fitted(cell) else "held out", []).append(cell)
    return found


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

    with mpl.rc_context({**STYLE, "svg.hashsalt": "validation", "svg.fonttype": "none", "savefig.dpi": 110}):
        figure = Figure(figsize=(PAGE_IN, HEIGHT_IN), layout="constrained", facecolor="white")
        panels = figure.subplots(2, 4).ravel()
        for panel, testbed in zip(panels, TESTBEDS, strict=False):
            marks = []
            if testbed.counter_example is not None:
                marks.append(_marks(_cells(library, testbed.counter_example), SIMPLER))
            of_uses = _by_use(testbed, _cells(library, testbed.recipe))
            marks += [_marks(of_uses[use], look) for use, look in LOOKS.items() if use in of_uses]
            draw_panel(panel, marks, testbed.unit)
            panel.set_title(testbed.title)
        lines, names = panels[0].get_legend_handles_labels()
        figure.legend(lines, names, loc="outside upper center", ncols=len(names))
        figure.savefig(path, metadata={"Date": None, "Creator": None})


def _cells(library: Library, recipe: str) -> list[Cell]:
    """Return all cells of a recipe's comparison that are printed and measured."""
    return [cell for cells in by_quantity(compared(library, recipe)).values() for cell in cells]


def _marks(cells: Sequence[Cell], look: Mapping[str, Any]) -> Marks:
    known = [(cell.mean - cell.difference, cell.mean) for cell in cells if cell.mean and cell.difference is not None]
    return Marks([measured for measured, _ in known], [predicted for _, predicted in known], look)
