"""Predicted against measured numbers, on logarithmic axes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from edgefl.calibration.comparison import QUANTITIES, Compared
from edgefl.calibration.log import PHASES
from edgefl.results.export.figure_style import COLUMN_IN, STYLE, look_of
from edgefl.results.report.shared.style import INK

if TYPE_CHECKING:
    from typing import IO

    from matplotlib.axes import Axes

TOLERANCE = 0.1  # of the lines beside the identity
UNITS = {"seconds": "s", "joules": "J"}
HEIGHT_IN = 3.6


def draw(compared: Sequence[Compared], sink: Path | IO[bytes]) -> None:
    """Draw a panel for seconds and one for joules, if any were measured; the same numbers give the same bytes.

    Args:
        compared: at least one number.
        sink: the SVG file.
    """
    import matplotlib as mpl
    from matplotlib.figure import Figure

    panels = [quantity for quantity in QUANTITIES if any(number.quantity == quantity for number in compared)]
    with mpl.rc_context({**STYLE, "svg.hashsalt": "calibration", "svg.fonttype": "none"}):
        figure = Figure(figsize=(COLUMN_IN * len(panels), HEIGHT_IN), layout="constrained", facecolor="white")
        axes = figure.subplots(1, len(panels), squeeze=False)[0]
        for panel, quantity in zip(axes, panels, strict=True):
            _draw_panel(panel, [number for number in compared if number.quantity == quantity], UNITS[quantity])
        looks = {name: line for panel in axes for line, name in zip(*panel.get_legend_handles_labels(), strict=True)}
        figure.legend(looks.values(), looks.keys(), loc="outside lower center", ncols=2, fontsize=6)
        figure.savefig(sink, format="svg", metadata={"Date": None, "Creator": None})


def _draw_panel(panel: Axes, compared: Sequence[Compared], unit: str) -> None:
    from matplotlib.ticker import NullFormatter

    numbers = [number.measured for number in compared] + [number.predicted for number in compared]
    logarithms = [math.log10(number) for number in numbers if number > 0]
    ends = [10.0 ** math.floor(min(logarithms)), 10.0 ** (math.floor(max(logarithms)) + 1)]
    panel.plot(ends, ends, color=INK, linewidth=0.8, label="predicted = measured")
    for factor in (1 - TOLERANCE, 1 + TOLERANCE):
        label = f"± {TOLERANCE:.0%}" if factor > 1 else "_"
        panel.plot(ends, [end * factor for end in ends], color=INK, linewidth=0.6, linestyle=":", label=label)
    for phase in PHASES:
        for left_out in (True, False):
            shown = [number for number in compared if (number.row.phase, number.left_out) == (phase, left_out)]
            if not shown:
                continue
            look = look_of(PHASES.index(phase))
            panel.plot(
                [number.measured for number in shown],
                [number.predicted for number in shown],
                linestyle="none",
                marker="o",
                markersize=4,
                color=look.colour,
                markerfacecolor=look.colour if left_out else "none",
                label=f"{phase}, {'left out' if left_out else 'fitted'}",
            )
    panel.set_xscale("log")
    panel.set_yscale("log")
    panel.set_xlim(*ends)
    panel.set_ylim(*ends)
    for axis in (panel.xaxis, panel.yaxis):
        axis.set_major_formatter(lambda value, _: f"{value:g}")  # Matplotlib's own are formulas
        axis.set_minor_formatter(NullFormatter())
    panel.set_xlabel(f"measured [{unit}]")
    panel.set_ylabel(f"predicted [{unit}]")
