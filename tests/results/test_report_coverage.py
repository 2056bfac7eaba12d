"""Cells and path loss on the map."""

import numpy as np
import pytest

from channel import free_space, umi
from edgefl.radio.radio_section import Radio
from edgefl.results.report.run import coverage
from edgefl.world.cells_section import Cells


def inside(polygon, points):
    """Tell which points [n, 2] are in a convex polygon that turns left."""
    edges = np.roll(polygon, -1, axis=0) - polygon
    offsets = points[:, None] - polygon
    return (edges[:, 0] * offsets[..., 1] - edges[:, 1] * offsets[..., 0] >= 0).all(axis=1)


@pytest.mark.parametrize(
    "cells",
    [
        {"layout": "hexagonal", "sites": 7, "radius_m": 100},
        {"layout": "listed", "positions_m": [[0, 0], [150, 20], [40, 400]], "radius_m": 120},
    ],
)
def test_a_point_is_in_the_cell_of_the_nearest_site(cells):
    section = Cells.model_validate(cells)
    points = np.random.default_rng(1).uniform(-500, 500, (4000, 2))
    away = section.distances_m(points)
    clear = np.abs(away.min(axis=1) - section.radius_m) > 0.5  # corners cut a little off the disc
    for site, border in enumerate(coverage.outlines(section.sites_m, section.radius_m)):
        mine = (away.argmin(axis=1) == site) & (away.min(axis=1) <= section.radius_m)
        assert inside(border, points)[clear].tolist() == mine[clear].tolist()


def test_the_middle_of_a_layout_is_a_hexagon():
    section = Cells.model_validate({"layout": "hexagonal", "sites": 7, "radius_m": 100})
    x, y = coverage.outlines(section.sites_m, 100.0)[0].T
    area = abs(x @ np.roll(y, -1) - y @ np.roll(x, -1)) / 2
    assert area == pytest.approx(1.5 * np.sqrt(3) * 100**2, rel=5e-3)


def test_free_space_is_what_its_formula_says():
    radio = Radio.model_validate({"propagation": "free_space"})
    cells = Cells()
    found = coverage.path_loss_db(radio, cells, np.array([50.0, 200.0]), 1.5)
    exact = free_space.path_loss_db(np.hypot([50.0, 200.0], 8.5), radio.carrier_hz)
    assert found == pytest.approx(exact)


def test_the_mean_over_lines_of_sight():
    radio = Radio.model_validate({"propagation": "umi"})
    distance = np.array([30.0, 80.0, 200.0])
    found = coverage.path_loss_db(radio, Cells(), distance, 1.5)
    clear = umi.path_loss_db(distance, 3.5e9, np.full(3, True), 10.0, 1.5)
    blocked = umi.path_loss_db(distance, 3.5e9, np.full(3, False), 10.0, 1.5)
    chance = umi.los_probability(distance)
    exact = chance * clear + (1 - chance) * blocked
    assert np.abs(found - exact).max() < 1 / 32 * np.abs(blocked - clear).max() + 1e-9  # of 16 even chances
