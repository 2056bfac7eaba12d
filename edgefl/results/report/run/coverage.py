"""Coverage on the map: the outlines of cells, and the path loss to the nearest base station as shading."""

import numpy as np

from channel import gain_map
from edgefl.core.arrays import Floats
from edgefl.core.catalogue import Unknown
from edgefl.core.errors import InputError
from edgefl.core.units import as_number, short
from edgefl.radio.propagation import PathDraws
from edgefl.radio.propagation.map import Map
from edgefl.radio.radio_section import Radio
from edgefl.results.report.shared.describe import at, known
from edgefl.results.report.shared.read import Run
from edgefl.results.report.shared.style import Figure
from edgefl.world.cells_section import Cells

DISC_CORNERS = 60  # a disc is drawn as a polygon
GRID_POINTS = 61  # along each axis of the map
# Evenly spread uniforms instead of random draws: the share of them with line of sight is its probability.
UNIFORMS = (np.arange(16)[:, None] + 0.5) / 16
STEP_DB = 5.0
SPAN_QUANTILES = (0.02, 0.95)  # of the losses of a map, which may hold places without any signal
DEVICE_HEIGHT_M = 1.5  # where devices differ: the least of 3GPP TR 38.901, Table 7.4.1-1


def cells_of(run: Run) -> Cells | None:
    """Return the scenario's base stations; None where this version does not know their section."""
    return known(Cells, at(run.scenario, "cells"))


def outlines(sites_m: Floats, radius_m: float) -> list[Floats]:
    """Return the cell of each site: corners [n, 2] of the points in reach that are nearer to it than to any other.

    Each cell is a disc, cut off halfway to every other site that is near enough to matter (a Voronoi cell).
    """
    angles = 2 * np.pi * (np.arange(DISC_CORNERS) + 0.5) / DISC_CORNERS
    disc = radius_m * np.stack([np.cos(angles), np.sin(angles)], axis=-1)
    cells = []
    for site in sites_m:
        cell = site + disc
        distance = np.hypot(*(sites_m - site).T)
        neighbours = sites_m[(distance > 0) & (distance < 2 * radius_m)]
        for neighbour in neighbours:
            middle = (site + neighbour) / 2
            cell = _cut_off(cell, middle, neighbour - site)
        cells.append(cell)
    return cells


def _cut_off(polygon: Floats, point: Floats, normal: Floats) -> Floats:
    """Return the part of a convex polygon [n, 2] behind the line through ``point`` at right angles to ``normal``.

    Source: Sutherland & Hodgman (1974), polygon clipping, for one edge.
    """
    beyond = (polygon - point) @ normal
    next_corners = np.roll(polygon, -1, 0)
    next_beyond = np.roll(beyond, -1)
    corners = []
    for index, corner in enumerate(polygon):
        if beyond[index] <= 0:
            corners.append(corner)
        if (beyond[index] <= 0) != (next_beyond[index] <= 0):  # the edge to the next corner crosses the line
            fraction = beyond[index] / (beyond[index] - next_beyond[index])
            corners.append(corner + fraction * (next_corners[index] - corner))
    return np.array(corners).reshape(-1, 2)


def shading(run: Run, cells: Cells, x_m: float, y_m: float, half_m: float) -> Figure | None:
    """Return the median path loss outdoors to the nearest base station, in steps, over a square around a point.

    The colours span the losses from the least distance of a device to the border of a cell. None where losses belong
    to devices and not to places, or this version cannot compute them.
    """
    radio = known(Radio, at(run.scenario, "radio"))
    if radio is None or radio.trace is not None:  # recorded links have no path loss
        return None
    propagation: object = radio.propagation
    if isinstance(propagation, Unknown) or radio.propagation.by_device:
        return None
    x = np.linspace(x_m - half_m, x_m + half_m, GRID_POINTS)
    y = np.linspace(y_m - half_m, y_m + half_m, GRID_POINTS)
    points = np.stack(np.meshgrid(x, y), axis=-1).reshape(-1, 2)
    height_m = as_number(at(run.scenario, "devices.height_m")) or DEVICE_HEIGHT_M
    try:
        if isinstance(radio.propagation, Map):
            loss_db, span_db = _losses_of_places(radio.propagation, points)
        else:
            loss_db, span_db = _losses_of_distances(radio, cells, points, height_m)
    except (ValueError, InputError):  # the model does not hold for this carrier, or its file is gone
        return None
    lowest_db, highest_db = span_db.tolist()
    return {
        "type": "contour",
        "x": short(x, 5),
        "y": short(y, 5),
        "z": [short(row, 4) for row in loss_db.reshape(GRID_POINTS, GRID_POINTS)],
        "zmin": lowest_db,
        "zmax": highest_db,
        "contours": {"start": 0, "end": 300, "size": STEP_DB, "coloring": "fill"},
        "line": {"width": 0},
        "showscale": False,
        "hoverinfo": "skip",
    }


def _losses_of_distances(radio: Radio, cells: Cells, points_m: Floats, height_m: float) -> tuple[Floats, Floats]:
    """Return the path losses [n] of points [n, 2], and those that the colours span [2]."""
    distance_m = cells.distances_m(points_m).min(axis=1)
    span_m = np.array([cells.min_distance_m, cells.radius_m])
    loss_db = path_loss_db(radio, cells, np.maximum(distance_m, cells.min_distance_m), height_m)
    return loss_db, path_loss_db(radio, cells, span_m, height_m)


def _losses_of_places(propagation: Map, points_m: Floats) -> tuple[Floats, Floats]:
    """Return the path losses [n] of points [n, 2] of a map, NaN outside, and those that the colours span [2].

    The span leaves out the few highest and lowest losses, such as those of places without any signal.
    """
    gains = propagation.gains
    gains_db = gain_map.bilinear(gains.x_m, gains.y_m, gains.path_gain_db, points_m, nan_outside=True)
    loss_db = -gains_db.max(axis=0)
    if np.isnan(loss_db).all():
        raise ValueError("no point is on the map")
    return loss_db, np.nanquantile(loss_db, SPAN_QUANTILES)


def path_loss_db(radio: Radio, cells: Cells, distance_m: Floats, height_m: float) -> Floats:
    """Return the median path loss [n] outdoors at ground distances [n], averaged over being in line of sight or not."""
    outdoors = np.ones(1)
    draws = PathDraws(
        los=UNIFORMS,
        indoor=outdoors,
        indoor_distance=np.zeros((1, 2)),
        building=outdoors,
        penetration=np.zeros(1),
        environment=np.full(1, 0.5),
        path_depth=np.zeros(1),
        floor=np.zeros((1, 2)),
    )
    # The map reaches further than some models are valid; they then keep to their last valid distance.
    propagation = radio.propagation.model_copy(update={"out_of_range": "clamp"})
    distances_m = np.broadcast_to(distance_m, (len(UNIFORMS), len(distance_m)))
    heights_m = np.full(1, height_m)
    large = propagation.large_scale(distances_m, radio.carrier_hz, cells.bs_height_m, heights_m, draws)
    return np.asarray(large.path_loss_db.mean(axis=0))
