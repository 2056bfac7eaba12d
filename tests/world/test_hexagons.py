"""Devices in the hexagons of a layout: where they are, where they go, and which models cannot keep to them."""

import math

import numpy as np
import pytest
from scipy.stats import chisquare

import edgefl
from channel import geometry
from edgefl.core.errors import InputError
from edgefl.core.streams import Streams
from edgefl.scenario import load

RADIUS_M = 100.0
EDGE_M = RADIUS_M * math.sqrt(3) / 2
HOLE_M = 12.0
COUNT = 20_000
NORMALS = np.stack([np.cos(np.arange(6) * np.pi / 3), np.sin(np.arange(6) * np.pi / 3)])
CELLS = {"layout": "hexagonal", "drop": "hexagons", "radius_m": RADIUS_M, "min_distance_m": HOLE_M}
UNIFORM = [{"kind": "static"}, {"kind": "constant_velocity"}, {"kind": "constant_velocity", "edge": "wrap"}]


def tracked(mobility, count, **cells):
    scenario = load({"cells": CELLS | cells, "mobility": mobility, "radio": {"propagation": "umi"}})
    return scenario.cells, scenario.mobility.track(scenario.cells.area, count, Streams(5))


def seen_from_its_cell(cells, positions_m):
    """The nearest base station, its distance, the angle to the nearest normal, and the relative distance (edge: 1)."""
    offsets_m = positions_m[:, None] - cells.sites_m
    own = np.linalg.norm(offsets_m, axis=-1).argmin(axis=1)
    offset_m = offsets_m[np.arange(len(own)), own]
    beside = (np.arctan2(offset_m[:, 1], offset_m[:, 0]) + math.pi / 6) % (math.pi / 3) - math.pi / 6
    sector = (np.rint((np.arctan2(offset_m[:, 1], offset_m[:, 0]) - beside) / (math.pi / 3)) % 6).astype(int)
    return own, np.hypot(*offset_m.T), np.abs(beside), sector, (offset_m @ NORMALS).max(axis=1) / EDGE_M


def bins(cells, positions_m):
    """Counts by hexagon, sector, two ranges of angle and two of distance, and what areas make of them."""
    own, _, beside, sector, out = seen_from_its_cell(cells, positions_m)
    half = math.radians(15)
    row = np.ravel_multi_index((own, sector, (beside > half) * 1, (out > 0.6) * 1), (cells.sites, 6, 2, 2))
    counts = np.bincount(row, minlength=cells.sites * 24)
    # Twice the areas within an angle, to 0.6 of the edge (which contains the hole) and to the edge.
    to_half = [EDGE_M**2 * r**2 * math.tan(half) for r in (0.6, 1.0)]
    to_corner = [EDGE_M**2 * r**2 * math.tan(2 * half) for r in (0.6, 1.0)]
    near = [to_half[0] - HOLE_M**2 * half, to_half[1] - to_half[0]]
    far = [to_corner[0] - to_half[0] - HOLE_M**2 * half, to_corner[1] - to_corner[0] - (to_half[1] - to_half[0])]
    areas = np.tile([*near, *far], cells.sites * 6)
    return counts, areas / areas.sum() * len(positions_m)


@pytest.mark.parametrize("sites", [1, 7, 19])
def test_points_are_uniform_in_the_hexagons(sites):
    cells, track = tracked({"kind": "static"}, COUNT, sites=sites)
    positions_m = track.positions_m(np.arange(COUNT), 0.0)
    _, distance_m, _, _, out = seen_from_its_cell(cells, positions_m)
    assert out.max() <= 1 + 1e-9  # no device outside all hexagons
    assert distance_m.min() >= HOLE_M * (1 - 1e-9)
    counts, expected = bins(cells, positions_m)
    assert chisquare(counts, expected).pvalue > 0.01
    # What the test can tell apart: the disc around all cells.
    disc = load({"cells": CELLS | {"sites": sites, "drop": "disc"}, "radio": {"propagation": "free_space"}}).cells
    others_m = disc.area.points(np.random.default_rng(1).random((COUNT, 2)))
    counts, expected = bins(cells, others_m)
    assert chisquare(counts, expected).pvalue < 1e-9


@pytest.mark.oracle
@pytest.mark.parametrize("mobility", [*UNIFORM[1:], {"kind": "gauss_markov"}], ids=str)
def test_moving_devices_stay_uniform_and_inside(mobility):
    """Reflection at edges and holes, and the way round a layout that wraps, keep areas."""
    cells, track = tracked(mobility, 1_500)
    for time_s in (0.0, 20.0):
        positions_m = track.positions_m(np.arange(1_500), time_s)
        _, distance_m, _, _, out = seen_from_its_cell(cells, positions_m)
        assert out.max() <= 1 + 1e-9
        assert distance_m.min() >= HOLE_M * (1 - 1e-9)
        counts, expected = (bin_.reshape(cells.sites, 6, 4).sum(axis=1).ravel() for bin_ in bins(cells, positions_m))
        assert chisquare(counts, expected).pvalue > 0.01


@pytest.mark.parametrize("mobility", [{"kind": "random_waypoint"}, *UNIFORM[1:], {"kind": "gauss_markov"}], ids=str)
@pytest.mark.parametrize("sites", [7, 19])
def test_the_whole_way_is_in_the_hexagons(mobility, sites):
    cells, track = tracked(mobility | {"speed_mps": 20.0}, 20, sites=sites)
    ids = np.arange(20)
    before = track.positions_m(ids, 0.0)
    crossed = 0
    for time_s in np.arange(0.5, 100.0, 0.5):
        positions_m = track.positions_m(ids, time_s)
        own, distance_m, _, _, out = seen_from_its_cell(cells, positions_m)
        assert out.max() <= 1 + 1e-9
        assert distance_m.min() >= HOLE_M * (1 - 1e-9)
        moved_m = np.hypot(*(positions_m - before).T)
        if mobility.get("edge") == "wrap":  # a device comes in again on the other side
            moved_m = np.hypot(*geometry.wrapped_m(positions_m - before, sites, cells.spacing_m).T)
        assert moved_m.max() <= 0.5 * 30.0
        crossed += (own != seen_from_its_cell(cells, before)[0]).sum()
        before = positions_m
    assert crossed > 20  # devices go from cell to cell


@pytest.mark.oracle
def test_wrapped_distances_are_within_a_hexagon():
    cells, track = tracked({"kind": "static"}, COUNT, sites=19, wrap_around=True)
    distances_m = cells.distances_m(track.positions_m(np.arange(COUNT), 0.0))
    assert distances_m.min(axis=1).max() <= RADIUS_M * (1 + 1e-12)
    assert distances_m.min() >= HOLE_M * (1 - 1e-9)
    assert distances_m.max() <= cells.farthest_m * (1 + 1e-12)


@pytest.mark.parametrize("hole", [0.0, 0.5, 0.9, 0.95])
def test_offsets_invert_their_distribution(hole):
    u = np.random.default_rng(0).random((2_000, 2))
    offsets_m = geometry.hexagon_offsets_m(u, hole * EDGE_M, RADIUS_M)
    angle = np.arctan2(offsets_m[:, 1], offsets_m[:, 0]) % (2 * math.pi)
    beside = (angle + math.pi / 6) % (math.pi / 3) - math.pi / 6
    share = np.tan(beside) - hole**2 * beside
    corner = math.tan(math.pi / 6) - hole**2 * math.pi / 6
    np.testing.assert_allclose((share / corner + 1) / 2, (6 * u[:, 0]) % 1, atol=1e-9)
    # One point at a time gives the same points.
    cells = CELLS | {"min_distance_m": max(hole, 0.2) * EDGE_M}
    area = load({"cells": cells, "radio": {"propagation": "umi_los"}}).cells.area
    np.testing.assert_allclose([area.point(*pair) for pair in u.tolist()], area.points(u), atol=1e-9)


def test_run_in_hexagons_needs_no_clamping():
    """No distance is below the model's range, so nothing need be clamped."""
    run = {"rounds": 1, "devices": {"count": 60}, "cells": CELLS, "radio": {"propagation": "umi"}}
    devices = edgefl.run(run, train=False).devices
    assert devices["distance_m"].min() >= HOLE_M
    with pytest.raises(InputError, match="umi holds from 10 m"):
        edgefl.run(run | {"cells": CELLS | {"drop": "disc"}}, train=False)


NO_HEXAGONS = {
    "no hexagons": ({"cells": {"drop": "hexagons"}}, "cells.drop: the layout single has no hexagons"),
    "a wide hole": (
        {"cells": CELLS | {"min_distance_m": 83.0}},
        "cells.min_distance_m: must be <= 82.27 with drop: hexagons, whose edges are at 86.6 m, got 83",
    ),
    "gone": (
        {"cells": CELLS, "mobility": {"kind": "constant_velocity", "edge": "leave"}},
        "mobility: edge must be reflect or wrap with cells.drop: hexagons",
    ),
}


@pytest.mark.parametrize(("scenario", "message"), NO_HEXAGONS.values(), ids=NO_HEXAGONS)
def test_hexagons_refuse_keys_that_contradict_them(scenario, message):
    with pytest.raises(InputError) as raised:
        load(scenario)
    assert message in str(raised.value)


@pytest.mark.parametrize("mobility", ["group", "manhattan", {"kind": "trace", "path": "somewhere.csv"}])
def test_models_that_cannot_keep_to_hexagons_are_refused(mobility):
    radio = {"propagation": {"kind": "umi", "out_of_range": "clamp"}}
    name = mobility if isinstance(mobility, str) else mobility["kind"]
    with pytest.raises(InputError, match=f"cells.drop: mobility {name} does not keep devices in hexagons"):
        load({"cells": CELLS, "mobility": mobility, "radio": radio})
