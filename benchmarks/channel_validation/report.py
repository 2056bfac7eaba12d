"""The form of a topic's results: checks with a measured and an expected number, and figures in one style."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from channel._arrays import Floats

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

CARRIER_HZ = 3.5e9  # of the dynamic-devices paper, as the slot
SLOT_S = 0.5e-3

KS_ONE_PERCENT = 1.63
"""Kolmogorov's statistic times the root of the sample size, exceeded by chance in 1 % of all samples."""


@dataclass(frozen=True)
class Check:
    """A number of the implementation beside the one it should be."""

    name: str
    measured: float
    expected: float
    tolerance: float  # absolute

    @property
    def ok(self) -> bool:
        """True if the two agree; NaN never does."""
        return abs(self.measured - self.expected) <= self.tolerance


def share_error(probability: float, samples: int) -> float:
    """Return the standard error of a share that is measured by so many independent samples."""
    return float(np.sqrt(probability * (1 - probability) / samples))


def even_shares(count: int) -> Floats:
    """Return the shares of an ordered sample that lie below each of its values, (i + 1/2) / n, [n]."""
    return np.asarray((np.arange(count) + 0.5) / count)


def figure(title: str, x_label: str, y_label: str) -> tuple[Figure, Axes]:
    """Return an empty figure with one pair of axes, without any global state."""
    from matplotlib.figure import Figure

    # Not by pyplot, which keeps every figure alive and would look for a screen.
    drawing = Figure(figsize=(7.0, 4.2), layout="constrained")
    axes = drawing.add_subplot()
    axes.set(title=title, xlabel=x_label, ylabel=y_label)
    axes.grid(visible=True, alpha=0.3)
    return drawing, axes
