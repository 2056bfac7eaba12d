"""Measures of sessions besides accuracy: gradient devices, gradient norms, storage; MOON's first models."""

from resource import RUSAGE_SELF, getrusage

import numpy as np
import pytest
import torch
from radio_cases import STILL
from session_cases import CURVES, images, scalar

import edgefl
from edgefl.core.streams import Streams
from edgefl.learning.datasets.digits import Digits
from edgefl.learning.learner.networks.initial import build_module
from edgefl.runs.data_division import divide
from edgefl.scenario import load

LOGISTIC_BYTES = 2600


# A_grad


def test_a_sample_of_the_session_s_devices_finds_its_gradient():
    """The same devices in all extra rounds of a session, other ones in the next (algorithm 1, line 17)."""
    strategy = {"kind": "proposed", "gradient_rounds": 2, "gradient_devices": 5}
    sessions = {"count": 6, "rounds": 2, "groups": 2, "initialisation": strategy}
    result = images({"sessions": sessions}, train=False, devices={"count": 24})
    rounds = result.rounds
    assert rounds["selected"].tolist() == np.where(rounds["round"] < 1, 5, 12).tolist()
    extra = result.devices[result.devices["round"] < 1]
    sampled = {}
    for (session, _), rows in extra.groupby(["session", "round"]):
        ids = tuple(sorted(rows["device"]))
        assert sampled.setdefault(session, ids) == ids
        assert set(ids) <= set(range(12 * ((session - 1) % 2), 12 * ((session - 1) % 2) + 12))
    assert len(set(sampled.values())) == len(sampled)


@pytest.mark.oracle
def test_a_sample_as_large_as_the_group_is_the_group():
    def trained(**keys):
        strategy = {"kind": "proposed", **keys}
        return scalar({"count": 3, "rounds": 2, "initialisation": strategy})

    assert trained(gradient_devices=99).rounds.equals(trained().rounds)
    assert not trained(gradient_devices=1).rounds.equals(trained().rounds)


# The gradient's norm


@pytest.mark.parametrize("groups", [1, 2])
def test_the_gradient_is_that_of_the_session_s_objective(groups):
    """(2 a x + b)^2 with the means a and b over K^(s), at the model that the round begins with (eq. 9)."""
    curves = [*CURVES, [1.5, -1.0, 0.0]]
    sessions = {"count": 2, "rounds": 3, "groups": groups, "initialisation": {"kind": "proposed", "gradient_rounds": 1}}
    rounds = scalar(sessions, curves, report={"gradient_norm": True}).rounds
    norms = rounds["squared_gradient_norm"]
    assert norms.isna().tolist() == (rounds["round"] < 1).tolist()
    ordinary = rounds[rounds["round"] >= 1]
    starts = [1.0, *ordinary["parameter"].tolist()[:-1]]  # the second session goes on from the first one's model
    for session, start, norm in zip(ordinary["session"], starts, ordinary["squared_gradient_norm"], strict=True):
        members = curves if groups == 1 else curves[2 * (session - 1) : 2 * session]
        a, b, _ = np.mean(members, axis=0)
        assert norm == pytest.approx((2 * a * start + b) ** 2, rel=1e-6)


def test_the_gradient_of_images_is_that_of_all_samples():
    """At zero weights it is the mean of (1/10 - label) x, in one piece or in several."""
    model = {"kind": "logistic", "init": {"kind": "zeros"}}
    result = images(
        {"rounds": 1}, data={"dataset": "digits", "partition": "iid"}, model=model, report={"gradient_norm": True}
    )
    digits = Digits().load()
    rows = np.concatenate(divide(load(result.scenario)).parts)
    x = (digits.train_x[rows].reshape(len(rows), -1).astype(np.float64) - digits.mean) / digits.std
    errors = 0.1 - np.eye(10)[digits.train_y[rows]]
    expected = ((errors.T @ x / len(rows)) ** 2).sum() + (errors.mean(axis=0) ** 2).sum()
    assert result.rounds["squared_gradient_norm"].tolist() == pytest.approx([expected], rel=1e-4)


# Storage


@pytest.mark.parametrize(
    ("algorithm", "strategy", "server", "device"),
    [
        ("fedavg", {"kind": "previous"}, 1, 1),
        ("fedavg", {"kind": "average"}, 1 + 3, 1),
        ("scaffold", {"kind": "proposed"}, 2 + 1 + 2 * 2, 2),  # the pilot, and two of each later session
        ("fedavg", {"kind": "continuous"}, 1 + 1, 2),  # the teacher on both sides
        ("fedvarp", {"kind": "previous"}, 1 + 4, 1),  # a move of each device of the group
        ("feddc", {"kind": "previous", "keep_state": True}, 3, 3),
    ],
    ids=str,
)
def test_summary_has_the_storage_of_server_and_devices(algorithm, strategy, server, device):
    """In models: the algorithm's vectors, and what the strategy needs for later sessions (section V)."""
    keep_state = strategy.pop("keep_state", False)
    sessions = {"count": 4, "rounds": 1, "keep_state": keep_state, "initialisation": strategy}
    summary = images({"sessions": sessions}, train=False, algorithm=algorithm).summary
    assert summary["storage"] == {"server_bytes": server * LOGISTIC_BYTES, "device_bytes": device * LOGISTIC_BYTES}


def test_flags_are_counted_once():
    sessions = {"count": 2, "rounds": 1}
    storage = images({"sessions": sessions}, train=False, algorithm="mifa").summary["storage"]
    assert storage["server_bytes"] == (1 + 4) * LOGISTIC_BYTES + 4 * 4


def test_manifest_has_time_and_memory_of_the_run(tmp_path):
    edgefl.run({"rounds": 1, "devices": {"count": 4}}, train=False, out=tmp_path / "run")
    manifest = edgefl.read(tmp_path / "run").manifest
    assert manifest["resources"]["cpu_s"] > 0
    assert 2**20 < manifest["resources"]["peak_memory_bytes"] <= 1024 * getrusage(RUSAGE_SELF).ru_maxrss


# MOON's first previous model


def test_moon_s_first_contrast_may_be_a_random_network_of_the_device():
    """mu log(1 + exp((cos(z, z_previous) - 1) / T)): the model in training is still the received one."""

    def loss(algorithm):
        scenario = {
            "rounds": 1,
            "data": {"dataset": "digits", "partition": "iid"},
            "model": "logistic",
            "training": {"local_steps": 1, "batch_size": "full", "engine": "serial"},
            "devices": {"count": 2},
            "radio": {**STILL, "transfer": "fast"},
            "server": {"participants": 1, "selection": {"kind": "schedule", "rounds": [[1]]}},
            "algorithm": algorithm,
        }
        result = edgefl.run(scenario, device="cpu")
        return result, result.rounds["train_loss"].iloc[0]

    moon = {"kind": "moon", "mu": 2.0, "temperature": 0.5, "first_previous": "random"}
    _, plain = loss("fedavg")
    result, contrasted = loss(moon)
    scenario = load(result.scenario)
    divided = divide(scenario)
    data = divided.data
    rows = divided.parts[1]
    x = torch.from_numpy((data.train_x[rows].astype(np.float32) - data.mean) / data.std).float()
    streams = Streams(scenario.seed)
    with torch.no_grad():
        received = build_module(scenario.model, data, streams)(x)
        own = build_module(scenario.model, data, streams, device=1)(x)
    assert not torch.allclose(received, own)
    apart = torch.nn.functional.cosine_similarity(received, own, dim=-1)
    more = 2.0 * torch.nn.functional.softplus((apart - 1) / 0.5).mean()
    assert contrasted - plain == pytest.approx(float(more), rel=1e-4)


@pytest.mark.oracle
def test_the_random_network_is_the_same_in_every_run():
    sessions = {"count": 1, "rounds": 2, "groups": 1}
    changes = {"data": {"dataset": "digits", "partition": "iid"}, "devices": {"count": 4}}

    def rounds(first_previous):
        algorithm = {"kind": "moon", "mu": 1.0, "first_previous": first_previous}
        return images({"sessions": sessions}, algorithm=algorithm, **changes).rounds["train_loss"].tolist()

    assert rounds("random") != rounds("received")
    assert rounds("random") == rounds("random")
