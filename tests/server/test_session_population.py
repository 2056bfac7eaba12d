"""Groups of sessions: the devices of a group learn exactly what they learn alone."""

import json

import numpy as np
import pytest
from radio_cases import STILL

import edgefl
from edgefl.learning.algorithms import ALGORITHMS
from edgefl.learning.datasets.digits import Digits

pytestmark = pytest.mark.oracle

SIZES = [20, 30, 10, 25, 15, 40, 20, 5]  # samples of the devices of two groups
WITHOUT_SESSIONS = {"fedasync", "fedbuff"}
VARIANTS = [
    {"kind": "mifa", "state": "client"},
    {"kind": "mifa", "wait": True},
    {"kind": "scaffold", "variant": "ssg_code"},
    {"kind": "scaffold", "variant": "dyn"},
    {"kind": "scaffold", "variant": "eve_code"},
    {"kind": "fedssg", "variant": "paper_main"},
    {"kind": "fedvra", "variant": "ssg_code"},
    {"kind": "fedavg", "availability": "selection"},
    {"kind": "feddisco", "reference": "global"},
]
EVERY = [*sorted(ALGORITHMS.members.keys() - WITHOUT_SESSIONS), *VARIANTS]


@pytest.fixture(scope="module")
def parts():
    """The samples of each device; every device has several classes."""
    rows = np.random.default_rng(3).permutation(len(Digits().load().train_y))
    ends = np.cumsum(SIZES)
    return [rows[end - size : end].tolist() for end, size in zip(ends, SIZES, strict=True)]


def learned(parts, folder, algorithm, groups=1, first_group=1, **changes):
    """A session of the devices that hold these parts; with full batches, as ids are keys of others."""
    path = folder / f"{len(parts)}.json"
    path.write_text(json.dumps({str(device): part for device, part in enumerate(parts)}))
    scenario = {
        "sessions": {"count": 1, "rounds": 4, "groups": groups, "first_group": first_group},
        "data": {"dataset": "digits", "partition": {"kind": "file", "path": str(path)}},
        "model": "logistic",
        "training": {"local_epochs": 2, "batch_size": "full", "engine": "serial", "lr": 0.05},
        "devices": {"count": len(parts)},
        "radio": {**STILL, "transfer": "fast"},
        "algorithm": algorithm,
    }
    return edgefl.run({**scenario, **changes}, device="cpu")


@pytest.mark.parametrize("algorithm", ["fedavg", "mifa", "fedvarp", "scaffold", "fedssg"], ids=str)
def test_a_group_among_others_learns_what_it_learns_alone(algorithm, parts, tmp_path):
    among_others = learned(parts, tmp_path, algorithm, groups=2)
    alone = learned(parts[:4], tmp_path, algorithm)
    assert np.abs(alone.parameters).max() > 1e-3
    assert np.array_equal(among_others.parameters, alone.parameters)
    assert among_others.rounds["train_loss"].tolist() == alone.rounds["train_loss"].tolist()


@pytest.mark.parametrize("algorithm", ["mifa", "fedar", {"kind": "scaffold", "variant": "ssg_code"}], ids=str)
def test_second_group_learns_what_it_learns_alone(algorithm, parts, tmp_path):
    among_others = learned(parts, tmp_path, algorithm, groups=2, first_group=2)
    alone = learned(parts[4:], tmp_path, algorithm)
    assert np.array_equal(among_others.parameters, alone.parameters)
    ids = sorted(set(among_others.devices["device"]))
    assert ids == [4, 5, 6, 7]


@pytest.mark.parametrize("algorithm", EVERY, ids=str)
def test_some_of_a_group_learn_what_they_learn_alone(algorithm, parts, tmp_path):
    """With half of the group in each round, so that means over participants and over all devices differ."""
    schedule = {"participants": 2, "selection": {"kind": "schedule", "rounds": [[0, 1], [2, 3], [0, 3], [1, 2]]}}
    among_others = learned(parts, tmp_path, algorithm, groups=2, server=schedule)
    alone = learned(parts[:4], tmp_path, algorithm, server=schedule)
    assert np.array_equal(among_others.parameters, alone.parameters)
