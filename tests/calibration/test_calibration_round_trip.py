"""An emulated testbed is measured, mostly unit by unit, and calibrated; rounds of all devices agree with its own."""

import math

import pytest
import yaml
from calibration_cases import NUMBERS, log_text, seconds_of, step_s

import edgefl
from edgefl.calibration.calibration import calibrate
from edgefl.calibration.models import counts_of_models
from edgefl.runs.data_division import divide
from edgefl.scenario.load import load
from edgefl.scenario.yaml_reader import parse

UNITS = 8  # of each type
TYPES = ("slow", "middle", "fast")
COUNT = UNITS * len(TYPES)
SPREAD = 0.04  # standard deviation of the logarithm of units' speeds
JITTER = 0.03
REPEATS = 2  # of each training
ROUNDS = 3  # of all devices
EPOCHS = 5
MODELS = ("cnn_mnist", "cnn_femnist", "resnet20", "fcn")  # mostly convolutions, and none
BATCH_SIZES = (8, 16)
LAWS = {
    "slow": {"convolution_flops_per_s": 1e8, "matmul_flops_per_s": 4e8, "bandwidth_bytes_per_s": 5e6, "layer_s": 0.2},
    "middle": {"convolution_flops_per_s": 4e8, "matmul_flops_per_s": 6e8, "bandwidth_bytes_per_s": 2e7, "layer_s": 0.1},
    "fast": {"convolution_flops_per_s": 2e9, "matmul_flops_per_s": 3e9, "bandwidth_bytes_per_s": 8e7, "layer_s": 0.02},
}
POWERS = {
    "slow": {"setup_j": 5, "cpu_static_w": 3, "idle_power_w": 1.5, "rx_power_w": 2},
    "middle": {"setup_j": 3, "cpu_static_w": 4, "idle_power_w": 2.5, "rx_power_w": 3},
    "fast": {"setup_j": 2, "cpu_static_w": 6, "idle_power_w": 3, "rx_power_w": 3.5},
}
RX_J_PER_MBIT = {"slow": 0.1, "middle": 0.02, "fast": 0.05}


def group(name):
    """A type of devices."""
    compute = {**LAWS[name], "jitter": JITTER, "speed": {"lognormal": [0, SPREAD]}}
    radio = {"tx_power_dbm": 15, "radio_energy": {"circuit_w": 1, "rx_j_per_mbit": RX_J_PER_MBIT[name]}}
    powers = {**POWERS[name], "capacitance": 1e-40, "setup_s": 2}
    return {"name": name, "count": UNITS, "compute": compute, **powers, **radio}


TESTBED = {
    "devices": {"count": COUNT, "groups": [group(name) for name in TYPES]},
    "radio": {
        "bandwidth_hz": 15e6,
        "rate": {"kind": "truncated_shannon", "attenuation": 1, "max_bps_hz": 1},
        "propagation": "free_space",
        "fading": "none",
        "sharing": "processor",
        "overhead": {"downlink": 0, "uplink": 0.2},
    },
}
ONE_BY_ONE = {"server": {"participants": 1, "selection": "round_robin"}, "rounds": REPEATS * COUNT}
ALL = {"server": {"participants": COUNT}, "rounds": ROUNDS}


def scenario(sections, model, batch_size, keys, seed=1):
    """A scenario as it is written in a file."""
    own = {"data": {"dataset": "digits"}, "model": model, "cells": {"radius_m": 50}, "mobility": "static"}
    return {**own, **sections, "training": {"batch_size": batch_size, "local_epochs": EPOCHS}, **keys, "seed": seed}


def rows_of(raw, phases):
    """The rows of a log about an emulated run; no column of a result tells how many samples a device has."""
    result = edgefl.run(raw, train=False)
    held = [len(part) for part in divide(load(raw)).parts]
    batch_size = raw["training"]["batch_size"]
    for row in result.devices.to_dict("records"):
        device = row["device"]
        steps = EPOCHS * math.ceil(held[device] / batch_size)
        about = {
            "setup": {"seconds": row["setup_s"], "joules": row["setup_energy_j"]},
            "download": {"joules": row["rx_energy_j"], "bytes": row["bytes_down"], "seconds": row["download_s"]},
            "train": {"joules": row["cpu_energy_j"], "batch_size": batch_size, "seconds": row["compute_s"]},
            "upload": {"joules": row["tx_energy_j"], "bytes": row["bytes_up"], "seconds": row["upload_s"]},
            "idle": {"joules": row["idle_energy_j"], "seconds": row["wait_s"]},
        }
        about["train"] |= {"steps": steps, "samples": EPOCHS * held[device]}
        who = {"device": f"{TYPES[device // UNITS]}/{device}", "network": raw["model"]}
        who["round"] = f"{batch_size}-{len(phases)}-{row['round']}"
        # The last device of a round does not wait.
        yield from ({**who, "phase": phase, **about[phase]} for phase in phases if about[phase]["seconds"])


def root_mean_square(numbers):
    return math.sqrt(sum(number**2 for number in numbers) / len(numbers))


@pytest.fixture(scope="module")
def calibrated(tmp_path_factory):
    """The sections that calibration prints."""
    folder = tmp_path_factory.mktemp("testbed")
    rows = []
    for model in MODELS:
        for batch_size in BATCH_SIZES:
            alone = scenario(TESTBED, model, batch_size, ONE_BY_ONE)
            rows += rows_of(alone, ("setup", "download", "train", "upload"))
        # All devices download at the same time, and wait for the last of them.
        rows += rows_of(scenario(TESTBED, model, 16, ALL), ("download", "idle"))
        (folder / f"{model}.yaml").write_text(yaml.safe_dump(scenario(TESTBED, model, 16, ALL)))
    (folder / "log.csv").write_text(log_text(rows))
    models = {model: str(folder / f"{model}.yaml") for model in MODELS}
    return parse(calibrate(folder / "log.csv", models=models).scenario)[0]


@pytest.mark.oracle
def test_a_calibrated_testbed_has_its_laws_and_powers(calibrated, tmp_path):
    groups = calibrated["devices"]["groups"]
    assert [(found["name"], found["count"]) for found in groups] == [(name, UNITS) for name in TYPES]
    for model in MODELS:
        (tmp_path / f"{model}.yaml").write_text(f"data: {{dataset: digits}}\nmodel: {model}\n")
    counts = counts_of_models({model: str(tmp_path / f"{model}.yaml") for model in MODELS})
    # Units and repeats move a step by this much, and the law is drawn to the ratios of the preset.
    deviation = math.hypot(SPREAD / math.sqrt(UNITS), JITTER / math.sqrt(UNITS * REPEATS))
    for found in groups:
        name = found["name"]
        laws = [seconds_of({**NUMBERS, "step_s": 0.0, **numbers}) for numbers in (found["compute"], LAWS[name])]
        steps_s = [[step_s(law, one, 16) for one in counts.values()] for law in laws]
        assert steps_s[0] == pytest.approx(steps_s[1], rel=5 * deviation)
        assert {key: found[key] for key in POWERS[name]} == pytest.approx(POWERS[name], rel=0.01)
        assert found["radio_energy"]["rx_j_per_mbit"] == pytest.approx(RX_J_PER_MBIT[name], rel=0.02)
        assert found["setup_s"] == 2
    # All types together have 21 and 24 degrees of freedom: estimates deviate by 15 % and 14 %. (All runs have the same
    # seed, and so the same units and the same jitter in rounds of the same number.)
    spreads = [found["compute"]["speed"]["lognormal"][1] for found in groups]
    assert root_mean_square(spreads) == pytest.approx(SPREAD, rel=0.45)
    assert root_mean_square([found["compute"]["jitter"] for found in groups]) == pytest.approx(JITTER, rel=0.45)


@pytest.mark.oracle
@pytest.mark.parametrize("model", ["cnn_mnist", "fcn"])
def test_emulated_rounds_of_a_calibrated_testbed_agree_with_its_own(calibrated, model):
    own = edgefl.run(scenario(TESTBED, model, 16, ALL), train=False)
    again = edgefl.run(scenario(calibrated, model, 16, ALL, seed=2), train=False)  # with other units
    means = [
        result.devices.assign(type=result.devices["device"] // UNITS).groupby("type").mean(numeric_only=True)
        for result in (own, again)
    ]
    new_units = SPREAD / math.sqrt(UNITS)
    rounds = JITTER * math.sqrt(2 / (UNITS * ROUNDS))
    deviation = math.hypot(new_units, rounds)  # of a type's mean time, in the ratio of two runs
    for column, tolerance in {
        "setup_s": 1e-6,
        "setup_energy_j": 1e-5,
        "download_s": 0.01,
        "rx_energy_j": 0.01,
        "compute_s": 3 * deviation,
        "cpu_energy_j": 3 * deviation,
    }.items():
        assert list(means[1][column]) == pytest.approx(list(means[0][column]), rel=tolerance), column
    # A round ends with the slowest of eight slow units, whose speed varies by about 0.6 of the spread.
    durations = [result.rounds["duration_s"].mean() for result in (own, again)]
    assert durations[1] == pytest.approx(durations[0], rel=3 * SPREAD)
