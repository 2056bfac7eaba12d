"""Suspicious values get one warning each, and shipped scenarios none."""

from pathlib import Path

import numpy as np
import pytest
import yaml

from edgefl.core.errors import InputError
from edgefl.reproductions.library import Library
from edgefl.reproductions.plan import plan
from edgefl.reproductions.scenarios import scenarios_of
from edgefl.scenario import load, load_sweep, shipped
from edgefl.scenario.plausibility import ends_of, expected_numbers, implausible, too_late
from edgefl.world.antennas.tr38901 import Tr38901


def control(p0_dbm):
    return {"devices": {"power_control": {"kind": "open_loop", "p0_dbm": p0_dbm}}}


def antenna(**keys):
    return {"cells": {"layout": "hexagonal", "antenna": {"kind": "tr38901", **keys}}, "radio": CLAMPED}


def taps(delay_spread_ns):
    return {"radio": {"fading": {"kind": "tdl", "delay_spread_ns": delay_spread_ns}}}


CLAMPED = {"propagation": {"kind": "umi_los", "out_of_range": "clamp"}}
# Both sides of each border, by hand: what is the last plausible number, and the next one.
BORDERS = {
    "radio.noise_dbm_hz above": ({"radio": {"noise_dbm_hz": -154.0}}, {"radio": {"noise_dbm_hz": -153.9}}, "band"),
    "radio.noise_dbm_hz below": ({"radio": {"noise_dbm_hz": -194.0}}, {"radio": {"noise_dbm_hz": -204}}, "dBW/Hz"),
    "devices.rx_power_w": ({"devices": {"rx_power_w": 10}}, {"devices": {"rx_power_w": 10.1}}, "not dBm"),
    "devices.capacitance": (
        {"devices": {"capacitance": 1e-24}},
        {"devices": {"capacitance": 1e-10}},
        "chips have 1e-29 to 1e-27",
    ),
    "devices.power_control.p0_dbm": (control(0.0), control(0.1), "-110 to -70"),
    "cells.antenna.tilt_deg": (antenna(tilt_deg=45), antenna(tilt_deg=12), "written 102"),
    "radio.fading.delay_spread_ns short": (taps(1.0), taps(3e-7), "100 ns are written 100"),
    "radio.fading.delay_spread_ns long": (taps(1e4), taps(10_001), "100 ns are written 100"),
    "radio.slot_s": ({"radio": {"slot_s": 1e-3}}, {"radio": {"slot_s": 1.01e-3}}, "nearest is 0.001, with 15 kHz"),
}
# These papers give 1e-10 W of noise over the band, which is 44 dB above that of heat.
NOISY = {"third-party/adaptive-fl-rounds", "third-party/hierfavg-uploads"}

SCENARIOS = yaml.safe_load((Path(__file__).parents[1] / "cases" / "implausible.yaml").read_text())
NUMEROLOGIES = [{"radio": {"slot_s": 1e-3 / 2**mu}} for mu in range(7)]


@pytest.mark.parametrize("beginning", SCENARIOS["warned"])
def test_implausible_values_get_one_line_each(beginning):
    (line,) = implausible(load(SCENARIOS["warned"][beginning]))
    assert line.startswith(beginning)


@pytest.mark.parametrize("keys", [*SCENARIOS["plausible"], *NUMEROLOGIES])
def test_the_limits_themselves_are_plausible(keys):
    assert implausible(load(keys)) == []


@pytest.mark.parametrize("name", shipped.scenarios())
def test_no_shipped_scenario_warns(name, monkeypatch):
    try:
        scenario = load(name)
    except InputError as error:
        pytest.skip(str(error))  # its trace is not here
    assert implausible(scenario) == []


@pytest.mark.oracle
@pytest.mark.parametrize("name", shipped.sweeps())
def test_shipped_sweeps_have_points_without_warnings(name):
    sweep = load_sweep(name)
    assert len(sweep.points) >= 12
    assert sweep.keys
    assert not [line for point in sweep.points for line in implausible(point.scenario)]


@pytest.mark.parametrize("key", BORDERS)
def test_both_sides_of_each_border(key):
    inside, outside, meant = BORDERS[key]
    assert implausible(load(inside)) == []
    (line,) = implausible(load(outside))
    assert line.startswith(f"{key.partition(' ')[0]}: ")
    assert meant in line


def test_each_expected_number_is_a_key():
    """No row is about a key that is no more."""
    full = {**control(-80.0), **antenna(), "mobility": "random_waypoint"}
    full["radio"] = CLAMPED | taps(100.0)["radio"]
    scenario = load(full)
    assert [row.key for row in expected_numbers() if not ends_of(scenario, row.key)] == []


class Tilted(Tr38901):
    """An antenna from outside, whose tilt is below the horizon."""

    tilt_deg: float = 12.0


def test_keys_of_plug_ins_get_no_warnings():
    scenario = load(antenna())
    tilted = scenario.cells.model_copy(update={"antenna": Tilted()})
    assert implausible(scenario.model_copy(update={"cells": tilted})) == []


@pytest.mark.slow
def test_no_recipe_warns_but_where_its_paper_does():
    library = Library()
    warned = {}
    for name in library.names:
        scenarios = scenarios_of(plan(library, library.load(name), "full")).values()
        lines = {line.partition(" is ")[0] for scenario in scenarios for line in implausible(scenario)}
        if lines:
            warned[name] = lines
    assert warned == {name: {"radio.noise_dbm_hz: -130 dBm/Hz"} for name in NOISY}


def test_deadline_that_no_device_can_meet_is_reported():
    keys = {"server": {"policy": "deadline", "deadline_s": 2.0}, "radio": {"bandwidth_hz": 1e6}}
    flops = np.array([3e9, 8e9])
    speeds = np.array([1e9, 8e9])  # 3 s and 1 s
    scenario = load(keys)
    assert too_late(scenario, flops, speeds, bits=29e6) is None  # 29 / 30 s on the best link
    line = too_late(scenario, flops, speeds, bits=31e6)
    assert line is not None
    assert line.startswith("server.deadline_s: nothing can arrive within 2 s")
    assert too_late(load({"radio": {"bandwidth_hz": 1e6}}), flops, speeds, bits=1e12) is None  # no deadline
