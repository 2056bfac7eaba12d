"""Boxes of FedEve's Kalman gain over rounds (FedEve paper, Fig. 4): a panel for each number of epochs."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from edgefl.reproductions.comparison import Comparison
from edgefl.reproductions.figures.panels import draw_panels, rows_with, values_of
from edgefl.reproductions.readings.base import numbers_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def draw(comparison: Comparison, folder: Path) -> list[Path]:
    """Write figure-4.png; nothing if no run has been measured."""
    rows = comparison.rows
    partitions = values_of(rows, "partition")
    if not partitions:
        return []

    def panel(axes: Axes, title: str) -> None:
        epochs = title.removeprefix("E = ")
        boxes = []
        for partition in partitions:
            found = rows_with(rows, {"partition": partition, "epochs": epochs})
            gains = [number for row in found for number in numbers_of(row.measures.get("gain", ""))]
            boxes.append(np.array(gains)[np.isfinite(gains)])
        axes.boxplot(boxes, tick_labels=partitions, showfliers=False)
        axes.set_xlabel("alpha")
        axes.set_ylabel("Kalman gain")

    return draw_panels(folder / "figure-4.png", [f"E = {epochs}" for epochs in values_of(rows, "epochs")], panel)
