"""The spectral efficiency of a plain world, told before anything runs."""

import math

import pytest

from edgefl.scenario import load
from edgefl.scenario.plausibility import check_world
from edgefl.scenario.usual_efficiency import median_bps_hz

C_MPS = 299_792_458.0
NOISE_W_HZ = 10 ** (-174 / 10) / 1e3
FREE = {"carrier_hz": 3.5e9, "bandwidth_hz": 20e6, "propagation": "free_space"}
WORLD = {"cells": {"radius_m": 200, "min_distance_m": 1}, "server": {"participants": 10}}


def by_hand_bps_hz(power_dbm, band_hz, noise_figure_db=0.0):
    """Shannon's bound at the median distance in a disc, radius over the root of 2, by Friis's equation."""
    distance_m = math.hypot(200 / math.sqrt(2), 10 - 1.5)
    loss_db = 20 * math.log10(4 * math.pi * distance_m * 3.5e9 / C_MPS)
    received_w = 10 ** ((power_dbm - loss_db - noise_figure_db) / 10) / 1e3
    return math.log2(1 + received_w / (NOISE_W_HZ * band_hz))


@pytest.mark.parametrize(
    ("keys", "down_hz", "up_hz", "figures_db"),
    [
        ({}, 2e6, 2e6, (0, 0)),  # each share has the whole power of a base station
        ({"server_power": "total"}, 20e6, 2e6, (0, 0)),
        ({"downlink": "broadcast"}, 20e6, 2e6, (0, 0)),
        ({"noise_figure_db": {"device": 9, "base_station": 5}}, 2e6, 2e6, (9, 5)),
        ({"allocation": "round_robin"}, 20e6, 20e6, (0, 0)),
    ],
)
def test_free_space_by_hand(keys, down_hz, up_hz, figures_db):
    found = median_bps_hz(load({**WORLD, "radio": {**FREE, **keys}}))
    assert found["down"] == pytest.approx(by_hand_bps_hz(43, down_hz, figures_db[0]), abs=0.02)
    assert found["up"] == pytest.approx(by_hand_bps_hz(23, up_hz, figures_db[1]), abs=0.02)


def test_schemes_carry_no_more_than_their_best_one():
    found = median_bps_hz(load({**WORLD, "radio": {**FREE, "rate": {"kind": "mcs", "table": "64qam"}}}))
    assert found == {"down": pytest.approx(5.5547, abs=1e-3), "up": pytest.approx(5.5547, abs=1e-3)}
    assert not list(check_world(load({"radio": {"rate": "mcs"}})))


def test_unknown_efficiencies_are_not_estimated():
    interference = {
        "cells": {"layout": "hexagonal"},
        "radio": {"propagation": {"kind": "umi", "out_of_range": "clamp"}},
    }
    assert median_bps_hz(load(interference | {"radio": {**interference["radio"], "interference": {}}})) == {}
    controlled = {"devices": {"power_control": {"kind": "open_loop", "p0_dbm": -90}}}
    assert set(median_bps_hz(load(controlled))) == {"down"}


def test_world_without_losses_is_reported():
    """The default world: UMi in sight, no noise figure, no overhead, Shannon's bound."""
    (line,) = check_world(load({"rounds": 5}))
    assert line.startswith("radio.rate: half of the transfers in one direction carry about 22.1 bit/s/Hz or more")
    assert "radio: {preset: nr}" in line
    assert not list(check_world(load({"rounds": 5, "radio": {"preset": "nr"}})))
