"""Parts that figures share: a file with one panel for each value of an axis, and the curves of rows."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from edgefl.core.extras import require
from edgefl.core.files import write_atomically
from edgefl.reproductions.readings.base import numbers_of
from edgefl.reproductions.readings.rounds import ColumnCurve

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from edgefl.core.arrays import Floats
    from edgefl.reproductions.comparison import Comparison
    from edgefl.reproductions.records import Row

PANEL_INCHES = (3.6, 2.9)


def draw_panels(
    path: Path, titles: Sequence[str], draw: Callable[[Axes, str], None], *, share_y: bool = True
) -> list[Path]:
    """Write a PNG file with panels side by side, and return its path in a list.

    Args:
        path: the file.
        titles: of the panels.
        draw: draws the panel of a title.
        share_y: give all panels one vertical axis.
    """
    require("matplotlib", "plot", "figures of `edgefl reproduce`")
    import io

    from matplotlib.figure import Figure

    width, height = PANEL_INCHES
    figure = Figure(figsize=(width * len(titles), height), layout="constrained")
    panels = figure.subplots(1, len(titles), sharey=share_y, squeeze=False)
    for axes, title in zip(panels[0], titles, strict=True):
        axes.set_title(title, fontsize="medium")
        draw(axes, title)
    content = io.BytesIO()
    figure.savefig(content, format="png", metadata={"Software": None})
    write_atomically(path, content.getvalue())
    return [path]


def values_of(rows: Sequence[Row], axis: str) -> list[str]:
    """Return the values of an axis that rows have, in their order."""
    return list(dict.fromkeys(row.point[axis] for row in rows))


def mean_curve(rows: Sequence[Row], measure: str) -> Floats:
    """Return the mean [n] over rows of a curve that they have as a text; rows that have none do not count."""
    curves = [numbers_of(row.measures[measure]) for row in rows if row.measures.get(measure)]
    if not curves:
        return np.empty(0)
    shortest = min(len(curve) for curve in curves)
    return np.asarray(np.mean([curve[:shortest] for curve in curves], axis=0))


def rounds_of(comparison: Comparison, measure: str, count: int) -> Floats:
    """Return the rounds [count] that the entries of a curve belong to.

    A session's curve has all rounds of the session, another one each nth round of the run.
    """
    reading = comparison.measures.get(measure)
    every = 1
    if isinstance(reading, ColumnCurve):
        every = reading.every
    return every * np.arange(1.0, count + 1)


def rows_with(rows: Sequence[Row], wanted: Mapping[str, str]) -> list[Row]:
    """Return the rows whose axes have these values."""
    return [row for row in rows if all(row.point.get(axis) == value for axis, value in wanted.items())]
