"""Servers at the base stations and a cloud: limits in which it is FedAvg, quadratics by hand, backhaul, refusals."""

import json

import numpy as np
import pytest
import torch
from radio_cases import STILL
from server_cases import (
    PARAMETERS,
    SEVEN_CELLS,
    SEVEN_CELLS_RADIO,
    check_books,
    hierarchical,
    locally,
    run_in_seven_cells,
)

import edgefl
from edgefl.core.errors import InputError
from edgefl.learning.algorithms import ALGORITHMS, Updates
from edgefl.learning.algorithms.properties import is_divisible
from edgefl.learning.edge_models import EdgeModels

# Limits


@pytest.mark.oracle
@pytest.mark.parametrize(("every", "algorithm"), [(1, "fedavg"), (3, "moon")])
def test_one_cell_is_synchronous(every, algorithm):
    """Bit by bit, however often a cloud averages the only model with itself."""
    changes = {"rounds": 3, "cells": {}, "radio": {"bandwidth_hz": 20e6}, "algorithm": algorithm}
    one = run_in_seven_cells("synchronous", **changes)
    other = run_in_seven_cells(hierarchical(cloud_every=every), **changes)
    assert one.rounds.equals(other.rounds.drop(columns="backhaul_bytes"))
    assert one.devices.equals(other.devices)
    assert np.array_equal(one.parameters, other.parameters)


@pytest.mark.oracle
def test_cloud_in_every_round_is_fedavg_over_all_cells():
    """A mean by samples of means by samples; cells and devices as under the synchronous policy."""
    changes = {"rounds": 3, "data": {"dataset": "digits", "partition": {"kind": "dirichlet", "alpha": 0.3}}}
    one = run_in_seven_cells("synchronous", **changes)
    other = run_in_seven_cells(hierarchical(cloud_every=1), **changes)
    assert one.devices.equals(other.devices)
    assert one.devices["cell"].nunique() > 3
    assert np.abs(one.parameters - other.parameters).max() < 1e-6
    assert one.rounds["test_loss"].to_numpy() == pytest.approx(other.rounds["test_loss"], rel=1e-5)


# Quadratic functions by hand


@pytest.mark.oracle
@pytest.mark.parametrize("shadowing_db", [0.0, 8.0], ids=["at home", "changing cells"])
@pytest.mark.parametrize("every", [1, 2, 3, 10**9])
def test_quadratics_by_hand(every, shadowing_db, tmp_path):
    """Cells walk on their functions; a device that moves takes the new cell's model; the cloud weighs by samples.

    Device i holds 1 + i % 3 samples, all of them its function. Fewer take part than there are, so that cells have
    none at times.
    """
    rng = np.random.default_rng(4)
    holds = 1 + np.arange(18) % 3
    functions = np.stack([rng.uniform(0.2, 1.0, 18), rng.uniform(-2, 2, 18)], axis=-1)
    rows = np.concatenate([[[*f, 0.0]] * n for f, n in zip(functions, holds, strict=True)])
    parts = np.split(np.arange(len(rows)), np.cumsum(holds)[:-1])
    (tmp_path / "parts.json").write_text(json.dumps({str(i): part.tolist() for i, part in enumerate(parts)}))
    partition = {"kind": "file", "path": str(tmp_path / "parts.json")}
    result = edgefl.run({
        "rounds": 7,
        "data": {"dataset": "quadratic", "coefficients": rows.tolist(), "partition": partition},
        "devices": {"count": 18},
        "model": {"init": {"kind": "value", "value": 3.0}},
        "training": {"local_steps": 2, "batch_size": "full", "lr": 0.1, "engine": "serial"},
        "server": {"policy": hierarchical(cloud_every=every), "participants": 6},
        "cells": SEVEN_CELLS,
        "radio": {**STILL, **SEVEN_CELLS_RADIO, "shadowing_db": shadowing_db},
    }, device="cpu")  # fmt: skip
    models = np.full(7, 3.0)
    counts = np.zeros(7)
    empty = 0
    for number, members in result.devices.groupby("round"):
        for cell, devices in members.groupby("cell")["device"]:
            moved = [locally(models[cell], *functions[i], steps=2, lr=0.1) for i in devices]
            models[cell] = np.average(moved, weights=holds[devices])
            counts[cell] += holds[devices].sum()
        mean = np.average(models, weights=counts)
        assert result.rounds["parameter"][number - 1] == pytest.approx(mean, rel=1e-12)
        empty += 7 - members["cell"].nunique()
        if number % every == 0:
            models = np.full(7, mean)
            counts = np.zeros(7)
    assert empty > 0
    assert (result.devices.groupby("device")["cell"].nunique().max() > 1) == (shadowing_db > 0)


def test_two_cells_by_hand():
    """Cell 0 hears moves 1 and 4 from 1 and 2 samples, cell 2 a move of -2 from 3 samples; cell 1 hears none."""
    fedavg = ALGORITHMS.load("fedavg")()
    at = EdgeModels.alike(torch.tensor([10.0]), torch.tensor([5.0]), 3)
    updates = Updates(
        {"delta": torch.tensor([[1.0], [-2.0], [4.0]])},
        np.array([3, 5, 8]),
        np.array([1, 3, 2]),
        9,
        statistics=torch.tensor([[0.0], [9.0], [3.0]]),
    )
    after = at.learn(updates, np.array([0, 2, 0]), fedavg.aggregate)
    assert after.models.flatten().tolist() == [13.0, 10.0, 8.0]
    assert after.statistics.flatten().tolist() == [2.0, 5.0, 9.0]
    assert after.samples.tolist() == [3, 0, 3]
    assert [float(part) for part in after.mean()] == [10.5, 5.5]
    merged = after.merged()
    assert merged.models.flatten().tolist() == [10.5] * 3
    assert merged.samples.tolist() == [0, 0, 0]
    assert [float(part) for part in merged.mean()] == [10.5, 5.5]
    assert at.models.flatten().tolist() == [10.0] * 3


# Time and bytes


@pytest.mark.parametrize(
    ("keys", "extra_s"),
    [
        ({}, 0.0),
        ({"backhaul_delay_s": 0.25}, 0.5),
        ({"backhaul_bps": 1e6}, 2 * 32 * PARAMETERS / 1e6),
        ({"backhaul_bps": 1e6, "backhaul_delay_s": 0.25}, 0.5 + 2 * 32 * PARAMETERS / 1e6),
    ],
)
def test_a_cloud_round_is_longer_by_the_way_to_the_cloud_and_back(keys, extra_s):
    """A round lasts as long as the slowest of all cells; base stations reach the cloud side by side."""
    one = run_in_seven_cells("synchronous", train=False, rounds=5)
    other = run_in_seven_cells(hierarchical(cloud_every=2, **keys), train=False, rounds=5)
    cloud = np.array([0, 1, 0, 1, 0])
    assert (other.rounds["duration_s"] - one.rounds["duration_s"]).to_numpy() == pytest.approx(cloud * extra_s)
    assert other.rounds["backhaul_bytes"].tolist() == (cloud * 2 * 7 * 4 * PARAMETERS).tolist()
    assert (other.devices["wait_s"] - one.devices["wait_s"]).to_numpy() == pytest.approx(
        (cloud * extra_s)[one.devices["round"] - 1], abs=1e-9
    )
    for column in ("bytes_down", "bytes_up", "selected", "received"):
        assert other.rounds[column].equals(one.rounds[column])
    check_books(other.rounds, other.devices, other.summary)


def test_round_without_participants_changes_no_model():
    radio = {**SEVEN_CELLS_RADIO, "faults": {"max_transfer_s": 1e-4}}
    result = run_in_seven_cells(hierarchical(cloud_every=2), radio=radio)
    assert result.rounds["received"].sum() == 0
    assert result.rounds["test_loss"].nunique() == 1
    assert np.isfinite(result.parameters).all()


# What is refused


@pytest.mark.parametrize("policy", ["hierarchical", "sequential"])
def test_refusal_names_algorithms_that_fit(policy):
    """With their defaults: these, and no others."""
    allowed = []
    lines = set()
    for name in ALGORITHMS.members:
        try:
            edgefl.load({"server": {"policy": policy}, "algorithm": name})
            allowed.append(name)
        except InputError as error:
            lines.add(str(error))
    (line,) = lines
    assert f"set it to {', '.join(allowed[:-1])} or {allowed[-1]}, without availability" in line


def test_algorithms_that_keep_only_the_model_fit():
    """All algorithms are looked at with their defaults."""
    able = {name for name in ALGORITHMS.members if is_divisible(ALGORITHMS.load(name)())}
    assert able >= {"fedavg", "fedprox", "moon", "qfedavg", "fedasync", "fedbuff"}
    assert not able & {"scaffold", "feddyn", "feddc", "fedadam", "fedavgm", "fedacg", "mifa", "fedvarp", "fedar"}
