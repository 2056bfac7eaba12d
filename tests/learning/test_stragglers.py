"""Stragglers do a part of their work: who and how much, what it costs, what is learned, and what the server drops."""

import numpy as np
import pandas as pd
import pytest
import torch
from learner_cases import learners, parts_in_order, random_data, train_round
from radio_cases import STILL

import edgefl
from edgefl.core.streams import Streams
from edgefl.learning.algorithms.fednova import FedNova
from edgefl.learning.algorithms.fedprox import FedProx
from edgefl.learning.learner.plans.plan import SERIAL, Plan
from edgefl.learning.training_section import Training
from edgefl.learning.workload import Workload

SIZES = [7, 20, 12, 32, 1, 25]
SEED = 3
BASE = {
    "seed": SEED,
    "rounds": 2,
    "data": {"dataset": "digits", "partition": "iid"},
    "model": "mlp",
    "algorithm": "fedprox",
    "devices": {"count": 12},
    "server": {"participants": 8},
    "radio": {**STILL, "transfer": "fast"},
}


def run(train=True, **changes):  # noqa: FBT002
    training = {"local_epochs": 4, "batch_size": 30, "engine": "serial", **changes.pop("training", {})}
    return edgefl.run({**BASE, "training": training, **changes}, train=train, device="cpu")


def parts_done(result, training):
    """The part of its work that each row of devices.csv does; whole epochs, or whole batches."""
    work = Workload(Training.model_validate(training), np.full(12, 120), Streams(SEED))
    rows = result.devices
    full = Workload(work.training.model_copy(update={"stragglers": None}), work.sizes, Streams(0))
    ids = rows["device"].to_numpy()
    return work.steps(ids, rows["round"].to_numpy() - 1) / full.steps(ids, 0)


@pytest.mark.parametrize(
    ("training", "units", "each"),
    [
        ({"local_epochs": 5, "batch_size": 20}, 5, 3),  # epochs of 3 batches
        ({"local_steps": 4, "batch_size": 20}, 4, 1),
        ({"local_steps": 9, "wrap": False, "batch_size": 20}, 3, 1),
    ],
)
def test_steps_are_uniform(training, units, each):
    """20,000 stragglers in 40,000: chi-square at 0.1 % finds one number off by a tenth with more than 99 %."""
    section = Training.model_validate({**training, "stragglers": {"share": 0.5}})
    work = Workload(section, np.full(40_000, 60), Streams(11))
    ids = np.arange(40_000)
    steps = work.steps(ids, 7)
    is_straggler = work._draw(ids, 7)[0]
    assert abs(is_straggler.sum() - 20_000) < 3.3 * 100
    assert (steps[~is_straggler] == units * each).all()
    counts = np.bincount((steps[is_straggler] / each).astype(int), minlength=units + 1)
    assert counts[0] == 0
    assert len(counts) == units + 1
    expected = is_straggler.sum() / units
    assert ((counts[1:] - expected) ** 2 / expected).sum() < {5: 18.5, 4: 16.3, 3: 13.9}[units]


def test_a_draw_is_the_devices_and_the_rounds():
    section = Training.model_validate({"local_epochs": 50, "stragglers": {"share": 1}})
    work = Workload(section, np.full(6, 50), Streams(1))
    together = work.steps(np.arange(6), np.array([0, 0, 1, 1, 2, 2]))
    alone = [work.steps(np.array([device]), device // 2)[0] for device in range(6)]
    assert together.tolist() == alone
    assert len(set(work.steps(np.zeros(9, dtype=int), np.arange(9)))) > 4


@pytest.mark.oracle
@pytest.mark.parametrize("training", [{"stragglers": {"share": 0}}, {"local_epochs": 1, "stragglers": {"share": 1}}])
def test_stragglers_with_nothing_to_leave_out_change_nothing(training):
    with_them = run(training=training)
    without = run(training={key: value for key, value in training.items() if key != "stragglers"})
    assert np.array_equal(with_them.parameters, without.parameters)
    for a, b in ((with_them.rounds, without.rounds), (with_them.devices, without.devices)):
        pd.testing.assert_frame_equal(a, b, check_exact=True)


@pytest.mark.parametrize("work", [{"local_epochs": 4, "batch_size": 30}, {"local_steps": 8, "batch_size": "full"}])
def test_computing_costs_what_is_done(work):
    """Samples and steps are then the same part of all of them, and so are time and energy."""
    stragglers = {**work, "stragglers": {"share": 0.6}}
    full = run(train=False, training={"local_epochs": None, **work})
    partial = run(train=False, training={"local_epochs": None, **stragglers})
    assert full.devices["device"].tolist() == partial.devices["device"].tolist()
    done = parts_done(partial, stragglers)
    assert 0.2 < (done < 1).mean() < 0.8  # of 16 rows
    for column in ("compute_s", "cpu_energy_j"):
        assert partial.devices[column].to_numpy() == pytest.approx(full.devices[column].to_numpy() * done, rel=1e-12)


def test_split_learning_sends_what_is_done():
    """A front of 4,160 parameters up, and 64 floats and a label for each sample of each step."""
    training = {"local_steps": 4, "batch_size": 20, "stragglers": {"share": 1}}
    policy = {"policy": {"kind": "split", "cut": "fc1"}, "participants": 8}
    result = run(train=False, server=policy, algorithm="fedavg", training={"local_epochs": None, **training})
    steps = 4 * parts_done(result, training)
    assert set(steps) == {1, 2, 3, 4}
    assert result.devices["bytes_up"].tolist() == (4 * 4_160 + (4 * 64 + 1) * 20 * steps).tolist()


def learned(plan, algorithm=None, **training):
    """Updates of six unequal devices in round 4."""
    data = random_data(sum(SIZES))
    parts = parts_in_order(SIZES)
    with learners() as make:
        of = make(algorithm=algorithm or FedProx(mu=0.1), data=data, parts=parts, plan=plan, processes=1, **training)
        updates, _ = train_round(of, range(len(SIZES)), 4)
        return updates


@pytest.mark.oracle
def test_a_straggler_learns_what_fewer_epochs_teach():
    """Also what the server is told of steps, in FedNova's effective ones."""
    alone = {count: learned(SERIAL, FedNova(), local_epochs=count) for count in range(1, 5)}
    for plan in (SERIAL, Plan("batched", "vmap", 8), Plan("batched", "layers", 2)):
        stragglers = learned(plan, FedNova(), local_epochs=4, stragglers={"share": 0.8})
        epochs = (stragglers.steps / -(-np.array(SIZES) // 16)).tolist()
        assert len(set(epochs)) > 2
        for device, count in enumerate(epochs):
            for name, vector in alone[int(count)].vectors.items():
                assert torch.allclose(stragglers.vectors[name][device], vector[device], rtol=1e-9, atol=1e-12)


@pytest.mark.oracle
def test_dropped_stragglers_still_cost_time_and_energy():
    """Kept or dropped, stragglers take the same time and energy; what is learned is then learned without them."""
    stragglers = {"local_epochs": 4, "batch_size": 30, "stragglers": {"share": 0.5}}
    kept = run(rounds=1, training=stragglers)
    dropped = run(rounds=1, training={**stragglers, "stragglers": {"share": 0.5, "keep": False}})
    costs = ["time_s", "energy_j", "bytes_up", "bytes_down", "selected"]
    pd.testing.assert_frame_equal(kept.rounds[costs], dropped.rounds[costs], check_exact=True)
    late = dropped.devices["status"].to_numpy() == "late"
    assert late[parts_done(dropped, stragglers) < 1].all()
    assert 0 < late.sum() == dropped.rounds["late"][0] < 8
    spent = dropped.devices[["rx_energy_j", "cpu_energy_j", "tx_energy_j", "idle_energy_j"]].to_numpy().sum(axis=1)
    assert dropped.rounds["wasted_j"][0] == pytest.approx(spent[late].sum())
    rest = [dropped.devices["device"].to_numpy()[~late].tolist()]
    others = run(rounds=1, server={"selection": {"kind": "schedule", "rounds": rest}})
    assert np.array_equal(dropped.parameters, others.parameters)
    assert not np.array_equal(dropped.parameters, kept.parameters)
