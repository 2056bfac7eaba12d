"""A small chart as SVG, which needs no script: for notebooks, whose output may have none."""

import math
from collections.abc import Sequence

from edgefl.core.arrays import Floats
from edgefl.core.units import digits
from edgefl.results.report.shared.style import AXIS_COLOUR, GRID_COLOUR, INK, MUTED
from edgefl.results.report.shared.templates import Html, render

# Pixels
WIDTH = 420
HEIGHT = 230
LEFT = 52
RIGHT = WIDTH - 14
TOP = 12
GROUND = HEIGHT - 44  # of the horizontal axis

TICKS = 5  # at most on an axis, besides that at 0
STEPS = (1.0, 2.0, 2.5, 5.0, 10.0)  # of ticks, times a power of ten


def line_chart(
    x: Floats, y: Floats, titles: tuple[str, str], colour: str, ceiling: float, levels: Sequence[float] = ()
) -> Html:
    """Return a line through points [n] as SVG, from 0 to the ceiling, with dashed lines at levels such as targets."""
    right_end = float(x.max()) or 1.0

    def place(value: float) -> float:
        return LEFT + (RIGHT - LEFT) * value / right_end

    def height(value: float) -> float:
        return GROUND - (GROUND - TOP) * value / ceiling

    return render(
        "shared/chart.html.j2",
        width=WIDTH,
        height=HEIGHT,
        left=LEFT,
        right=RIGHT,
        ground=GROUND,
        middle=(TOP + GROUND) / 2,
        titles=titles,
        label=_in_words(x, y, titles, levels),
        rows=[(height(tick), digits(tick)) for tick in ticks(ceiling)],
        columns=[(place(tick), digits(tick)) for tick in ticks(right_end)],
        levels=[height(level) for level in levels],
        points=[(place(px), height(py)) for px, py in zip(x.tolist(), y.tolist(), strict=True)],
        colour=colour,
        ink=INK,
        muted=MUTED,
        grid=GRID_COLOUR,
        axis=AXIS_COLOUR,
    )


def _in_words(x: Floats, y: Floats, titles: tuple[str, str], levels: Sequence[float]) -> str:
    """Return the chart as a sentence: its axes, where the line begins and ends, its extremes, and the levels."""

    def point(row: int) -> str:
        return f"{digits(y[row])} at {digits(x[row])}"

    text = f"{titles[1]} over {titles[0]}: "
    if len(y) == 1:
        text += point(0)
    else:
        text += f"from {point(0)} to {point(-1)}; lowest {point(int(y.argmin()))}, highest {point(int(y.argmax()))}"
    if levels:
        text += f"; dashed lines at {', '.join(map(digits, levels))}"
    return text


def ticks(end: float) -> list[float]:
    """Return round numbers from 0 to the end, a few of them and evenly spaced."""
    power = 10.0 ** math.floor(math.log10(end / TICKS))
    step = next(step * power for step in STEPS if end / (step * power) <= TICKS * (1 + 1e-9))
    count = math.floor(end / step * (1 + 1e-9))
    return [step * number for number in range(count + 1)]
