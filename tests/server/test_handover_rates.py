"""Rates of handovers, against crossed borders and passages of shadows."""

from itertools import pairwise

import numpy as np
import pytest
from scipy.integrate import quad

import edgefl

pytestmark = pytest.mark.oracle

RADIUS_M = 150.0
CLAMPED_LINE = {"kind": "umi_los", "out_of_range": "clamp"}
BACK_S = 1.0
# A straight line that is anywhere, in any direction, crosses borders of length L in an area A 2 L / (pi A) times a
# metre (Cauchy and Crofton). A hexagon of corner radius R has the perimeter 6 R, which it shares with its neighbours.
BORDERS_A_METRE = 6 * RADIUS_M / (np.pi * 1.5 * np.sqrt(3) * RADIUS_M**2)


def handovers_of(mobility, under_way_s, devices, seed=1, measure_s=0.04, propagation=CLAMPED_LINE, rule=(), **radio):
    """Return the events of handover of devices that compute all the time, among 19 hexagons that wrap around."""
    scenario = {
        "rounds": 1,
        "seed": seed,
        "devices": {"count": devices},
        "server": {"participants": devices},
        "model": {"kind": "mlp", "cost": {"parameters": 100, "flops_per_parameter": under_way_s * 8e7}},
        "training": {"local_steps": 1, "batch_size": 1},
        "cells": {
            "layout": "hexagonal",
            "sites": 19,
            "radius_m": RADIUS_M,
            "wrap_around": True,
            "drop": "hexagons",
            "handover": {"measure_s": measure_s, **dict(rule)},
        },
        "mobility": mobility,
        "radio": {"propagation": propagation, "spatial_consistency": True, "fading": "none", **radio},
    }
    result = edgefl.run(scenario, train=False)
    assert result.devices["compute_s"].tolist() == pytest.approx([under_way_s] * devices)
    return result.events[result.events["kind"] == "handover"]


def share_back(events):
    """Return the share of handovers that lead back to the cell before within a second (3GPP TR 36.839, clause 5.6)."""
    back = 0
    for _, of_device in events.groupby("device"):
        moves = [(row.time_s, int(row.detail.removeprefix("from ")), row.cell) for row in of_device.itertuples()]
        back += sum(now[2] == before[1] and now[0] - before[0] <= BACK_S for before, now in pairwise(moves))
    return back / max(len(events), 1)


@pytest.mark.parametrize(("speed_mps", "measure_s"), [(1.5, 0.2), (8.3, 0.2), (33.3, 0.04)])
def test_without_shadows_handovers_are_the_borders_that_are_crossed(speed_mps, measure_s):
    """In line of sight the nearest base station is the strongest one; few corners are cut off by the hysteresis."""
    under_way_s = 1500.0 / speed_mps
    mobility = {"kind": "constant_velocity", "speed_mps": speed_mps, "edge": "wrap"}
    events = handovers_of(mobility, under_way_s, 60, measure_s=measure_s, shadowing_db=0.0)
    borders = 60 * 1500.0 * BORDERS_A_METRE
    assert borders > 400
    assert 0.8 < len(events) / borders < 1.0
    assert share_back(events) == 0.0


def first_passage_m(hysteresis_db, shadowing_db, decorrelation_m, step_m):
    """Return the mean way between handovers among two base stations whose mean levels are the same.

    The difference of two shadows has the standard deviation sqrt(2) times that of one, and is an Ornstein-Uhlenbeck
    process along the way. After a handover at +h comes one at -h: the mean first passage between them, d sqrt(2 pi)
    times the integral of exp(u^2 / 2) from 0 to h over the deviation. Steps pass a level by 0.5826 of their own
    deviation (Siegmund, 1985).
    """
    overshoot = 0.5826 * np.sqrt(2 * step_m / decorrelation_m)
    level = hysteresis_db / (np.sqrt(2) * shadowing_db) + overshoot
    return decorrelation_m * np.sqrt(2 * np.pi) * quad(lambda u: np.exp(u**2 / 2), 0, level)[0]


@pytest.mark.parametrize("hysteresis_db", [3.0, 6.0])
def test_between_two_base_stations_shadows_hand_over_as_often_as_they_pass_the_hysteresis(tmp_path, hysteresis_db):
    """A walker at 1.5 m/s who is as far from either: the rule alone, without time to trigger and filter."""
    under_way_s = 2400.0
    trace = tmp_path / "trace.csv"
    trace.write_text(f"time_s,device,x_m,y_m\n0,0,0,{-0.75 * under_way_s}\n{under_way_s},0,0,{0.75 * under_way_s}\n")
    count = 0
    for seed in range(8):
        scenario = {
            "rounds": 1,
            "seed": seed,
            "devices": {"count": 1},
            "model": {"kind": "mlp", "cost": {"parameters": 100, "flops_per_parameter": under_way_s * 8e7}},
            "training": {"local_steps": 1, "batch_size": 1},
            "cells": {
                "layout": "listed",
                "positions_m": [[-200, 0], [200, 0]],
                "radius_m": 3000.0,
                "handover": {
                    "hysteresis_db": hysteresis_db,
                    "time_to_trigger_s": 0,
                    "filter_k": 0,
                    "interruption_s": 0,
                    "measure_s": 0.1,
                },
            },
            "mobility": {"kind": "trace", "path": str(trace)},
            "radio": {"propagation": CLAMPED_LINE, "spatial_consistency": True, "fading": "none"},
        }
        count += edgefl.run(scenario, train=False).rounds["handovers"].sum()
    way_m = 8 * 1.5 * under_way_s
    assert way_m / count == pytest.approx(first_passage_m(hysteresis_db, 4.0, 10.0, 0.15), rel=0.08)


def test_walkers_in_umi_are_handed_over_by_shadows_without_ping_pong():
    """More often than borders are crossed, as a base station comes into sight for itself, but not back at once."""
    mobility = {"kind": "random_waypoint", "speed_mps": 1.5}
    umi = {"kind": "umi", "out_of_range": "clamp"}
    by_default = handovers_of(mobility, 400.0, 20, propagation=umi)
    hasty = handovers_of(mobility, 400.0, 20, propagation=umi, rule={"time_to_trigger_s": 0.16, "filter_k": 4})
    borders = 20 * 400.0 * 1.5 * BORDERS_A_METRE
    assert borders < len(by_default) < 9 * borders
    assert len(by_default) < 0.9 * len(hasty)
    assert share_back(by_default) < 0.015
