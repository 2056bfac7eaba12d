"""The map: base stations and what they cover, devices that took part where each was last seen, and where some went."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from edgefl.core.arrays import Floats
from edgefl.core.units import TIME, fitting, short, top
from edgefl.results.report import coverage, groups, ways
from edgefl.results.report.read import Run
from edgefl.results.report.style import INK, MUTED, TIME_PHASES, Figure, even

if TYPE_CHECKING:
    from edgefl.world.cells_section import Cells

MOST_DEVICES = 2000
RIM_WIDTH = 2.4  # of marks that belong to a group
SEEN = ("1", "1.0", "true")
SCALE = [[0, "#fde0a6"], [0.25, "#f2a65e"], [0.5, "#d5605c"], [0.75, "#8c2f6b"], [1, "#2d1452"]]  # light is good
SPOT = 0.3  # of the width with base stations: devices that keep to less are shown without these
COMPASS = ("east", "north-east", "north", "north-west", "west", "south-west", "south", "south-east")
CLOSE = 0.5  # of the covered area's width: devices that keep to less are shown from nearer
RIM = {"layer": "above", "line": {"color": "#7d8894", "width": 1.2}}


class Frame(NamedTuple):
    """What of the plane is drawn: a square."""

    x_m: float
    y_m: float
    half_m: float


def figure(run: Run) -> Figure:
    """Devices as points: colour for path loss, size for participations, diamonds without line of sight."""
    cells = coverage.cells_of(run)
    frame, devices = _frame(run, cells), _devices(run)
    shading = coverage.shading(run, cells, *frame) if cells else None
    lines = ways.figure(run.tracks, frame.half_m) if run.tracks else None
    if shading:
        marker = devices["marker"]
        losses = [shading["zmin"], shading["zmax"], *(value for value in marker["color"] if value is not None)]
        low, high = min(losses), max(losses)
        marker |= {"cmin": low, "cmax": high}
        shading |= {"zmin": low, "zmax": high, "colorscale": SCALE, "opacity": 0.28}
    every = [shading, lines, devices, _stations(cells) if cells else None]
    return {"data": [trace for trace in every if trace], "layout": _layout(cells, frame)}


def caption(run: Run) -> str:
    """What the marks mean, in one line."""
    devices, cells = run.devices, coverage.cells_of(run)
    count = len(np.unique(devices["device"]))
    some = f"{MOST_DEVICES:,} of {count:,}" if count > MOST_DEVICES else f"{count:,}"
    parts = [f"{some} devices that took part, where each was last seen; larger marks took part more often."]
    if groups.shown(run):
        parts.append("Rims tell groups apart.")
    if not np.isin(np.char.lower(devices["los"]), SEEN).all():
        parts.append("Diamonds had no line of sight.")
    drawn = len(ways.chosen(run.tracks, _frame(run, cells).half_m)) if run.tracks else 0
    if drawn:
        parts.append(f"{'Line: the way of one device' if drawn == 1 else f'Lines: the ways of {drawn} devices'}.")
    if cells:
        parts.append(_where(cells, _frame(run, cells)))
        parts.append("Shading: median path loss outdoors.")
    return " ".join(parts)


def _frame(run: Run, cells: Cells | None) -> Frame:
    """All that is covered and wherever devices took part; only the devices and base stations where these are close.

    Where devices keep so close together that they would be a spot beside the base stations, only the devices.
    """
    seen = np.stack([run.devices["x_m"], run.devices["y_m"]], axis=-1)
    seen = seen[np.isfinite(seen).all(axis=1)]
    sites = cells.sites_m if cells else np.zeros((1, 2))
    near, reach = np.concatenate([seen, sites]), cells.coverage_m if cells else 1.0
    close = _around(near, 1.15)
    if close.half_m >= 1.15 * CLOSE * reach:
        return Frame(0.0, 0.0, 1.06 * max(reach, float(np.abs(near).max())))
    spot = _around(seen, 1.3) if len(seen) else close
    return spot if spot.half_m < SPOT * close.half_m else close


def _around(points_m: Floats, margin: float) -> Frame:
    """The square around points [n, 2], and so much more."""
    low, high = points_m.min(axis=0), points_m.max(axis=0)
    x_m, y_m = ((low + high) / 2).tolist()
    return Frame(x_m, y_m, margin * max(float((high - low).max()) / 2, 1.0))


def _where(cells: Cells, frame: Frame) -> str:
    """What the triangles are, or how far away and whither the nearest base station is."""
    away = cells.sites_m - frame[:2]
    if (np.abs(away).max(axis=1) <= frame.half_m).any():
        return f"{'Triangles are base stations' if cells.sites > 1 else 'The triangle is the base station'}."
    x_m, y_m = away[np.hypot(*away.T).argmin()].tolist()
    whither = COMPASS[round(math.atan2(y_m, x_m) / (math.pi / 4)) % 8]
    which = "nearest base station" if cells.sites > 1 else "base station"
    return f"The {which} is not in the picture: it is {math.hypot(x_m, y_m):.0f} m to the {whither}."


def _devices(run: Run) -> Figure:
    devices = run.devices
    names, first_of_last, inverse, count = np.unique(
        devices["device"][::-1], return_index=True, return_inverse=True, return_counts=True
    )
    last = len(devices["device"]) - 1 - first_of_last
    means = [np.bincount(inverse, np.nan_to_num(devices[phase.column][::-1])) / count for phase in TIME_PHASES]
    unit = fitting(top(means), TIME)
    chosen = even(len(names), MOST_DEVICES)
    seen = np.isin(np.char.lower(devices["los"][last]), SEEN)
    columns = [names, devices["distance_m"][last], count, *(mean / unit.size for mean in means), devices["cell"][last]]
    rows = last[chosen]
    return {
        "type": "scatter",
        "mode": "markers",
        "name": "devices",
        "x": short(devices["x_m"][rows]),
        "y": short(devices["y_m"][rows]),
        "customdata": list(zip(*(short(column[chosen]) for column in columns), strict=True)),
        "marker": {
            "size": short(_sizes(count[chosen].astype(np.float64)), 3),
            "symbol": ["circle" if clear else "diamond" for clear in seen[chosen].tolist()],
            "color": short(devices["pathloss_db"][rows]),
            "colorscale": SCALE,
            "colorbar": _bar(),
            "line": _rims(run, names[chosen]),
            "opacity": 0.95,
        },
        "hovertemplate": _hover(unit.name, several=len(np.unique(devices["cell"])) > 1),
    }


def _rims(run: Run, names: Floats) -> Figure:
    """Rims of marks of devices [n]: in the colour of their group where there are several."""
    if not (every := groups.shown(run)):
        return {"color": "#ffffff", "width": 0.8}
    return {"color": [every[place].colour for place in groups.place(every, names)], "width": RIM_WIDTH}


def _sizes(count: Floats) -> Floats:
    """Diameters whose areas grow with the number of participations."""
    base = 9.0 if len(count) <= 300 else 6.0
    return np.asarray(base * np.sqrt(0.6 + 0.9 * count / count.max()))


def _bar() -> Figure:
    title = {"text": "path loss [dB]", "side": "right", "font": {"color": MUTED, "size": 13}}
    return {"title": title, "thickness": 12, "len": 0.9, "outlinewidth": 0, "tickfont": {"color": MUTED}, "x": 1.01}


def _hover(unit: str, *, several: bool) -> str:
    phases = "".join(
        f"<br>{phase.name} %{{customdata[{place}]:.3~g}} {unit}" for place, phase in enumerate(TIME_PHASES, 3)
    )
    cell = "<br>cell %{customdata[7]}" if several else ""
    return (
        "<b>device %{customdata[0]}</b><br>%{customdata[1]:.0f} m, path loss %{marker.color:.1f} dB"
        f"{cell}<br>took part in %{{customdata[2]}} rounds, on average{phases}<extra></extra>"
    )


def _stations(cells: Cells) -> Figure:
    x, y = cells.sites_m.T
    return {
        "type": "scatter",
        "mode": "markers",
        "name": "base stations" if len(x) > 1 else "base station",
        "x": short(x),
        "y": short(y),
        "marker": {"symbol": "triangle-up", "size": 14, "color": INK, "line": {"color": "#ffffff", "width": 1.2}},
        "hoverinfo": "skip",
    }


def _layout(cells: Cells | None, frame: Frame) -> Figure:
    """Equal scales on both axes, the cells' borders and the hole around the middle of a single one."""
    axis = {"constrain": "domain", "nticks": 7, "gridcolor": "#eef1f4", "showgrid": True}
    spans = ([middle - frame.half_m, middle + frame.half_m] for middle in frame[:2])
    across, up = (axis | {"range": span} for span in spans)
    return {
        "xaxis": across | {"title": {"text": "x [m]"}, "showline": False},
        "yaxis": up | {"title": {"text": "y [m]"}, "scaleanchor": "x"},
        "shapes": _borders(cells) if cells else [],
        "margin": {"r": 8},
    }


def _borders(cells: Cells) -> list[Figure]:
    borders = coverage.outlines(cells.sites_m, cells.radius_m)
    shapes: list[Figure] = [RIM | {"type": "path", "path": _path(border)} for border in borders]
    if hole := cells.nearest_m:
        place = {"x0": -hole, "x1": hole, "y0": -hole, "y1": hole}
        shapes.append(RIM | place | {"type": "circle", "layer": "below", "fillcolor": "#dfe4e9"})
    return shapes


def _path(corners: Floats) -> str:
    """A polygon as an SVG path."""
    return "M" + "L".join(f"{x:.4g},{y:.4g}" for x, y in corners.tolist()) + "Z"
