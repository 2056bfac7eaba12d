"""Classes of the participants of each round, as dots (FedEve paper, Figs. 3a and 5): a panel for each partition."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from edgefl.reproductions.comparison import Comparison
from edgefl.reproductions.figures.panels import draw_panels, rows_with, values_of
from edgefl.reproductions.readings.base import numbers_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes

ENTRY = 4  # numbers of an entry: round, device, label, samples
LARGEST_DOT = 60.0  # area in square points, of the largest number of samples


def draw(comparison: Comparison, folder: Path) -> list[Path]:
    """Write labels-by-round.png; nothing if no run has been measured."""
    rows = comparison.rows
    partitions = values_of(rows, "partition")
    if not partitions:
        return []

    def panel(axes: Axes, title: str) -> None:
        row = rows_with(rows, {"partition": title})[0]  # of the first seed
        rounds, devices, labels, samples = np.array(numbers_of(row.measures["held"])).reshape(-1, ENTRY).T
        places = np.empty(len(rounds))
        for number in np.unique(rounds):
            of_round = rounds == number
            places[of_round] = np.unique(devices[of_round], return_inverse=True)[1]
        areas = LARGEST_DOT * samples / samples.max()
        axes.scatter(rounds, places, s=areas, c=labels, cmap="tab10", alpha=0.6, linewidths=0)
        axes.set_xlabel("round")
        axes.set_ylabel("participant")

    return draw_panels(folder / "labels-by-round.png", partitions, panel)
