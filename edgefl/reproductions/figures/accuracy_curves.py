"""Accuracy over rounds of several algorithms (FedEve paper, Fig. 6): a file for each number of epochs."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from edgefl.reproductions.comparison import Comparison
from edgefl.reproductions.figures.panels import draw_panels, mean_curve, rounds_of, rows_with, values_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from edgefl.reproductions.records import Row

CURVE = "accuracy"  # the measure that is drawn


def draw(comparison: Comparison, folder: Path) -> list[Path]:
    """Write accuracy-E.png for each number E of epochs; nothing if no run has been measured."""
    written = []
    for epochs in values_of(comparison.rows, "epochs"):
        rows = rows_with(comparison.rows, {"epochs": epochs})
        panel = partial(_panel, comparison, rows)
        written += draw_panels(folder / f"accuracy-{epochs}.png", values_of(rows, "partition"), panel)
    return written


def _panel(comparison: Comparison, rows: Sequence[Row], axes: Axes, title: str) -> None:
    """Draw a curve for each algorithm."""
    for name in values_of(rows, "alg"):
        curve = mean_curve(rows_with(rows, {"alg": name, "partition": title}), CURVE)
        axes.plot(rounds_of(comparison, CURVE, len(curve)), curve, label=name)
    axes.set_xlabel("round")
    axes.set_ylabel("test accuracy")
    axes.legend(fontsize="small")
