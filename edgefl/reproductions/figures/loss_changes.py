"""Changes of participants' losses in a round (FedSSG paper, Fig. 2): a panel for each column, a dot a participation."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from edgefl.reproductions.comparison import Comparison
from edgefl.reproductions.figures.panels import draw_panels, rows_with, values_of
from edgefl.reproductions.readings.base import numbers_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes

DOT = 4.0  # area in square points


def draw(comparison: Comparison, folder: Path) -> list[Path]:
    """Write loss-changes.png from the measure `spread`; nothing if no run has been measured."""
    rows = [row for row in comparison.rows if row.measures.get("spread_local")]
    algorithms = values_of(rows, "algorithm")
    if not algorithms:
        return []

    def panel(axes: Axes, title: str) -> None:
        measures = rows_with(rows, {"algorithm": title})[0].measures  # of the first seed
        axes.scatter(numbers_of(measures["spread_local"]), numbers_of(measures["spread_global"]), s=DOT, linewidths=0)
        axes.axhline(0.0, linewidth=0.5)
        axes.axvline(0.0, linewidth=0.5)
        axes.set_xlabel("change of the loss by local training")
        axes.set_ylabel("by the round")

    return draw_panels(folder / "loss-changes.png", algorithms, panel)
