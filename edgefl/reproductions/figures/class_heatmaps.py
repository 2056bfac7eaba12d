"""Samples of each class on each device (FedSSG paper, Fig. 3): a panel for each distribution."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from edgefl.reproductions.comparison import Comparison
from edgefl.reproductions.figures.panels import draw_panels, rows_with, values_of
from edgefl.reproductions.readings.base import numbers_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes

SHOWN = 20  # devices, as many as the reading keeps


def draw(comparison: Comparison, folder: Path) -> list[Path]:
    """Write class-heatmaps.png from the measure `largest_share`; nothing if no run has been measured."""
    rows = [row for row in comparison.rows if row.measures.get("largest_share_counts")]
    distributions = values_of(rows, "distribution")
    if not distributions:
        return []

    def panel(axes: Axes, title: str) -> None:
        text = rows_with(rows, {"distribution": title})[0].measures["largest_share_counts"]
        counts = np.array(numbers_of(text)).reshape(SHOWN, -1)
        axes.imshow(counts, aspect="auto", cmap="viridis")
        axes.set_xlabel("class")
        axes.set_ylabel("device")

    return draw_panels(folder / "class-heatmaps.png", distributions, panel)
