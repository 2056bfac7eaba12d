"""Drops of terminals, and where in buildings they are, beside closed forms of their moments."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from channel import geometry, penetration
from channel._arrays import Floats
from channel_validation.report import Check, share_error

if TYPE_CHECKING:
    from matplotlib.figure import Figure

COUNT = 200_000
SEED = 38_901
SITES = 7
CORNER_M = 250.0
HOLE_M = 35.0  # 3GPP's least distance of UMa
STANDARD_ERRORS = 4.0  # a tolerance is met by chance in all but 1 of 16,000 samples


def checks() -> list[Check]:
    """Return moments of hexagonal drops, shares outside hexagons, floors and depths."""
    rng = np.random.default_rng(SEED)
    return [*_hexagons(rng), *_buildings(rng)]


def figures() -> dict[str, Figure]:
    """Return no figure: a drop is uniform, and looks like it."""
    return {}


def _hexagons(rng: np.random.Generator) -> list[Check]:
    found = []
    hexagon_m2 = 1.5 * math.sqrt(3.0) * CORNER_M**2
    for hole_m in (0.0, HOLE_M):
        square_m2 = (geometry.hexagon_offsets_m(rng.random((COUNT, 2)), hole_m, CORNER_M) ** 2).sum(axis=-1)
        # The mean of d^2 over a hexagon is 5/12 R^2, over a disc r^2 / 2.
        whole_m4 = hexagon_m2 * 5.0 / 12.0 * CORNER_M**2 - math.pi * hole_m**4 / 2.0
        expected_m2 = whole_m4 / (hexagon_m2 - math.pi * hole_m**2)
        name = f"hexagon of {CORNER_M:g} m with a hole of {hole_m:g} m: mean of d^2 [m^2]"
        found.append(_mean(name, square_m2, expected_m2))
    sites_m = geometry.hexagonal_sites_m(SITES, math.sqrt(3.0) * CORNER_M)
    disc_m = CORNER_M * (1.0 + math.sqrt(3.0))
    angle = 2.0 * np.pi * rng.random(COUNT)
    distance_m = geometry.annulus_distance_m(rng.random(COUNT), 0.0, disc_m)
    in_disc_m = np.stack([distance_m * np.cos(angle), distance_m * np.sin(angle)], axis=-1)
    offsets_m = geometry.hexagon_offsets_m(rng.random((COUNT, 2)), HOLE_M, CORNER_M)
    in_hexagons_m = sites_m[rng.integers(SITES, size=COUNT)] + offsets_m
    outside = 1.0 - SITES * hexagon_m2 / (math.pi * disc_m**2)
    error = STANDARD_ERRORS * share_error(outside, COUNT)
    found.append(Check("a disc around 7 hexagons: share outside all", _outside(in_disc_m, sites_m), outside, error))
    found.append(Check("a drop in 7 hexagons: share outside all", _outside(in_hexagons_m, sites_m), 0.0, 0.0))
    return found


def _buildings(rng: np.random.Generator) -> list[Check]:
    height_m = penetration.floor_height_m(rng.random((COUNT, 2)))
    depth_m = penetration.indoor_distance_m(rng.random((COUNT, 2)))
    single_db = penetration.single_frequency_loss_db(penetration.single_frequency_indoor_distance_m(rng.random(COUNT)))
    return [
        # n_fl is (N_fl + 1) / 2 on average, and N_fl is 6.
        _mean("floors of 4 to 8: mean height [m]", height_m, 3.0 * (3.5 - 1.0) + 1.5),
        _mean("depth in a building, the smaller of two U(0, 25): mean [m]", depth_m, 25.0 / 3.0),
        _mean("loss into buildings below 6 GHz: mean [dB]", single_db, 20.0 + 0.5 * 12.5),
    ]


def _mean(name: str, sample: Floats, expected: float) -> Check:
    error = STANDARD_ERRORS * float(sample.std()) / math.sqrt(sample.size)
    return Check(name, float(sample.mean()), expected, error)


def _outside(points_m: Floats, sites_m: Floats) -> float:
    """Return the share of points [n, 2] that are in no hexagon."""
    angle = np.arange(6) * np.pi / 3.0
    normals = np.stack([np.cos(angle), np.sin(angle)])
    offsets_m = points_m[:, None, :] - sites_m
    beyond_m = (offsets_m @ normals).max(axis=-1).min(axis=-1)
    return float((beyond_m > CORNER_M * math.sqrt(3.0) / 2.0 * (1.0 + 1e-9)).mean())
