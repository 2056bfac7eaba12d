"""Layouts of base stations: hexagons that wrap around, and positions that are listed."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from radio_cases import link

import edgefl
from channel.geometry import reuse_group
from edgefl.core.errors import InputError
from edgefl.scenario import load
from edgefl.world.cells_section import Cells

CLAMPED = {"propagation": {"kind": "umi_los", "out_of_range": "clamp"}}
LISTED = {"layout": "listed", "positions_m": [[-300.0, 0.0], [300, 40.5], [0, -200]], "radius_m": 150.0}
METRES = st.floats(-5000, 5000)


@pytest.mark.oracle
@given(st.sampled_from([7, 19]), st.integers(0, 18), METRES, METRES)
@settings(max_examples=200, deadline=None)
def test_with_wrap_around_every_cell_equals_the_middle_one(sites, cell, x, y):
    """At the same place within any cell, a device is as far from the base stations, whichever they are."""
    cells = Cells(layout="hexagonal", sites=sites, radius_m=100.0, wrap_around=True)
    place = np.array([x, y])
    here, there = cells.distances_m(np.stack([place, place + cells.sites_m[cell % sites]]))
    assert np.sort(here) == pytest.approx(np.sort(there), abs=1e-6)
    assert here.max() <= cells.farthest_m * (1 + 1e-9)
    assert here.min() <= cells.radius_m * (1 + 1e-9)  # the plane is covered


@pytest.mark.parametrize(("sites", "rings"), [(7, 1), (19, 2)])
def test_the_nearest_of_all_copies_counts(sites, rings):
    """Against every copy of the layout far around; copies stand at (r + 1, r) and its turns, and do not overlap."""
    cells = Cells(layout="hexagonal", sites=sites, radius_m=100.0, wrap_around=True)
    spacing = 100 * math.sqrt(3)
    one = spacing * np.array([rings + 1 + rings / 2, rings * math.sqrt(3) / 2])
    turn = np.array([[0.5, -math.sqrt(3) / 2], [math.sqrt(3) / 2, 0.5]])
    steps = np.arange(-6, 7)
    shifts = (steps[:, None, None] * one + steps[:, None] * (turn @ one)).reshape(-1, 2)
    copies = shifts[:, None] + cells.sites_m
    gaps = np.linalg.norm(copies[:, :, None] - cells.sites_m, axis=-1)
    assert np.min(gaps[np.abs(shifts).sum(axis=1) > 1]) == pytest.approx(spacing)
    places = np.random.default_rng(0).uniform(-2 * cells.coverage_m, 2 * cells.coverage_m, (300, 2))
    expected = np.linalg.norm(places[:, None, None] - copies, axis=-1).min(axis=1)
    assert cells.distances_m(places) == pytest.approx(expected)


def test_without_wrapping_distances_are_straight():
    cells = Cells(layout="hexagonal", sites=19)
    places = np.random.default_rng(0).uniform(-2000, 2000, (300, 2))
    straight = np.linalg.norm(places[:, None] - cells.sites_m, axis=-1)
    assert cells.distances_m(places) == pytest.approx(straight)
    wrapped = Cells(layout="hexagonal", sites=19, wrap_around=True).distances_m(places)
    assert (wrapped <= straight + 1e-9).all()
    assert (wrapped < 0.9 * straight).mean() > 0.3


def test_with_wrap_around_the_far_side_serves_and_interferes():
    """Beyond the ring to the east: the path is that to the nearest image, and interference is the middle cell's."""
    keys = {**CLAMPED, "shadowing_db": 0.0, "interference": {"load": 1.0}}
    of = link(cells={"layout": "hexagonal", "wrap_around": True}, **keys)
    cells = of.channel.cells
    inside = np.array([[30.0, 20.0]])
    places = np.concatenate([inside + site for site in cells.sites_m] + [inside + 3 * cells.sites_m[1]])
    drop = of.drop(np.arange(8), places, np.full(8, 1.5), 0)
    assert drop.cell[:7].tolist() == list(range(7))
    assert drop.distance_m == pytest.approx(np.full(8, math.hypot(30, 20)))
    assert np.sort(drop.all_gains, axis=1) == pytest.approx(np.broadcast_to(np.sort(drop.all_gains[0]), (8, 7)))
    transfers = np.ones(7, dtype=np.int64)
    power_w = np.ones(8)
    levels = of.pricing.budget.interference_w_hz("down", drop.all_gains, drop.cell, power_w, transfers)
    assert levels == pytest.approx(np.full(8, levels[0]))


def test_listed_base_stations_serve_their_discs():
    """Each device joins the strongest of them; it is covered within the radius of any."""
    scenario = load({"cells": LISTED, "radio": CLAMPED})
    cells = scenario.cells
    assert (cells.sites, cells.sites_m.tolist()) == (3, [[-300, 0], [300, 40.5], [0, -200]])
    assert cells.coverage_m == pytest.approx(150 + math.hypot(300, 40.5))
    of = link(cells=LISTED, **CLAMPED, shadowing_db=0.0)
    places = np.random.default_rng(0).uniform(-400, 400, (200, 2))
    drop = of.drop(np.arange(200), places, np.full(200, 1.5), 0)
    distance = np.linalg.norm(places[:, None] - cells.sites_m, axis=-1)
    assert drop.cell.tolist() == distance.argmin(axis=1).tolist()
    assert drop.distance_m == pytest.approx(distance.min(axis=1))
    assert of.pricing.budget.group.tolist() == [0, 0, 0]


def test_devices_within_the_radius_of_a_listed_base_station_are_present():
    run = {"devices": {"count": 200}, "rounds": 1, "radio": CLAMPED, "churn": "coverage", "cells": LISTED}
    result = edgefl.run(run, train=False)
    places = result.devices[["x_m", "y_m"]].to_numpy()
    distance = np.linalg.norm(places[:, None] - load(run).cells.sites_m, axis=-1).min(axis=1)
    assert len(places) == result.rounds["present"].item() < 100
    assert (distance <= 150).all()
    assert set(result.devices["cell"]) == {0, 1, 2}


def test_one_listed_site_in_the_middle_is_the_single_cell():
    base = {"rounds": 2, "radio": CLAMPED}
    single = edgefl.run({**base, "cells": {}}, train=False)
    listed = edgefl.run({**base, "cells": {"layout": "listed", "positions_m": [[0, 0]]}}, train=False)
    assert single.devices.equals(listed.devices)
    assert single.rounds.equals(listed.rounds)


HEXAGONAL = {"layout": "hexagonal"}
FAR = {"cells": HEXAGONAL | {"handover": {}}, "radio": CLAMPED | {"spatial_consistency": True}}
REFUSED = {
    "positions are needed": ({"cells": {"layout": "listed"}}, "cells.positions_m: is required"),
    "for another layout": (
        {"cells": {"positions_m": [[0, 0]]}},
        "cells.positions_m: the layout single sets the positions: set layout to listed",
    ),
    "one place": (
        {"cells": {"layout": "listed", "positions_m": [[0, 1], [0, 1.0]]}},
        "cells.positions_m: two base stations stand in the same place: move one or leave it out",
    ),
    "another number": ({"cells": LISTED | {"sites": 7}}, "cells.sites: 3 positions are listed, got 7: leave it out"),
    "wrapping one": ({"cells": {"wrap_around": True}}, "cells.wrap_around: needs a hexagonal layout of 7 or 19"),
    "parts of a list": ({"cells": LISTED, "radio": CLAMPED | {"reuse": 3}}, "radio.reuse: needs a hexagonal layout"),
    "parts that meet": (
        {"cells": HEXAGONAL | {"wrap_around": True}, "radio": CLAMPED | {"reuse": 3}},
        (
            "radio.reuse: with wrap_around cells of one part would meet across the edge: "
            "set it to 1, or to 7 with 7 sites; got 3"
        ),
    ),
}


@pytest.mark.parametrize(("scenario", "message"), REFUSED.values(), ids=REFUSED)
def test_impossible_layouts_are_refused(scenario, message):
    with pytest.raises(InputError) as caught:
        load(scenario)
    assert caught.value.faults[0].removeprefix("scenario: ").startswith(message)


def test_number_of_sites_is_filled_in():
    assert load(FAR).radio.sharing == "processor"
    assert load({"cells": HEXAGONAL, "radio": CLAMPED}).radio.sharing == "fixed"
    again = load(load({"cells": LISTED, "radio": CLAMPED}).model_dump(mode="json"))
    assert again.cells == Cells(**LISTED)
    assert Cells(layout="hexagonal", wrap_around=True, sites=7).farthest_m == pytest.approx(math.sqrt(7) * 250)
    assert load(FAR).cells.handover.pause_s == 0.05


@pytest.mark.parametrize("reuse", [3, 4, 7])
@pytest.mark.parametrize("sites", [7, 19])
def test_reuse_must_repeat_with_a_wrapped_layout(sites, reuse):
    """Allowed where no cell has a nearer one on its part than the reuse distance, across the edge, too."""
    cells = Cells(layout="hexagonal", sites=sites, wrap_around=True)
    group = reuse_group(sites, reuse)
    distance = cells.distances_m(cells.sites_m) + np.where(np.eye(sites), np.inf, 0)
    apart = distance[group[:, None] == group].min(initial=np.inf) > math.sqrt(reuse) * cells.spacing_m * (1 - 1e-9)
    assert (cells.check_reuse(reuse) is None) == apart
