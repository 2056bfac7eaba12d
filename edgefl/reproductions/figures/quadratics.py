"""Distance to the optimum of quadratic functions over the rounds, parallel and sequential (sequential FL, Fig. 6)."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from edgefl.reproductions.readings.base import numbers_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from edgefl.reproductions.comparison import Comparison

COLUMNS = 3
PANEL_IN = (3.0, 2.5)  # width and height
ROUNDS = 500
LEAST = 1e-16  # a distance of 0 has no place on a logarithmic axis
COLOUR = {"PFL": "#2a6fbb", "SFL": "#c4481c"}
LINE = {"2": "-", "10": ":"}  # by the number of local steps


def draw(comparison: Comparison, folder: Path) -> list[Path]:
    """Draw a panel for each pair of functions, with the mean over the seeds of each method and number of steps."""
    import matplotlib as mpl  # an extra that may be missing

    mpl.use("svg")
    from matplotlib import pyplot as plt

    curves = curves_of(comparison)
    pairs = list(dict.fromkeys(functions for functions, _, _ in curves))
    rows = -(-len(pairs) // COLUMNS)
    with plt.rc_context({"svg.hashsalt": "edgefl", "font.size": 8}):
        size_in = (COLUMNS * PANEL_IN[0], rows * PANEL_IN[1])
        figure, axes = plt.subplots(rows, COLUMNS, figsize=size_in, sharex=True, layout="constrained", squeeze=False)
        for axis in axes.flat[len(pairs) :]:
            axis.remove()
        for axis, functions in zip(axes.flat, pairs, strict=False):
            _panel(axis, functions, curves)
        axes.flat[0].legend(frameon=False)
        path = folder / "quadratics.svg"
        figure.savefig(path, metadata={"Date": None})
        plt.close(figure)
    return [path]


def curves_of(comparison: Comparison) -> dict[tuple[str, str, str], list[float]]:
    """Return the mean distance over the seeds by functions, method and steps; in rounds 1 to 500, equally spaced."""
    found: dict[tuple[str, str, str], list[list[float]]] = {}
    for row in comparison.rows:
        key = (row.point["functions"], row.point["method"], row.point["steps"])
        text = row.measures.get("distance")
        if text:
            found.setdefault(key, []).append(numbers_of(text))
    return {key: np.mean(curves, axis=0).tolist() for key, curves in found.items()}


def _panel(axis: Axes, functions: str, curves: dict[tuple[str, str, str], list[float]]) -> None:
    """Draw the curves of one pair of functions."""
    for (pair, method, steps), distances in curves.items():
        if pair != functions:
            continue
        rounds = np.linspace(ROUNDS / len(distances), ROUNDS, len(distances))
        shown = np.maximum(distances, LEAST)
        axis.plot(rounds, shown, color=COLOUR[method], ls=LINE[steps], lw=1, label=f"{method}, K = {steps}")
    first, second, slope = functions.split()
    axis.set(yscale="log", title=f"a = {first}, {second}; b = ±{slope}", xlabel="round", ylabel="distance")
    axis.spines[["top", "right"]].set_visible(False)
