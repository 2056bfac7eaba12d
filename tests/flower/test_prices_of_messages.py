"""A Flower app's messages take the time, energy and bytes of our own rounds with the same messages."""

import numpy as np
import pytest

import edgefl
from tests.cases.flower_cases import WORLD, emulated, write_app

SCHEDULE = [[0, 3], [5], [1, 2, 7]]
SCHEDULED = f"""
    for devices in {SCHEDULE}:
        nodes = [list(grid.get_node_ids())[device] for device in devices]
        replies = grid.send_and_receive(ask(nodes))
        assert len(replies) == len(nodes)
"""
WORLDS = {
    "fixed shares": {},
    "one band for all": {"radio": {"sharing": "processor", "bandwidth_hz": 1e5}},
    "moving, with batteries": {
        "radio": {
            "sharing": "processor",
            "bandwidth_hz": 1e5,
            "spatial_consistency": True,
            "propagation": {"kind": "umi_los", "out_of_range": "clamp"},
        },
        "mobility": {"kind": "random_waypoint", "speed_mps": 10},
        "devices": {"count": 8, "battery": {"capacity_j": 1000}},
        "cells": {"layout": "hexagonal", "sites": 7, "handover": {}},
        "backhaul": {"kind": "star", "rate_bps": 1e6, "delay_s": 0.1},
    },
}


@pytest.mark.oracle
@pytest.mark.parametrize("world", WORLDS.values(), ids=list(WORLDS))
def test_rounds_of_an_app_are_those_of_our_own_fedavg_to_the_last_digit(tmp_path, world):
    scenario = {**WORLD, **world}
    app = write_app(tmp_path / "app", "scheduled_app", SCHEDULED)
    theirs = emulated(app, scenario)
    server = {"selection": {"kind": "schedule", "rounds": SCHEDULE}}
    ours = edgefl.run({**scenario, "server": server}, train=False)
    assert theirs.status == "finished"
    for name in ("time_s", "duration_s", "energy_j", "selected", "received", "bytes_down", "bytes_up"):
        assert list(theirs.rounds[name]) == list(ours.rounds[name]), name
    for name in set(ours.devices) - {"status"}:
        np.testing.assert_array_equal(theirs.devices[name], ours.devices[name], err_msg=name)
