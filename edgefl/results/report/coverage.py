"""Base stations as a scenario has them: where they stand, what each one serves, how well they are received."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

import numpy as np
from pydantic import ValidationError

from edgefl.core.arrays import Floats
from edgefl.core.section import Section
from edgefl.core.units import as_number, short
from edgefl.radio.propagation import PathDraws
from edgefl.results.report.describe import at
from edgefl.results.report.read import Run
from edgefl.results.report.style import Figure

if TYPE_CHECKING:
    from edgefl.radio.radio_section import Radio
    from edgefl.world.cells_section import Cells

Known = TypeVar("Known", bound=Section)

CORNERS = 60  # of a disc
GRID = 61  # points along an axis of the map
CHANCES = (np.arange(16)[:, None] + 0.5) / 16  # evenly spread uniforms: their mean is that over lines of sight
STEP_DB = 5.0
UT_HEIGHT_M = 1.5  # where devices differ (3GPP TR 38.901, Table 7.4.1-1: from 1.5 m on)


def cells_of(run: Run) -> Cells | None:
    """The scenario's base stations; None where another version wrote what this one does not know."""
    from edgefl.world.cells_section import Cells

    return known(Cells, at(run.scenario, "cells"))


def _radio(run: Run) -> Radio | None:
    from edgefl.radio.radio_section import Radio

    return known(Radio, at(run.scenario, "radio"))


def known(section: type[Known], value: object) -> Known | None:
    """A section of the scenario; None where another version wrote what this one does not know."""
    try:
        return section.model_validate(value)
    except ValidationError:
        return None


def outlines(sites_m: Floats, radius_m: float) -> list[Floats]:
    """The cell of each site: corners [n, 2] of what is within the radius and nearer to it than to any other."""
    angles = 2 * np.pi * (np.arange(CORNERS) + 0.5) / CORNERS
    disc = radius_m * np.stack([np.cos(angles), np.sin(angles)], axis=-1)
    found = []
    for site in sites_m:
        border = site + disc
        away = np.hypot(*(sites_m - site).T)
        for other in sites_m[(away > 0) & (away < 2 * radius_m)]:
            border = _cut(border, (site + other) / 2, other - site)
        found.append(border)
    return found


def _cut(polygon: Floats, through: Floats, away: Floats) -> Floats:
    """The part of a convex polygon [n, 2] that does not lie beyond a line through a point (Sutherland & Hodgman)."""
    beyond = (polygon - through) @ away
    kept = []
    for here, there, over, next_over in zip(polygon, np.roll(polygon, -1, 0), beyond, np.roll(beyond, -1), strict=True):
        if over <= 0:
            kept.append(here)
        if (over <= 0) != (next_over <= 0):
            kept.append(here + over / (over - next_over) * (there - here))
    return np.array(kept).reshape(-1, 2)


def shading(run: Run, cells: Cells, x_m: float, y_m: float, half_m: float) -> Figure | None:
    """The median path loss outdoors to the nearest base station, in steps, over a square; colours span the cells.

    None where another version wrote what this one does not know.
    """
    radio = _radio(run)
    if radio is None:
        return None
    x, y = (np.linspace(middle - half_m, middle + half_m, GRID) for middle in (x_m, y_m))
    points = np.stack(np.meshgrid(x, y), axis=-1).reshape(-1, 2)
    distance = cells.distances_m(points).min(axis=1)
    loss = path_loss_db(radio, cells, np.maximum(distance, cells.min_distance_m), _height_m(run))
    low, high = path_loss_db(radio, cells, np.array([cells.min_distance_m, cells.radius_m]), _height_m(run)).tolist()
    return {
        "type": "contour",
        "x": short(x, 5),
        "y": short(y, 5),
        "z": [short(row, 4) for row in loss.reshape(GRID, GRID)],
        "zmin": low,
        "zmax": high,
        "contours": {"start": 0, "end": 300, "size": STEP_DB, "coloring": "fill"},
        "line": {"width": 0},
        "showscale": False,
        "hoverinfo": "skip",
    }


def path_loss_db(radio: Radio, cells: Cells, distance_m: Floats, height_m: float) -> Floats:
    """Median path loss [n] outdoors at ground distances [n], its mean over being in line of sight or not."""
    outdoors = np.ones(1)
    draws = PathDraws(
        los=CHANCES,
        indoor=outdoors,
        indoor_distance=np.zeros((1, 2)),
        building=outdoors,
        penetration=np.zeros(1),
        environment=np.full(1, 0.5),
    )
    propagation = radio.propagation.model_copy(update={"out_of_range": "clamp"})
    spread = np.broadcast_to(distance_m, (len(CHANCES), len(distance_m)))
    heights = np.full(1, height_m)
    large = propagation.large_scale(spread, radio.carrier_hz, cells.bs_height_m, heights, draws)
    return np.asarray(large.path_loss_db.mean(axis=0))


def _height_m(run: Run) -> float:
    return as_number(at(run.scenario, "devices.height_m")) or UT_HEIGHT_M
