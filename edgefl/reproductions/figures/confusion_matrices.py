"""Classes of test samples over predicted classes (FedSSG paper, Fig. 28): a panel for each algorithm and phase."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from edgefl.reproductions.comparison import Comparison
from edgefl.reproductions.figures.panels import draw_panels
from edgefl.reproductions.readings.base import numbers_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes

PHASES = ("early", "late")  # measures of the recipe
ENTRY = 3  # numbers of an entry: label, predicted class, samples


def draw(comparison: Comparison, folder: Path) -> list[Path]:
    """Write confusion-matrices.png of the first seed; nothing if no run has been measured."""
    texts: dict[str, str] = {}
    for row in comparison.rows:
        for phase in PHASES:
            text = row.measures.get(f"{phase}_entries", "")
            if text:
                texts.setdefault(f"{', '.join(row.point.values())}, {phase}", text)
    if not texts:
        return []

    def panel(axes: Axes, title: str) -> None:
        entries = np.array(numbers_of(texts[title]), dtype=np.int64).reshape(-1, ENTRY)
        counts = np.zeros((entries[:, 0].max() + 1, entries[:, :2].max() + 1))
        counts[entries[:, 0], entries[:, 1]] = entries[:, 2]
        axes.imshow(np.log1p(counts), cmap="viridis")  # the diagonal would outshine all mistakes
        axes.set_xlabel("predicted class")
        axes.set_ylabel("class")

    return draw_panels(folder / "confusion-matrices.png", list(texts), panel)
