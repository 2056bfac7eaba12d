"""Accuracy over rounds under period drift, client drift, both or none (FedEve paper, Fig. 3b): one panel an alpha."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from edgefl.reproductions.comparison import Comparison
from edgefl.reproductions.figures.panels import draw_panels, mean_curve, rows_with, values_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes

EVERY = 10  # rounds from one entry of the curve to the next, as in the recipe


def draw(comparison: Comparison, folder: Path) -> list[Path]:
    """Write figure-3b.png; nothing if no run has been measured."""
    rows = comparison.rows
    settings = values_of(rows, "drift")
    alphas = list(dict.fromkeys(name.partition("-")[2] for name in settings if "-" in name))
    if not alphas:
        return []

    def panel(axes: Axes, title: str) -> None:
        alpha = title.removeprefix("alpha = ")
        for setting in settings:
            drift, _, of_alpha = setting.partition("-")
            if of_alpha not in {"", alpha}:
                continue
            curve = mean_curve(rows_with(rows, {"drift": setting}), "accuracy")
            axes.plot(EVERY * np.arange(1, len(curve) + 1), curve, label=drift)
        axes.set_xlabel("round")
        axes.set_ylabel("test accuracy")
        axes.legend(fontsize="small")

    return draw_panels(folder / "figure-3b.png", [f"alpha = {alpha}" for alpha in alphas], panel)
