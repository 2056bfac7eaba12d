"""The map of the cell: where every device that ever took part was last seen."""

from __future__ import annotations

import math

import numpy as np

from edgefl.report.describe import at
from edgefl.report.read import Run
from edgefl.report.style import INK, MUTED, TIME_PHASES, Figure
from edgefl.units import TIME, Floats, as_number, fitting, short, top

MOST_DEVICES = 2000
SEEN = ("1", "1.0", "true")
SCALE = [[0, "#fde0a6"], [0.25, "#f2a65e"], [0.5, "#d5605c"], [0.75, "#8c2f6b"], [1, "#2d1452"]]  # light is good


def figure(run: Run) -> Figure:
    """Devices as points: colour for path loss, size for participations, diamonds without line of sight."""
    devices = run.devices
    names, first_of_last, inverse, count = np.unique(
        devices["device"][::-1], return_index=True, return_inverse=True, return_counts=True
    )
    last = len(devices["device"]) - 1 - first_of_last
    means = [np.bincount(inverse, np.nan_to_num(devices[phase.column][::-1])) / count for phase in TIME_PHASES]
    unit = fitting(top(means), TIME)
    chosen = np.unique(np.linspace(0, len(names) - 1, min(len(names), MOST_DEVICES)).round().astype(np.intp))
    seen = np.isin(np.char.lower(devices["los"][last]), SEEN)
    columns = [names, devices["distance_m"][last], count, *(mean / unit.size for mean in means), devices["cell"][last]]
    rows = last[chosen]
    trace = {
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
            "line": {"color": "#ffffff", "width": 0.8},
            "opacity": 0.95,
        },
        "hovertemplate": _hover(unit.name, several=len(np.unique(devices["cell"])) > 1),
    }
    return {"data": [trace, _stations(run)], "layout": _layout(run)}


def caption(run: Run) -> str:
    """What the marks mean, in one line."""
    devices = run.devices
    count = len(np.unique(devices["device"]))
    some = f"{MOST_DEVICES:,} of {count:,}" if count > MOST_DEVICES else f"{count:,}"
    blocked = not np.isin(np.char.lower(devices["los"]), SEEN).all()
    diamonds = "; diamonds had no line of sight" if blocked else ""
    return (
        f"{some} devices that took part, where each was last seen; larger marks took part more often{diamonds}. "
        f"{'Triangles are base stations' if len(_sites_m(run)) > 1 else 'The triangle is the base station'}."
    )


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


def _sites_m(run: Run) -> Floats:
    """Positions [n, 2] of the base stations."""
    from channel.geometry import hexagonal_sites_m

    count, radius = (as_number(at(run.scenario, f"cells.{key}")) for key in ("sites", "radius_m"))
    return hexagonal_sites_m(int(count or 1), math.sqrt(3.0) * (radius or 1.0))


def _stations(run: Run) -> Figure:
    x, y = _sites_m(run).T
    return {
        "type": "scatter",
        "mode": "markers",
        "name": "base stations" if len(x) > 1 else "base station",
        "x": short(x),
        "y": short(y),
        "marker": {"symbol": "triangle-up", "size": 14, "color": INK, "line": {"color": "#ffffff", "width": 1.2}},
        "hoverinfo": "skip",
    }


def _hexagon(x: float, y: float, radius: float) -> str:
    """The border of a cell, as an SVG path."""
    angles = math.pi / 6 + math.pi / 3 * np.arange(6)
    corners = zip(x + radius * np.cos(angles), y + radius * np.sin(angles), strict=True)
    return "M" + "L".join(f"{right:.4g},{up:.4g}" for right, up in corners) + "Z"


def _layout(run: Run) -> Figure:
    """Equal scales on both axes, the cells' borders and the hole around the base station in the middle."""
    farthest = top([np.abs(run.devices["x_m"]), np.abs(run.devices["y_m"])])
    radius, hole = (as_number(at(run.scenario, f"cells.{key}")) or 0.0 for key in ("radius_m", "min_distance_m"))
    reach = 1.06 * max(radius, farthest, 1.0)
    axis = {"range": [-reach, reach], "constrain": "domain", "nticks": 7, "gridcolor": "#eef1f4", "showgrid": True}
    rim = {"layer": "below", "line": {"color": "#9aa5b1", "width": 1.2}}
    circle = [(radius, "#f6f8fa")] if len(_sites_m(run)) == 1 else []
    shapes: list[Figure] = [
        rim | {"type": "circle", "x0": -size, "x1": size, "y0": -size, "y1": size, "fillcolor": fill}
        for size, fill in (*circle, (hole, "#dfe4e9"))
        if size
    ]
    if not circle:
        shapes += [rim | {"type": "path", "path": _hexagon(x, y, radius)} for x, y in _sites_m(run).tolist()]
    return {
        "xaxis": axis | {"title": {"text": "x [m]"}, "showline": False},
        "yaxis": axis | {"title": {"text": "y [m]"}, "scaleanchor": "x"},
        "shapes": shapes,
        "margin": {"r": 8},
    }
