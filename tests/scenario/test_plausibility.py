"""Values that are hardly meant: one warning each, and none about what is shipped."""

import numpy as np
import pytest

from edgefl.core.errors import InputError
from edgefl.scenario import load, load_sweep, shipped
from edgefl.scenario.plausibility import implausible, too_late

CASES = {
    "devices.cpu_hz: 1.5 Hz": {"devices": {"cpu_hz": 1.5}},
    "devices.cpu_hz: 1 Hz": {"devices": {"cpu_hz": {"uniform": [1.0, 2e9]}}},
    "devices.tx_power_dbm: 200 dBm": {"devices": {"tx_power_dbm": 200}},
    "radio.server_tx_power_dbm: 100 dBm": {"radio": {"server_tx_power_dbm": 100}},
    "cells.energy: with radio.server_power: per_device": {"cells": {"energy": {"static_w": 112.0, "slope": 2.6}}},
    "devices.battery.idle_w: stops while a device takes part, and may be more than it then draws (idle_power_w": {
        "devices": {"idle_power_w": 0.1, "battery": {"capacity_j": 40e3, "idle_w": {"uniform": [0.05, 0.5]}}}
    },
    "devices.battery.idle_w: stops while a device takes part, and may be more than it then draws (rx_power_w": {
        "devices": {
            "idle_power_w": 0.5,
            "groups": [
                {"name": "mains", "share": 0.5},
                {"name": "phones", "share": 0.5, "battery": {"capacity_j": 40e3, "idle_w": 0.5}},
            ],
        }
    },
    "training.lr: 0 ": {"training": {"lr": 0}},
    "training.lr: 1000 ": {"training": {"lr": 1000}},
    "radio.bandwidth_hz: 20 Hz": {"radio": {"bandwidth_hz": 20}},
    "radio.carrier_hz: 3.5 Hz": {
        "radio": {"carrier_hz": 3.5, "propagation": {"kind": "free_space", "out_of_range": "clamp"}}
    },
    "radio.propagation.high_loss: counts for nothing": {"radio": {"propagation": {"kind": "umi", "high_loss": 0.5}}},
    "radio.propagation.release: counts for nothing": {"radio": {"propagation": {"kind": "umi", "release": 19}}},
    "radio.site_correlation: counts for nothing": {"radio": {"site_correlation": 0.5}},
    "radio.sharing: with radio.uplink: noma fixed shares": {"radio": {"uplink": "noma"}},
    "mobility.speed_mps: 500 m/s": {"mobility": {"kind": "random_waypoint", "speed_mps": 500}},
}
LIMITS = [
    {"devices": {"cpu_hz": 1e6}},
    {"devices": {"tx_power_dbm": 60}},
    {"devices": {"cpu_hz": {"lognormal": [20.5, 0.5]}}},  # has no bounds
    {"radio": {"bandwidth_hz": 15e3}},
    {"training": {"lr": 1e-9}},
    {"devices": {"idle_power_w": 0.1, "battery": {"capacity_j": 40e3, "base_w": 9.0, "idle_w": 0.1}}},
    {"mobility": {"kind": "static"}},
    {"cells": {"energy": {"static_w": 112.0, "slope": 2.6}}, "radio": {"server_power": "total"}},
    {"radio": {"carrier_hz": 6e9, "propagation": {"kind": "umi", "high_loss": 0.5, "release": 19}}},
    {"radio": {"propagation": {"kind": "umi", "high_loss": 0.5, "walls": "materials"}}},
    {"radio": {"uplink": "noma", "sharing": "processor"}},
    {"radio": {"uplink": "noma"}, "server": {"participants": 1}},
    {"radio": {"uplink": "noma"}, "server": {"policy": "sequential"}},
]


@pytest.mark.parametrize("beginning", CASES)
def test_one_line_each(beginning):
    (line,) = implausible(load(CASES[beginning]))
    assert line.startswith(beginning)


@pytest.mark.parametrize("keys", LIMITS)
def test_the_limits_themselves_are_plausible(keys):
    assert implausible(load(keys)) == []


@pytest.mark.parametrize("name", shipped.scenarios())
def test_no_shipped_scenario_warns(name, monkeypatch):
    try:
        scenario = load(name)
    except InputError as error:
        pytest.skip(str(error))  # its trace is not here
    assert implausible(scenario) == []


@pytest.mark.parametrize("name", shipped.sweeps())
def test_no_shipped_sweep_warns(name):
    assert not [line for point in load_sweep(name).points for line in implausible(point.scenario)]


def test_a_deadline_in_which_nothing_can_arrive():
    keys = {"server": {"policy": "deadline", "deadline_s": 2.0}, "radio": {"bandwidth_hz": 1e6}}
    flops = np.array([3e9, 8e9])
    speeds = np.array([1e9, 8e9])  # 3 s and 1 s
    scenario = load(keys)
    assert too_late(scenario, flops, speeds, bits=29e6) is None  # 29 / 30 s on the best link
    line = too_late(scenario, flops, speeds, bits=31e6)
    assert line is not None
    assert line.startswith("server.deadline_s: nothing can arrive within 2 s")
    assert too_late(load({"radio": {"bandwidth_hz": 1e6}}), flops, speeds, bits=1e12) is None  # no deadline
