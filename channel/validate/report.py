"""What a topic hands in: checks with a measured and an expected number, and figures in one style."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


@dataclass(frozen=True)
class Check:
    """A number of the implementation beside the one it should be."""

    name: str
    measured: float
    expected: float
    tolerance: float  # absolute

    @property
    def ok(self) -> bool:
        """Whether the two agree; NaN never does."""
        return abs(self.measured - self.expected) <= self.tolerance


def figure(title: str, x_label: str, y_label: str) -> tuple[Figure, Axes]:
    """An empty figure with one pair of axes, without any global state."""
    from matplotlib.figure import Figure

    drawing = Figure(figsize=(7.0, 4.2), layout="constrained")
    axes = drawing.add_subplot()
    axes.set(title=title, xlabel=x_label, ylabel=y_label)
    axes.grid(visible=True, alpha=0.3)
    return drawing, axes
