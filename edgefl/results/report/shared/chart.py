"""A small chart as SVG, which needs no script: for notebooks, whose output may have none."""

from __future__ import annotations

import math
from collections.abc import Sequence
from html import escape

from edgefl.core.arrays import Floats
from edgefl.core.units import digits
from edgefl.results.report.shared.style import AXIS_COLOUR, GRID_COLOUR, INK, MUTED, on_page

# All in pixels
WIDTH = 420
HEIGHT = 230
LEFT = 52
RIGHT = 14
TOP = 12
BOTTOM = 44
TICK_LENGTH = 4
POINT_RADIUS = 3.5

TICKS = 5  # at most on an axis, besides that at 0
STEPS = (1.0, 2.0, 2.5, 5.0, 10.0)  # of ticks, times a power of ten


def line_chart(
    x: Floats, y: Floats, titles: tuple[str, str], colour: str, ceiling: float, levels: Sequence[float] = ()
) -> str:
    """Return a line through points as SVG; both axes begin at 0.

    Args:
        x: [n] horizontal values, not negative.
        y: [n] vertical values, from 0 to the ceiling.
        titles: of the horizontal and of the vertical axis.
        colour: of the line.
        ceiling: the upper end of the vertical axis.
        levels: heights of dashed lines over the whole width, such as targets.
    """
    right_end = float(x.max()) or 1.0
    parts = [_grid(right_end, ceiling), _axis_titles(titles)]
    for level in levels:
        height = _vertical(level, ceiling)
        parts.append(_line(LEFT, height, WIDTH - RIGHT, height, MUTED, ' stroke-dasharray="4 3"'))
    points = [(_horizontal(px, right_end), _vertical(py, ceiling)) for px, py in zip(x, y, strict=True)]
    if len(points) > 1:
        path = " ".join(f"{px:.1f},{py:.1f}" for px, py in points)
        parts.append(f'<polyline points="{path}" fill="none" {_painted("stroke", colour)} stroke-width="2"/>')
    else:  # a line of one point would not be seen
        fill = _painted("fill", colour)
        parts += [f'<circle cx="{px:.1f}" cy="{py:.1f}" r="{POINT_RADIUS}" {fill}/>' for px, py in points]
    label = escape(_in_words(x, y, titles, levels))
    return (
        f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{label}" font-size="11" {_painted("fill", INK)}>'
        f"{''.join(parts)}</svg>"
    )


def _in_words(x: Floats, y: Floats, titles: tuple[str, str], levels: Sequence[float]) -> str:
    """Return the chart as a sentence: its axes, where the line begins and ends, its extremes, and the levels."""
    lowest = int(y.argmin())
    highest = int(y.argmax())
    text = f"{titles[1]} over {titles[0]}: "
    if len(y) == 1:
        text += f"{digits(y[0])} at {digits(x[0])}"
    else:
        text += f"from {digits(y[0])} at {digits(x[0])} to {digits(y[-1])} at {digits(x[-1])}; "
        text += (
            f"lowest {digits(y[lowest])} at {digits(x[lowest])}, highest {digits(y[highest])} at {digits(x[highest])}"
        )
    if levels:
        text += f"; dashed lines at {', '.join(map(digits, levels))}"
    return text


def _painted(kind: str, colour: str) -> str:
    """Return the attributes that paint with a colour: a style for light and dark pages, and one for old browsers."""
    return f'{kind}="{colour}" style="{kind}:{on_page(colour)}"'


def _grid(right_end: float, ceiling: float) -> str:
    """Return the axes with ticks and their numbers, and a thin line at each vertical tick."""
    ground = HEIGHT - BOTTOM
    parts = []
    for tick in ticks(ceiling):
        height = _vertical(tick, ceiling)
        parts.append(_line(LEFT, height, WIDTH - RIGHT, height, GRID_COLOUR))
        parts.append(_text(LEFT - 6, height + 4, digits(tick), "end"))
    parts.append(_line(LEFT, ground, WIDTH - RIGHT, ground, AXIS_COLOUR))
    for tick in ticks(right_end):
        place = _horizontal(tick, right_end)
        parts.append(_line(place, ground, place, ground + TICK_LENGTH, AXIS_COLOUR))
        parts.append(_text(place, ground + 17, digits(tick), "middle"))
    return "".join(parts)


def ticks(end: float) -> list[float]:
    """Return round numbers from 0 to the end, a few of them and evenly spaced."""
    power = 10.0 ** math.floor(math.log10(end / TICKS))
    step = next(step * power for step in STEPS if end / (step * power) <= TICKS * (1 + 1e-9))
    count = math.floor(end / step * (1 + 1e-9))
    return [step * number for number in range(count + 1)]


def _axis_titles(titles: tuple[str, str]) -> str:
    middle = (TOP + HEIGHT - BOTTOM) / 2
    horizontal = _text((LEFT + WIDTH - RIGHT) / 2, HEIGHT - 8, titles[0], "middle")
    vertical = _text(0, 0, titles[1], "middle", f' transform="translate(13 {middle:.1f}) rotate(-90)"')
    return horizontal + vertical


def _horizontal(value: float, end: float) -> float:
    return LEFT + (WIDTH - LEFT - RIGHT) * value / end


def _vertical(value: float, end: float) -> float:
    ground = HEIGHT - BOTTOM
    return ground - (ground - TOP) * value / end


def _line(x1: float, y1: float, x2: float, y2: float, colour: str, more: str = "") -> str:
    return f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" {_painted("stroke", colour)}{more}/>'


def _text(x: float, y: float, text: str, anchor: str, more: str = "") -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" {_painted("fill", MUTED)}{more}>{escape(text)}</text>'
