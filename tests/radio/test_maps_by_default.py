"""A device that stands still sees the same street in each round, and one that walks sees its neighbourhood."""

import numpy as np
import pytest
from radio_cases import SLOT_S, link, participants

import channel
import edgefl
from edgefl.core.streams import Streams
from edgefl.radio.gains.large_scale import LargeScaleChannel
from edgefl.radio.radio_section import Radio
from edgefl.scenario import load
from edgefl.world.cells_section import Cells

WITH_STATES = {
    "umi": {"radius_m": 150.0},
    "uma": {"radius_m": 300.0, "bs_height_m": 25.0},
    "rma": {"radius_m": 1500.0, "bs_height_m": 35.0},
    "inh": {"radius_m": 40.0, "min_distance_m": 1.0, "bs_height_m": 3.0},
}
STATELESS = {"umi_los": {}, "log_distance": {}, "free_space": {}, "listed": {"path_loss_db": [98.5, 104.2]}}
DEVICES = 60


def rounds_of(propagation, cells, mobility="static", churn="none", **radio):
    """Four rounds in which all devices that are present take part, without fast fading."""
    scenario = {
        "rounds": 4,
        "devices": {"count": DEVICES},
        "model": {"kind": "mlp", "cost": {"parameters": 10_000, "flops_per_parameter": 1.0}},
        "server": {"participants": DEVICES},
        "cells": cells,
        "mobility": mobility,
        "churn": churn,
        "radio": {"propagation": {"kind": propagation, "out_of_range": "clamp"}, "fading": "none", **radio},
    }
    return edgefl.run(scenario, train=False).devices


def changes(devices):
    """The share of devices that see several states of line of sight, and the greatest spread of a device's loss."""
    by_device = devices.groupby("device")
    flips = by_device["los"].nunique() > 1
    loss_db = devices["pathloss_db"] + devices["shadowing_db"]
    return flips.mean(), loss_db.groupby(devices["device"]).agg(np.ptp).max()


@pytest.mark.parametrize(("propagation", "cells"), WITH_STATES.items())
def test_device_at_rest_keeps_its_state(propagation, cells):
    share, spread_db = changes(rounds_of(propagation, cells))
    assert (share, spread_db) == (0.0, 0.0)


@pytest.mark.parametrize(("propagation", "cells"), WITH_STATES.items())
def test_without_maps_each_round_draws_again(propagation, cells):
    share, spread_db = changes(rounds_of(propagation, cells, spatial_consistency=False))
    assert share > 0.1
    assert spread_db > 10.0


def test_returning_device_finds_the_same_state():
    found = rounds_of("umi", WITH_STATES["umi"], churn={"kind": "bernoulli", "probability": 0.5})
    numbers = found.groupby("device")["round"]
    was_away = numbers.max() - numbers.min() >= numbers.count()
    assert was_away.sum() > 10
    assert changes(found) == (0.0, 0.0)


def test_moving_device_changes_its_state():
    share, _ = changes(rounds_of("umi", WITH_STATES["umi"], mobility={"kind": "random_waypoint", "speed_mps": 300.0}))
    assert share > 0.1


@pytest.mark.parametrize("name", [*WITH_STATES, *STATELESS])
def test_maps_are_the_default_where_the_model_has_states(name):
    keys = {"kind": name, "out_of_range": "clamp", **STATELESS.get(name, {})}
    by_default = Radio.model_validate({"propagation": keys})
    assert by_default.spatial_consistency == (name in WITH_STATES)
    assert Radio.model_validate({"propagation": keys, "spatial_consistency": None}) == by_default
    for told in (False, True):
        assert Radio.model_validate({"propagation": keys, "spatial_consistency": told}).spatial_consistency == told


# TR 38.901, Table 7.5-6: correlation distances of shadowing in the horizontal plane [m], in line of sight and not.
DECORRELATION_M = {"umi": (10.0, 13.0), "uma": (37.0, 50.0), "rma": (37.0, 120.0), "inh": (10.0, 6.0)}


@pytest.mark.oracle
@pytest.mark.parametrize(("name", "walked_s"), [("umi", 2.0), ("uma", 10.0), ("rma", 10.0), ("inh", 2.0)])
def test_walkers_shadowing_decorrelates_as_the_standard_says(name, walked_s):
    """After t seconds at 1.5 m/s the correlation is exp(-1.5 t / d_cor), for paths that keep their state."""
    walked_m = 1.5 * walked_s
    section = Radio.model_validate({"propagation": {"kind": name, "out_of_range": "clamp"}})
    cells = Cells.model_validate(WITH_STATES[name])
    rng = np.random.default_rng(5)
    ids = np.arange(50)
    states = []
    shadows_db = []
    for seed in range(200):  # as many cells
        found = LargeScaleChannel(section, cells, Streams(seed))
        here_m = rng.uniform(-cells.radius_m, cells.radius_m, (len(ids), 2))
        direction = rng.uniform(0, 2 * np.pi, len(ids))
        there_m = here_m + walked_m * np.stack([np.cos(direction), np.sin(direction)], axis=1)
        paths = [found.paths(ids, at_m, np.full(len(ids), 1.5), 0) for at_m in (here_m, there_m)]
        states.append([path.large.los[:, 0] for path in paths])
        shadows_db.append([path.shadowing_db[:, 0] for path in paths])
    state = np.concatenate(states, axis=1)
    shadow_db = np.concatenate(shadows_db, axis=1)
    for los, distance_m in zip((True, False), DECORRELATION_M[name], strict=True):
        rows = (state == los).all(axis=0)
        correlation = np.corrcoef(shadow_db[:, rows])[0, 1]
        assert correlation == pytest.approx(np.exp(-walked_m / distance_m), abs=0.05)


def test_the_fading_of_a_static_device_stands_still():
    """Without a speed the Doppler shift is 0, and power is the same after a minute, but not at 10 m/s."""
    speed_mps = load({"mobility": "static"}).mobility.speeds(20, Streams(1))
    np.testing.assert_array_equal(speed_mps, 0.0)
    of = link(fading="jakes")
    for speeds_mps, stands in ((speed_mps, True), (np.full(20, 10.0), False)):
        waves = participants(of, range(20), speed_mps=speeds_mps).waves
        at_s = [
            channel.waves.subband_power(waves, SLOT_S, np.full(20, 1e6), 1, np.full(20, first), 1)
            for first in (0, round(60 / SLOT_S))
        ]
        assert np.allclose(at_s[0], at_s[1]) == stands
