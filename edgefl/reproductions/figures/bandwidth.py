"""Latency and energy to a target over the system bandwidth (dynamic-devices paper, Fig. 4)."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from edgefl.reproductions.comparison import Comparison
from edgefl.reproductions.figures.panels import draw_panels, rows_with, values_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes

ROUNDS = {"Proposed": 1, "Previous": 5, "Average": 14, "Continuous": 52}  # Table VII: SVHN, overlap 0, alpha 0.7, MOON
PANELS = {"latency [s]": "latency_s", "energy [J]": "energy_j"}


def draw(comparison: Comparison, folder: Path) -> list[Path]:
    """Write bandwidth.png; nothing if no run has been measured."""
    if not comparison.rows:
        return []
    return draw_panels(folder / "bandwidth.png", list(PANELS), partial(_panel, comparison), share_y=False)


def _panel(comparison: Comparison, axes: Axes, title: str) -> None:
    """Draw a line for each strategy: its printed rounds times what a round costs at each bandwidth."""
    bandwidths = values_of(comparison.rows, "bandwidth_mhz")
    of_round = []
    for bandwidth in bandwidths:
        rows = rows_with(comparison.rows, {"bandwidth_mhz": bandwidth})
        of_round.append(np.mean([float(row.measures[PANELS[title]]) for row in rows]))
    for name, rounds in ROUNDS.items():
        axes.plot([float(bandwidth) for bandwidth in bandwidths], rounds * np.array(of_round), marker="o", label=name)
    axes.set_xlabel("system bandwidth [MHz]")
    axes.set_ylabel(f"{title} to the target")
    axes.set_yscale("log")
    axes.legend(fontsize="small")
