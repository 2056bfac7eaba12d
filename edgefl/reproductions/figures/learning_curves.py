"""Learning curves: a panel for each row of a recipe, a line for each of its columns, the mean over the seeds."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from edgefl.core.arrays import Floats
from edgefl.core.extras import require
from edgefl.reproductions.comparison import Comparison
from edgefl.reproductions.figures.panels import mean_curve, rounds_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes

CURVE = "curve"  # the measure that is drawn
PANELS_ABREAST = 3
PANEL_IN = (3.2, 2.6)


def draw(comparison: Comparison, folder: Path) -> list[Path]:
    """Draw what has been measured into the folder, and return the file; none if nothing has been measured.

    Raises:
        Unavailable: matplotlib is not installed.
    """
    panels = _panels(comparison)
    if not panels:
        return []
    require("matplotlib", "plot", "the figure of a recipe")
    from matplotlib.figure import Figure

    across = min(PANELS_ABREAST, len(panels))
    down = math.ceil(len(panels) / across)
    figure = Figure(figsize=(PANEL_IN[0] * across, PANEL_IN[1] * down), layout="constrained")
    axes = figure.subplots(down, across, squeeze=False)
    for place, (title, lines) in zip(axes.flat, panels.items(), strict=False):
        _draw_panel(place, comparison, title, lines)
    for place in axes.flat[len(panels) :]:
        place.set_axis_off()
    path = folder / "learning-curves.svg"
    figure.savefig(path, metadata={"Date": None})
    return [path]


def _panels(comparison: Comparison) -> dict[str, dict[str, Floats]]:
    """Return the lines of each panel, by the names of rows and columns: accuracies [tests]."""
    panels: dict[str, dict[str, Floats]] = {}
    for cell in comparison.cells:
        mean = mean_curve([row for row in comparison.rows if row.point == cell.point], CURVE)
        if mean.size:
            panels.setdefault(", ".join(cell.row.values()), {})[cell.column] = mean
    return panels


def _draw_panel(axes: Axes, comparison: Comparison, title: str, lines: dict[str, Floats]) -> None:
    for name, curve in lines.items():
        tested = np.isfinite(curve)
        rounds = rounds_of(comparison, CURVE, curve.size)
        axes.plot(rounds[tested], 100 * curve[tested], label=name, linewidth=1.0)
    axes.set_title(title, fontsize="small")
    axes.set_xlabel("round", fontsize="small")
    axes.set_ylabel("test accuracy [%]", fontsize="small")
    axes.legend(fontsize="x-small")
