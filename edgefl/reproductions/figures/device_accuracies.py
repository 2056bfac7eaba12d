"""The distribution of accuracy over devices: a histogram and a density for each algorithm (FedAR paper, Fig. 3)."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from edgefl.core.arrays import Floats
from edgefl.core.extras import require
from edgefl.reproductions.comparison import Comparison
from edgefl.reproductions.readings.base import numbers_of
from edgefl.reproductions.records import Row

LINES = "algorithm"
MEASURE = "device_accuracies"
BINS = [5.0 * number for number in range(21)]  # their edges [%]
SIZE_IN = (4.5, 3.0)


def draw(comparison: Comparison, folder: Path) -> list[Path]:
    """Draw what has been measured into the folder, and return the file; none if nothing has been measured.

    Raises:
        Unavailable: matplotlib is not installed.
    """
    pooled = _pooled(comparison.rows)
    if not pooled:
        return []
    require("matplotlib", "plot", "the figure of a recipe")
    from matplotlib.figure import Figure

    figure = Figure(figsize=SIZE_IN, layout="constrained")
    panel = figure.subplots()
    at = np.linspace(0.0, 100.0, 401)
    for number, (name, accuracies) in enumerate(pooled.items()):
        colour = f"C{number}"
        panel.hist(accuracies, BINS, density=True, histtype="stepfilled", alpha=0.2, color=colour)
        panel.plot(at, density(accuracies, at), color=colour, linewidth=1.2, label=name)
    panel.set_xlabel("accuracy of the final model for a device [%]")
    panel.set_ylabel("density of devices")
    panel.legend(fontsize="small")
    path = folder / "device-accuracies.svg"
    figure.savefig(path, metadata={"Date": None})
    return [path]


def _pooled(rows: Sequence[Row]) -> dict[str, Floats]:
    """Return the accuracies [%] of the devices of all seeds, by algorithm."""
    pooled: dict[str, list[float]] = {}
    for row in rows:
        text = row.measures.get(MEASURE, "")
        if text:
            pooled.setdefault(row.point[LINES], []).extend(numbers_of(text))
    return {name: np.array(accuracies) for name, accuracies in pooled.items()}


def density(values: Floats, at: Floats) -> Floats:
    """Return a kernel density estimate [m] of values [n] at points [m]: Gaussian, with Scott's bandwidth (1992)."""
    bandwidth = max(float(values.std()) * len(values) ** -0.2, 1e-3)
    distance = (at[:, None] - values[None, :]) / bandwidth
    return np.asarray(np.exp(-(distance**2) / 2).mean(axis=1) / (bandwidth * np.sqrt(2 * np.pi)))
