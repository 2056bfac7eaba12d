"""The sections `cells` and `radio`: what is refused, where and in which words, and what is filled in."""

import subprocess
import sys

import pytest
from scenario_schema import validator

from edgefl.core.errors import InputError
from edgefl.scenario import dump, load
from edgefl.scenario.yaml_reader import parse

BLOCKS = "subcarrier_spacing_hz: 30e3"
CLAMP = "propagation: {kind: umi_los, out_of_range: clamp}"
REFUSED = {
    "radio:\n  reuse: 3": (4, "radio.reuse: needs several cells: set cells.layout to hexagonal"),
    "radio:\n  carrier_hz: 28e9\n  subcarrier_spacing_hz: 30e3": (
        5,
        "radio.subcarrier_spacing_hz: spacing_hz = 30000 is not a subcarrier spacing of FR2 (carrier 28 GHz): 60000",
    ),
    "radio:\n  carrier_hz: 28e9\n  subcarrier_spacing_hz: 120e3\n  slot_s: 0.000125\n  bandwidth_hz: 300e6": (
        7,
        "radio.bandwidth_hz: bandwidth_hz = 3e+08 is not a channel bandwidth at 120 kHz spacing: the nearest are 200",
    ),
    "radio:\n  fading:\n    kind: tdl\n    k_db: 9": (6, "radio.fading.k_db: profile C has no line of sight"),
    "radio:\n  tdd: {downlink: 0.7, uplink: 0.4}": (4, "radio.tdd: downlink + uplink must be <= 1, got 1.1"),
    "radio:\n  preset: dynamic_devices\n  sharing: processor": (3, "radio.downlink: a broadcast is not shared"),
    f"radio:\n  {BLOCKS}\n  slot_s: 0.001": (5, "radio.slot_s: must be 0.0005 at 30000 Hz spacing, got 0.001"),
    f"cells: {{layout: hexagonal}}\nradio:\n  {CLAMP}\n  reuse: 2": (6, "radio.reuse: must be 1, 3, 4 or 7, got 2"),
}


@pytest.mark.parametrize(("text", "expected"), REFUSED.items(), ids=lambda value: str(value)[:40])
def test_refused_with_line_and_key(tmp_path, text, expected):
    path = tmp_path / "s.yaml"
    path.write_text(f"# a comment\nrounds: 3\n{text}\n")
    with pytest.raises(InputError) as caught:
        load(path)
    (fault,) = caught.value.faults
    line, message = expected
    assert fault.startswith(f"{path}:{line}: {message}")


@pytest.mark.process
def test_the_command_line_refuses_with_every_line_and_exit_code_2(tmp_path):
    names = []
    for number, text in enumerate(REFUSED):
        names.append(f"{number}.yaml")
        (tmp_path / names[-1]).write_text(f"# a comment\nrounds: 3\n{text}\n")
    command = [sys.executable, "-m", "edgefl", "validate", *names]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (2, "")
    lines = done.stderr.splitlines()
    assert len(lines) == len(REFUSED)
    for name, line, (place, message) in zip(names, lines, REFUSED.values(), strict=True):
        assert line.startswith(f"edgefl: {name}:{place}: {message}")


ACCEPTED = [
    "radio: {tdd: {}}",
    "radio: {tdd: DDDSU, fading: jakes}",
    "radio: {tdd: {period_ms: 2.5, downlink_slots: 3, uplink_slots: 1}, fading: {kind: tdl, los_profile: E}}",
    "radio: {carrier_hz: 28e9, subcarrier_spacing_hz: 120e3, slot_s: 0.000125, bandwidth_hz: 400e6}",
    "radio: {tdd: {downlink: 0.5, uplink: 0.5}, overhead: {downlink: 0.14, uplink: 0.08}}",
    "radio: {subcarrier_spacing_hz: 30e3}",
    "radio: {subcarrier_spacing_hz: 15e3, slot_s: 0.001, bandwidth_hz: 20e6}",
    "radio: {sharing: processor, server_power: total, allocation: min_makespan}",
    "radio: {faults: {failure_probability: 0.1, attempts: 3, max_transfer_s: 2}}",
    "radio: {fading: {kind: ricean, k_mean_db: 3, k_std_db: 0}, propagation: log_distance}",
    "radio: {rate: {kind: mcs, table: 64qam}, fading: {kind: block, block_s: 0.002}}",
    "{cells: {layout: hexagonal}, radio: {propagation: {kind: umi, out_of_range: clamp}, interference: {}, reuse: 7}}",
    "{cells: {layout: hexagonal, sites: 19}, radio: {propagation: {kind: umi, out_of_range: clamp}, reuse: 3}}",
    "{cells: {layout: hexagonal, sites: 1}}",
    "{devices: {idle_power_w: {uniform: [0, 0.1]}}, radio: {noise_figure_db: 9, spatial_consistency: true}}",
]


@pytest.mark.parametrize("text", ACCEPTED)
def test_accepted_and_dumped_whole(text):
    raw = parse(text)[0]
    scenario = load(raw)
    validator().validate(raw)
    again = parse(dump(scenario))[0]
    validator().validate(again)
    assert load(again) == scenario


def test_presets_fill_in_keys():
    """Defaults are the dynamic-devices paper's; a hexagonal layout has seven sites if nothing is said."""
    radio = load({}).radio
    assert (radio.sharing, radio.server_power, radio.shadowing_db, radio.reuse) == ("fixed", "per_device", None, 1)
    assert (radio.tdd, radio.interference, radio.faults.attempts) == (None, None, 1)
    assert load({"radio": {"tdd": {}}}).radio.tdd.downlink == 0.7
    clamped = {"propagation": {"kind": "umi_los", "out_of_range": "clamp"}}
    cells = load({"cells": {"layout": "hexagonal", "radius_m": 100.0}, "radio": clamped}).cells
    assert cells.sites == 7
    assert cells.spacing_m == pytest.approx(173.2050808)
    assert cells.coverage_m == pytest.approx(273.2050808)
    assert load({"radio": {"preset": "dynamic_devices"}}).radio.shadowing_db == 4.0
    assert load({"radio": {"preset": "dynamic_devices", "shadowing_db": 0.0}}).radio.shadowing_db == 0.0
