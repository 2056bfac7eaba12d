"""Devices that move out of coverage have left, whatever the churn: against every check of every device, one by one."""

import json

import numpy as np
import pytest

import edgefl
from edgefl.core.errors import InputError
from edgefl.core.streams import Streams
from edgefl.scenario import load
from edgefl.world.world import World

CLAMPED = {"propagation": {"kind": "umi", "out_of_range": "clamp"}}
LISTED = {"layout": "listed", "positions_m": [[-300, 0], [300, 40.5], [0, -200]], "radius_m": 150}
COUNT = 30
UNTIL_S = 120
EVERYBODY = np.arange(COUNT)
POISSON = {"kind": "poisson", "arrivals_per_s": 1.0, "stay_s": {"exponential": 20.0}}
MOVING = {
    "flights that leave": {"kind": "constant_velocity", "edge": "leave"},
    "flights that jump": {"kind": "constant_velocity", "edge": "wrap", "speed_mps": 60.0},
    "waypoints": {"kind": "random_waypoint", "speed_mps": {"uniform": [1, 40]}},
    "gauss_markov": {"kind": "gauss_markov", "speed_mps": 20.0, "speed_std_mps": 10.0},
    "groups": {"kind": "group", "speed_mps": 20.0},
    "still": {"kind": "static"},
    "streets": {"kind": "streets", "path": "streets.json", "speed_mps": 30.0},
    **{f"trace, {end}": {"kind": "trace", "path": "trace.csv", "at_end": end} for end in ("hold", "loop", "leave")},
    **{
        f"trace with gaps, {end}": {"kind": "trace", "path": "trace.csv", "at_end": end, "gap_s": 10.0}
        for end in ("hold", "loop", "leave")
    },
}


@pytest.fixture(autouse=True)
def files(tmp_path, monkeypatch):
    """A square of streets that leads far out, and a trace of wild walks that begin and end at different times."""
    monkeypatch.chdir(tmp_path)
    nodes = [{"id": i, "x": x, "y": y} for i, (x, y) in enumerate([(-600, 0), (600, 0), (0, 600), (0, -300)])]
    edges = [{"source": a, "target": b} for a, b in ((0, 1), (1, 2), (2, 0), (0, 3))]
    (tmp_path / "streets.json").write_text(json.dumps({"nodes": nodes, "edges": edges}))
    rng = np.random.default_rng(1)
    rows = [
        f"{time},{device},{x},{y}"
        for device in range(COUNT)
        for time, (x, y) in zip(
            np.cumsum(rng.uniform(1, 20, 6)) + 40 * (device % 2), rng.uniform(-500, 500, (6, 2)), strict=True
        )
    ]
    (tmp_path / "trace.csv").write_text("time_s,device,x_m,y_m\n" + "\n".join(rows))


def world(mobility, churn="coverage", cells=LISTED, **keys):
    keys = {"devices": {"count": COUNT}, "radio": CLAMPED, **keys}
    scenario = load({"mobility": mobility, "churn": churn, "cells": cells, **keys})
    presence = scenario.churn.presence(COUNT, np.zeros(COUNT, dtype=np.int64), 1, Streams(1))
    return World(
        devices=scenario.devices,
        cells=scenario.cells,
        mobility=scenario.mobility,
        presence=presence,
        streams=Streams(1),
    )


def seen(of, churn=None):
    """Return which devices are present [checks, devices], checked every second."""
    covered = np.array([of.is_covered(EVERYBODY, float(time)) for time in range(UNTIL_S + 1)])
    there = (
        np.array([np.isin(EVERYBODY, churn.present(float(time), 0)) for time in range(UNTIL_S + 1)]) if churn else True
    )
    return covered & there


@pytest.mark.oracle
@pytest.mark.parametrize("name", MOVING)
def test_testing_only_devices_that_may_have_moved_finds_all_changes(name):
    of = world(MOVING[name])
    there = seen(of)
    step, ids = np.nonzero(there[1:] != there[:-1])
    changes = of.presence.changes(0.0, float(UNTIL_S))
    assert changes.times_s.tolist() == (step + 1.0).tolist()
    assert changes.ids.tolist() == ids.tolist()
    assert changes.came.tolist() == there[step + 1, ids].tolist()
    assert name == "still" or len(ids) > 10
    for time in (0, 50, 17, UNTIL_S):
        assert of.presence.present(float(time), 0).tolist() == np.flatnonzero(there[time]).tolist()
    for time in (0, 31):
        came = changes.came & (changes.times_s > time)
        expected = changes.times_s[came][0] if came.any() else None
        found = of.presence.next_arrival_s(float(time))
        assert found == expected if expected is not None else found > UNTIL_S


@pytest.mark.oracle
@pytest.mark.parametrize(
    "name", [*(name for name in MOVING if name.startswith("trace")), "flights that leave", "streets"]
)
@pytest.mark.parametrize("churn", ["none", POISSON], ids=["no churn", "poisson"])
def test_device_that_moves_out_leaves_under_every_churn(name, churn):
    """A device is present if its churn has it present and it is covered; arrivals and departures are its changes."""
    of = world(MOVING[name], churn)
    alone = None
    if churn != "none":
        alone = load({"churn": churn, "devices": {"count": COUNT}}).churn
        alone = alone.presence(COUNT, np.zeros(COUNT, dtype=np.int64), 1, Streams(1))
    there = seen(of, alone)
    changes = of.presence.changes(0.0, float(UNTIL_S))
    now = there[0].copy()
    for time in range(UNTIL_S + 1):
        rows = (changes.times_s <= time) & (changes.times_s > time - 1)
        for device, came in zip(changes.ids[rows], changes.came[rows], strict=True):
            assert now[device] != came
            now[device] = came
        assert of.presence.present(float(time), 0).tolist() == np.flatnonzero(there[time]).tolist()
        assert now.tolist() == there[time].tolist()
    next_s = world(MOVING[name], churn).presence.next_arrival_s(0.0)
    before = changes.came & (changes.times_s < next_s)
    assert next_s in changes.times_s[changes.came] if next_s < UNTIL_S else True
    assert there[0][changes.ids[before]].all()  # who was away comes no sooner


@pytest.mark.oracle
def test_only_covered_devices_toss_coins():
    """The next round waits for a device that comes back rather than for another coin if no device is covered."""
    of = world(MOVING["trace, leave"], {"kind": "bernoulli", "probability": 0.5})
    there = seen(of)
    for time in range(UNTIL_S):
        assert not set(of.presence.present(float(time), time)) - set(np.flatnonzero(there[time]))
    assert of.presence.next_arrival_s(60.0) == 60.0
    gone_s = 1e6
    assert of.presence.next_arrival_s(gone_s) == np.inf


def test_movement_within_the_area_is_not_checked():
    """Devices that cannot leave are not checked: a million of them is as cheap as ten."""
    for mobility in ("random_waypoint", "static", {"kind": "constant_velocity", "edge": "reflect"}):
        for churn in ("none", POISSON):
            assert "cover" not in type(world(mobility, churn).presence).__name__.lower()


BASE = {
    "rounds": 3,
    "data": {"dataset": "digits"},
    "devices": {"count": 5},
    "server": {"participants": 3},
    "radio": CLAMPED,
}
WALK = "time_s,device,x_m,y_m\n" + "".join(f"{t},{i},{20 + 5 * i},{t}\n" for i in range(5) for t in (0, 50))


@pytest.mark.parametrize("churn", ["none", "coverage", {"kind": "coverage", "check_s": 0.001}])
def test_run_waits_for_a_trace_that_begins_late(tmp_path, churn):
    (tmp_path / "walk.csv").write_text(WALK)
    mobility = {"kind": "trace", "path": "walk.csv", "time_offset_s": 200_000.0}
    result = edgefl.run({**BASE, "mobility": mobility, "churn": churn}, train=False)
    assert result.status == "finished"
    assert result.events[result.events["kind"] == "round_start"]["time_s"].iloc[0] == 200_000.0


@pytest.mark.parametrize("mobility", ["walk", "flight"])
def test_run_ends_when_all_devices_have_left_for_good(tmp_path, mobility):
    (tmp_path / "walk.csv").write_text(WALK)
    kinds = {
        "walk": {"kind": "trace", "path": "walk.csv", "at_end": "leave"},
        "flight": {"kind": "constant_velocity", "speed_mps": 30.0, "edge": "leave"},
    }
    slow = {"count": 5, "cpu_hz": 1e5, "flops_per_cycle": 1.0}
    result = edgefl.run({**BASE, "rounds": 1000, "mobility": kinds[mobility], "devices": slow}, train=False)
    assert result.status == "failed"
    assert "none will arrive" in result.error
    assert (result.devices["distance_m"] <= 250 + 30).all()  # looked at once a second
    assert result.rounds["departures"].sum() == 5


def test_a_trace_that_never_meets_a_cell_is_refused(tmp_path):
    """It crosses the disc around all cells, but none of them."""
    (tmp_path / "walk.csv").write_text("time_s,device,x_m,y_m\n0,0,-300,300\n9,0,300,300\n")
    with pytest.raises(
        InputError, match=r"walk.csv: comes no nearer to a base station than 259.5 m, a cell ends at 150"
    ):
        world({"kind": "trace", "path": "walk.csv"}, devices={"count": 1})
