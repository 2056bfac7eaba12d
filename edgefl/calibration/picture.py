"""Predicted against measured numbers, on logarithmic axes."""

from __future__ import annotations

import io
import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from edgefl.calibration.comparison import QUANTITIES, Compared
from edgefl.calibration.log import CREATOR, PHASES
from edgefl.results.export.figure_style import COLUMN_IN, STYLE, look_of
from edgefl.results.report.shared.style import INK

if TYPE_CHECKING:
    from matplotlib.axes import Axes

TOLERANCE = 0.1  # of the band around the line of equal numbers
UNITS = {"seconds": "s", "joules": "J"}
HEIGHT_IN = 3.6


class Marks(NamedTuple):
    """Marks of one look."""

    measured: Sequence[float]
    predicted: Sequence[float]
    look: Mapping[str, Any]  # of Matplotlib's `plot`


def drawn(compared: Sequence[Compared]) -> bytes:
    """Return an SVG with a panel for seconds and one for joules; the same numbers give the same bytes."""
    import matplotlib as mpl
    from matplotlib.figure import Figure

    panels = [quantity for quantity in QUANTITIES if any(number.quantity == quantity for number in compared)]
    with mpl.rc_context({**STYLE, "svg.hashsalt": "calibration", "svg.fonttype": "none"}):
        figure = Figure(figsize=(COLUMN_IN * len(panels), HEIGHT_IN), layout="constrained", facecolor="white")
        axes = figure.subplots(1, len(panels), squeeze=False)[0]
        for panel, quantity in zip(axes, panels, strict=True):
            draw_panel(panel, _marks([one for one in compared if one.quantity == quantity]), UNITS[quantity])
        looks = {name: line for panel in axes for line, name in zip(*panel.get_legend_handles_labels(), strict=True)}
        figure.legend(looks.values(), looks.keys(), loc="outside lower center", ncols=2, fontsize=6)
        sink = io.BytesIO()
        figure.savefig(sink, format="svg", metadata={"Date": None, "Creator": CREATOR})
    return sink.getvalue()


def _marks(compared: Sequence[Compared]) -> list[Marks]:
    marks = []
    for number, phase in enumerate(PHASES):
        colour = look_of(number).colour
        for left_out, filling, words in ((True, colour, "left out"), (False, "none", "fitted")):
            shown = [one for one in compared if (one.row.phase, one.left_out) == (phase, left_out)]
            look = {
                "color": colour,
                "markersize": 4,
                "markerfacecolor": filling,
                "label": f"{phase}, {words}",
            }
            if shown:
                marks.append(Marks([one.measured for one in shown], [one.predicted for one in shown], look))
    return marks


def draw_panel(panel: Axes, marks: Sequence[Marks], unit: str) -> None:
    """Draw predicted over measured numbers, the line where they are equal, and a band of 10 % around it."""
    from matplotlib.ticker import NullFormatter

    numbers = [number for one in marks for number in (*one.measured, *one.predicted) if number > 0]
    ends = [10.0 ** math.floor(math.log10(min(numbers))), 10.0 ** (math.floor(math.log10(max(numbers))) + 1)]
    lower, upper = ([end * factor for end in ends] for factor in (1 - TOLERANCE, 1 + TOLERANCE))
    panel.fill_between(ends, lower, upper, color="#e8ebee", label=f"± {TOLERANCE:.0%}")
    panel.plot(ends, ends, color=INK, linewidth=0.8, label="predicted = measured")
    for one in marks:
        panel.plot(one.measured, one.predicted, "o", **one.look)
    panel.set(xscale="log", yscale="log", xlim=ends, ylim=ends)
    panel.set(xlabel=f"measured [{unit}]", ylabel=f"predicted [{unit}]")
    for axis in (panel.xaxis, panel.yaxis):
        axis.set_major_formatter("{x:g}")  # Matplotlib's own are formulas
        axis.set_minor_formatter(NullFormatter())
