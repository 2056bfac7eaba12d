"""Convergence: test accuracy above training loss over rounds, a column for each setting, a line for each algorithm."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from edgefl.core.extras import require
from edgefl.reproductions.comparison import Comparison
from edgefl.reproductions.figures.panels import mean_curve, rounds_of
from edgefl.reproductions.records import Row

if TYPE_CHECKING:
    from matplotlib.axes import Axes

LINES = "algorithm"  # the axis whose values are lines
CURVES = {"curve": ("test accuracy [%]", 100.0), "loss_curve": ("training loss", 1.0)}  # measure: label, factor
PANEL_IN = (3.2, 2.4)


def draw(comparison: Comparison, folder: Path) -> list[Path]:
    """Draw what has been measured into the folder, and return the file; none if nothing has been measured.

    Raises:
        Unavailable: matplotlib is not installed.
    """
    settings = _settings(comparison.rows)
    if not settings:
        return []
    require("matplotlib", "plot", "the figure of a recipe")
    from matplotlib.figure import Figure

    size = (PANEL_IN[0] * len(settings), PANEL_IN[1] * len(CURVES))
    figure = Figure(figsize=size, layout="constrained")
    panels = figure.subplots(len(CURVES), len(settings), squeeze=False, sharex="col")
    for across, (title, rows) in enumerate(settings.items()):
        panels[0, across].set_title(title, fontsize="small")
        for down, (measure, (label, factor)) in enumerate(CURVES.items()):
            _draw_panel(panels[down, across], comparison, rows, measure, factor)
            panels[down, across].set_ylabel(label, fontsize="small")
        panels[0, across].legend(fontsize="x-small")
        panels[-1, across].set_xlabel("round", fontsize="small")
    path = folder / "accuracy-and-loss.svg"
    figure.savefig(path, metadata={"Date": None})
    return [path]


def _settings(rows: Sequence[Row]) -> dict[str, list[Row]]:
    """Return the measured rows by their setting: the values of all axes but that of the lines."""
    settings: dict[str, list[Row]] = {}
    for row in rows:
        if any(row.measures.get(measure) for measure in CURVES):
            title = ", ".join(f"{axis} {value}" for axis, value in row.point.items() if axis != LINES)
            settings.setdefault(title, []).append(row)
    return settings


def _draw_panel(panel: Axes, comparison: Comparison, rows: Sequence[Row], measure: str, factor: float) -> None:
    """Draw the mean curve over the seeds of each algorithm."""
    for name in dict.fromkeys(row.point[LINES] for row in rows):
        mean = mean_curve([row for row in rows if row.point[LINES] == name], measure)
        if mean.size:
            rounds = rounds_of(comparison, measure, mean.size)
            tested = np.isfinite(mean)
            panel.plot(rounds[tested], factor * mean[tested], label=name, linewidth=1.0)
