"""A testbed that edgefl emulates itself is calibrated by its log, and emulated again; and counts come from models."""

import csv

import numpy as np
import pytest
from calibration_cases import counts_text, networks

import edgefl
from edgefl.calibration.calibration import calibrate
from edgefl.core.errors import InputError
from edgefl.scenario import load
from edgefl.scenario.yaml_reader import parse

STEPS = 12
LAWS = {  # of three types of boards, of which the last has two units
    "slow": {"convolution_flops_per_s": 2e9, "matmul_flops_per_s": 6e9, "group_s": 1e-4, "step_s": 0.2},
    "fast": {"convolution_flops_per_s": 2e10, "bandwidth_bytes_per_s": 1e9, "step_s": 0.05},
    "two": {"convolution_flops_per_s": 8e9, "matmul_flops_per_s": 3e10, "grouped_flops_per_s": 5e8},
}
RADIO = {
    "bandwidth_hz": 15e6,
    "rate": {"kind": "truncated_shannon", "attenuation": 1, "max_bps_hz": 1},
    "propagation": "free_space",
    "fading": "none",
    "sharing": "processor",
}


def boards(jitter):
    """The sections `devices` and `radio` of the testbed."""
    groups = [
        {
            "name": name,
            "count": 2 if name == "two" else 1,
            "compute": law | {"jitter": jitter},
            "cpu_static_w": 3.0 + number,
            "setup_s": 2.0,  # so that all download together
            "setup_j": 5.0 * number,
        }
        for number, (name, law) in enumerate(LAWS.items(), 1)
    ]
    return {"devices": {"count": 4, "groups": groups}, "radio": RADIO}


def emulated(sections, counts, rounds, here):
    """The participations of rounds in a world, without learning."""
    forward = counts.forward._asdict()
    return edgefl.run(
        load(
            {
                "rounds": rounds,
                "data": {"dataset": "digits", "partition": "iid"},
                "training": {"batch_size": 16, "local_steps": STEPS},
                "server": {"participants": 4},
                "cells": {"radius_m": 20, "min_distance_m": 2},
                "mobility": "static",
                "model": {"kind": "logistic", "cost": {"parameters": 500_000, "forward": forward}},
                **sections,
            },
            here=here / "scenario.yaml",
        ),
        train=False,
    ).devices


def logged(path, found):
    """Write the log that boards would have written of emulated rounds."""
    names = ["slow", "fast", "two/a", "two/b"]
    with path.open("w", newline="") as file:
        columns = "device,network,phase,seconds,bytes,joules,round,clients,batch_size,steps,samples"
        log = csv.DictWriter(file, columns.split(","))
        log.writeheader()
        for network, devices in found.items():
            for row in devices.to_dict("records"):
                common = {"device": names[row["device"]], "round": f"{network}-{row['round']}"}
                trained = {"network": network, "batch_size": 16, "steps": STEPS, "samples": 16 * STEPS}
                log.writerow(common | {"phase": "setup", "seconds": row["setup_s"], "joules": row["setup_energy_j"]})
                download = {"phase": "download", "seconds": row["download_s"], "bytes": row["bytes_down"]}
                log.writerow(common | download | {"clients": 4})
                training = {"phase": "train", "seconds": row["compute_s"], "joules": row["cpu_energy_j"]}
                log.writerow(common | trained | training)
                upload = {"phase": "upload", "seconds": row["upload_s"], "bytes": row["bytes_up"]}
                log.writerow(common | upload)


@pytest.mark.parametrize(("jitter", "rounds", "near"), [(0.0, 1, 0.002), (0.03, 6, 0.04)])
def test_a_calibrated_testbed_behaves_as_the_one_that_was_logged(tmp_path, jitter, rounds, near):
    """Means over networks the calibration has not seen; with jitter one of a round's mean has 0.03 / 6^0.5 = 1.2 %."""
    known = networks(9)
    unseen = networks(3, seed=7)
    logged(tmp_path / "log.csv", {name: emulated(boards(jitter), one, rounds, tmp_path) for name, one in known.items()})
    (tmp_path / "counts.csv").write_text(counts_text(known))
    printed = calibrate(tmp_path / "log.csv", tmp_path / "counts.csv", "0").scenario
    sections = parse(printed)[0]
    for one in unseen.values():
        truth = emulated(boards(jitter), one, rounds, tmp_path).groupby("device").mean(numeric_only=True)
        again = emulated(sections, one, rounds, tmp_path).groupby("device").mean(numeric_only=True)
        for column in ("setup_s", "download_s", "compute_s", "setup_energy_j", "cpu_energy_j"):
            np.testing.assert_allclose(again[column], truth[column], rtol=near)


def scenario_file(tmp_path, text="data: {dataset: digits}\nmodel: mlp\n"):
    path = tmp_path / "small.yaml"
    path.write_text(text)
    return path


LOG = "device,network,phase,seconds,batch_size,steps\npi,mine,train,1.0,16,10\npi,mine,train,2.2,40,10\n"


def test_a_model_is_counted_on_its_data(tmp_path):
    (tmp_path / "log.csv").write_text(LOG)
    found = calibrate(tmp_path / "log.csv", models={"mine": str(scenario_file(tmp_path))}, hold_out="0")
    law = found.fitted.types["pi"].law
    # By hand: 64-64-10 are 4,736 multiply-accumulates; a sample takes 0.12 s / 24, a step 0.02 s besides.
    assert law.coefficients["speed"] == pytest.approx(0.005 / (6 * 4736), rel=1e-6)
    assert law.coefficients["step_s"] == pytest.approx(0.02, rel=1e-6)


@pytest.mark.parametrize(
    ("models", "text"),
    [
        ({"other": "small.yaml"}, 'has no network "other"'),
        ({}, "has no counts: add --model mine=SCENARIO.yaml"),
    ],
)
def test_networks_that_are_missing_are_named(tmp_path, models, text):
    (tmp_path / "log.csv").write_text(LOG)
    (tmp_path / "counts.csv").write_text(counts_text(networks(1)))
    with pytest.raises(InputError, match=text):
        calibrate(tmp_path / "log.csv", tmp_path / "counts.csv", models=models)


def test_a_wrong_scenario_is_refused_with_its_line(tmp_path):
    (tmp_path / "log.csv").write_text(LOG)
    path = scenario_file(tmp_path, "data: {dataset: digits}\nmodel: nothing\n")
    with pytest.raises(InputError, match=r"small\.yaml:2: model"):
        calibrate(tmp_path / "log.csv", models={"mine": str(path)})
