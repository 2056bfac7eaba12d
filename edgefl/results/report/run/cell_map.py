"""The map: base stations and their cells, devices that took part where each was last seen, and some trajectories."""

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from edgefl.core.arrays import Bools, Floats, Rows
from edgefl.core.units import TIME, fitting, short, top
from edgefl.results.report.run import coverage, device_groups, phase_bars, trajectories
from edgefl.results.report.shared.card import Card, Extra
from edgefl.results.report.shared.describe import at
from edgefl.results.report.shared.read import Run
from edgefl.results.report.shared.style import INK, Figure, Phase, colour_bar, even_pick
from edgefl.world.cells_section import Cells

MAP_HEIGHT = 540  # pixels: both axes have one scale, so a low map would waste its width
MOST_MARKS = 2000
SMALLER_MARKS = 300  # from more devices on
GROUP_RIM_WIDTH = 2.4  # of marks that belong to a group
TRUE_TEXTS = ("1", "1.0", "true")
# Light is good: little path loss.
PATH_LOSS_SCALE = [[0, "#fde0a6"], [0.25, "#f2a65e"], [0.5, "#d5605c"], [0.75, "#8c2f6b"], [1, "#2d1452"]]
NEAR_PART = 0.5  # of the covered width: devices that keep to less are shown from nearer
SPOT_PART = 0.3  # of the width with base stations: devices that keep to less are shown without these
COVERAGE_MARGIN = 1.06
NEAR_MARGIN = 1.15
SPOT_MARGIN = 1.3
COMPASS = ("east", "north-east", "north", "north-west", "west", "south-west", "south", "south-east")
CELL_BORDER = {"layer": "above", "line": {"color": "#7d8894", "width": 1.2}}


class MapFrame(NamedTuple):
    """The square of the plane that is drawn: its middle, and half its width."""

    x_m: float
    y_m: float
    half_m: float


class SeenDevices(NamedTuple):
    """The devices that took part [n]."""

    devices: Floats
    last_rows: Rows  # of devices.csv, where each was last seen
    participations: Floats
    mean_phases_s: list[Floats]  # [phase][n]: means over the participations of each


def card(run: Run, _runs: Sequence[Run]) -> Card | None:
    """Return the card of the map; None if no path loss is known, as over recorded links."""
    if not np.isfinite(run.participations["pathloss_db"]).any():
        return None
    key = device_groups.charted_groups(run)
    return Card("map", "Map", figure(run), caption(run), key, height=MAP_HEIGHT, extra=_lines(run))


def figure(run: Run) -> Figure:
    """Return the map; devices are points: colour for path loss, size for participations, diamonds without sight."""
    cells = coverage.cells_of(run)
    frame = _frame_of(run, cells)
    devices = _devices(run)
    traces: list[Figure] = []  # later ones are drawn upon earlier ones
    if cells:
        shading = coverage.shading(run, cells, *frame)
        if shading:
            _share_colours(shading, devices["marker"])
            traces.append(shading)
    if run.tracks:
        lines = trajectories.figure(run.tracks, frame.half_m)
        if lines:
            traces.append(lines)
    traces.append(devices)
    if cells:
        traces.append(_base_stations(cells))
    return {"data": traces, "layout": _layout(cells, frame)}


def _share_colours(shading: Figure, marker: Figure) -> None:
    """Give the shading and the marks of devices one scale of path loss, which spans both."""
    losses_db = [shading["zmin"], shading["zmax"]]
    losses_db += [value for value in marker["color"] if value is not None]
    lowest_db = min(losses_db)
    highest_db = max(losses_db)
    marker |= {"cmin": lowest_db, "cmax": highest_db}
    shading |= {"zmin": lowest_db, "zmax": highest_db, "colorscale": PATH_LOSS_SCALE, "opacity": 0.28}


def caption(run: Run) -> str:
    """Return the meaning of the marks, in one line."""
    devices = run.participations
    cells = coverage.cells_of(run)
    frame = _frame_of(run, cells)
    count = len(np.unique(devices["device"]))
    drawn = f"{count:,}"
    if count > MOST_MARKS:
        drawn = f"{MOST_MARKS:,} of {drawn}"
    sentences = [f"{drawn} devices that took part, where each was last seen; larger marks took part more often."]
    if device_groups.charted_groups(run):
        sentences.append("Rims tell groups apart.")
    if not _is_true(devices["los"]).all():
        sentences.append("Diamonds had no line of sight.")
    if cells:
        sentences.append(_base_stations_text(cells, frame))
        shaded = "median path loss outdoors"
        if at(run.scenario, "radio.propagation.kind") == "map":
            shaded = "path loss of the map"
        sentences.append(f"Shading: {shaded}.")
    return " ".join(sentence for sentence in sentences if sentence)


def _lines(run: Run) -> Extra | None:
    """Return the lines of trajectories, which would hide the devices; None if there are none."""
    if not run.tracks:
        return None
    lines = trajectories.chosen(run.tracks, _frame_of(run, coverage.cells_of(run)).half_m)
    if not lines:
        return None
    what = f"Trajectories of {len(lines)} devices"
    if len(lines) == 1:
        what = "Trajectory of one device"
    if trajectories.are_cut(run.tracks, lines):
        what += ", last part only"
    return Extra(trajectories.NAME, what)


def _is_true(texts: NDArray[np.str_]) -> Bools:
    """Return whether each text [n] means true: programs write booleans in several ways."""
    return np.isin(np.char.lower(texts), TRUE_TEXTS)


def _frame_of(run: Run, cells: Cells | None) -> MapFrame:
    """Return the part of the plane to draw, where devices can be told apart.

    It holds all that is covered and all devices; only devices and base stations where these are close together; and
    only devices where they would be a spot next to the base stations.
    """
    points_m = np.stack([run.devices["x_m"], run.devices["y_m"]], axis=-1)
    points_m = points_m[np.isfinite(points_m).all(axis=1)]  # folders may lack positions
    # Where the cells are not known, the map is drawn as if one base station stood in the middle.
    sites_m = np.zeros((1, 2))
    coverage_m = 1.0
    if cells:
        sites_m = cells.sites_m
        coverage_m = cells.coverage_m
    with_sites_m = np.concatenate([points_m, sites_m])
    near = _square_around(with_sites_m, NEAR_MARGIN)
    if near.half_m >= NEAR_MARGIN * NEAR_PART * coverage_m:
        furthest_m = float(np.abs(with_sites_m).max())
        return MapFrame(0.0, 0.0, COVERAGE_MARGIN * max(coverage_m, furthest_m))
    if not len(points_m):  # no device has a known position
        return near
    spot = _square_around(points_m, SPOT_MARGIN)
    if spot.half_m < SPOT_PART * near.half_m:
        return spot
    return near


def _square_around(points_m: Floats, margin: float) -> MapFrame:
    """Return the square around points [n, 2], ``margin`` times as wide as they need, and at least 2 m wide."""
    low = points_m.min(axis=0)
    high = points_m.max(axis=0)
    x_m, y_m = ((low + high) / 2).tolist()
    half_m = float((high - low).max()) / 2
    return MapFrame(x_m, y_m, margin * max(half_m, 1.0))


def _base_stations_text(cells: Cells, frame: MapFrame) -> str:
    """Return the meaning of triangles, or, without any in the frame, where the nearest base station is."""
    offsets_m = cells.sites_m - frame[:2]
    in_frame = np.abs(offsets_m).max(axis=1) <= frame.half_m
    if in_frame.any() and cells.sites > 1:
        return "Triangles are base stations."
    if in_frame.any():
        return "The triangle is the base station."
    distances_m = np.hypot(offsets_m[:, 0], offsets_m[:, 1])
    x_m, y_m = offsets_m[distances_m.argmin()].tolist()
    eighth_of_turn = math.pi / 4
    # Angles count from east, against the clock.
    direction = COMPASS[round(math.atan2(y_m, x_m) / eighth_of_turn) % len(COMPASS)]
    name = "base station"
    if cells.sites > 1:
        name = "nearest base station"
    return f"The {name} is not in the picture: it is {math.hypot(x_m, y_m):.0f} m to the {direction}."


def _seen_devices(run: Run) -> SeenDevices:
    columns = run.participations
    # Rows are in the order of time, and np.unique finds first occurrences: so it gets them in reverse.
    devices, reversed_row, index_of, counts = np.unique(
        columns["device"][::-1], return_index=True, return_inverse=True, return_counts=True
    )
    participations = counts.astype(np.float64)
    last_rows = len(columns["device"]) - 1 - reversed_row
    means_s = []
    for phase in phase_bars.time_phases([run]):
        values_s = np.nan_to_num(columns[phase.column][::-1])
        means_s.append(np.bincount(index_of, values_s) / participations)
    return SeenDevices(devices, last_rows, participations, means_s)


def _devices(run: Run) -> Figure:
    columns = run.participations
    seen = _seen_devices(run)
    # More marks than `MOST_MARKS` would only hide each other.
    picked = even_pick(len(seen.devices), MOST_MARKS)
    rows = seen.last_rows[picked]
    unit = fitting(top(seen.mean_phases_s), TIME)
    hover_columns = [
        short(seen.devices[picked]),
        short(columns["distance_m"][rows]),
        short(seen.participations[picked]),
        short(columns["cell"][rows]),
        *(short(mean_s[picked] / unit.size) for mean_s in seen.mean_phases_s),
    ]
    return {
        "type": "scatter",
        "mode": "markers",
        "name": "devices",
        "x": short(columns["x_m"][rows]),
        "y": short(columns["y_m"][rows]),
        "customdata": list(zip(*hover_columns, strict=True)),
        "marker": {
            "size": short(_diameters(seen.participations[picked]), 3),
            "symbol": np.where(_is_true(columns["los"][rows]), "circle", "diamond").tolist(),
            "color": short(columns["pathloss_db"][rows]),
            "colorscale": PATH_LOSS_SCALE,
            "colorbar": colour_bar("path loss [dB]", 0.9),
            "line": _rims(run, seen.devices[picked]),
            "opacity": 0.95,
        },
        "hovertemplate": _hover_template(
            phase_bars.time_phases([run]), unit.name, several_cells=len(np.unique(columns["cell"])) > 1
        ),
    }


def _rims(run: Run, devices: Floats) -> Figure:
    """Return the rims of the marks of devices [n], in the colour of their group where charts tell groups apart."""
    groups = device_groups.charted_groups(run)
    if not groups:
        return {"color": "#ffffff", "width": 0.8}
    group_of = device_groups.group_of_devices(groups, devices)
    return {"color": [groups[index].colour for index in group_of], "width": GROUP_RIM_WIDTH}


def _diameters(participations: Floats) -> Floats:
    base = 9.0 if len(participations) <= SMALLER_MARKS else 6.0
    return np.asarray(base * np.sqrt(0.6 + 0.9 * participations / participations.max()))


def _hover_template(phases: Sequence[Phase], unit: str, *, several_cells: bool) -> str:
    """Return the text under the pointer, in the order of the columns in ``customdata``."""
    text = "<b>device %{customdata[0]}</b><br>%{customdata[1]:.0f} m, path loss %{marker.color:.1f} dB"
    if several_cells:
        text += "<br>cell %{customdata[3]}"
    text += "<br>took part in %{customdata[2]} rounds, on average"
    for column, phase in enumerate(phases, 4):
        text += f"<br>{phase.name} %{{customdata[{column}]:.3~g}} {unit}"
    return f"{text}<extra></extra>"


def _base_stations(cells: Cells) -> Figure:
    x, y = cells.sites_m.T
    return {
        "type": "scatter",
        "mode": "markers",
        "name": "base stations",
        "x": short(x),
        "y": short(y),
        "marker": {"symbol": "triangle-up", "size": 14, "color": INK, "line": {"color": "#ffffff", "width": 1.2}},
        "hoverinfo": "skip",
    }


def _layout(cells: Cells | None, frame: MapFrame) -> Figure:
    axis = {"constrain": "domain", "nticks": 7, "gridcolor": "#eef1f4", "showgrid": True}
    x_axis = axis | {"range": [frame.x_m - frame.half_m, frame.x_m + frame.half_m]}
    y_axis = axis | {"range": [frame.y_m - frame.half_m, frame.y_m + frame.half_m]}
    return {
        "xaxis": x_axis | {"title": {"text": "x [m]"}, "showline": False},
        "yaxis": y_axis | {"title": {"text": "y [m]"}, "scaleanchor": "x"},
        "shapes": _cell_borders(cells),
        "margin": {"r": 8},
    }


def _cell_borders(cells: Cells | None) -> list[Figure]:
    """Return the borders of the cells, and a disc around a single base station where no device is ever put."""
    if cells is None:
        return []
    outlines = coverage.outlines(cells.sites_m, cells.radius_m)
    shapes: list[Figure] = [CELL_BORDER | {"type": "path", "path": _svg_path(corners_m)} for corners_m in outlines]
    nearest_m = cells.nearest_m
    if nearest_m:
        disc = {"x0": -nearest_m, "x1": nearest_m, "y0": -nearest_m, "y1": nearest_m}
        shapes.append(CELL_BORDER | disc | {"type": "circle", "layer": "below", "fillcolor": "#dfe4e9"})
    return shapes


def _svg_path(corners_m: Floats) -> str:
    points = [f"{x:.4g},{y:.4g}" for x, y in corners_m.tolist()]
    return "M" + "L".join(points) + "Z"
