"""Weights of classes and of samples: a mini-batch counts by PyTorch's weighted mean, in every engine."""

import copy

import numpy as np
import pytest
import torch
from torch import nn
from torch.nn.functional import cross_entropy

import edgefl
from edgefl.core.errors import InputError

RNG = np.random.default_rng(7)
N = 50
X = RNG.normal(size=(N + 10, 4)).astype(np.float32)
Y = np.append(RNG.integers(0, 3, N), np.arange(10) % 3)
OWNER = np.repeat([0, 1], [15, 35])
SAMPLES = RNG.uniform(0, 0.1, N)  # whose sum is below 1 in small mini-batches
LR = 0.3
STEPS = 3
ROUNDS = 2


def edgefl_run(engine="serial", loss="cross_entropy", given=None, **more):
    dataset = edgefl.arrays(X[:N], Y[:N], X[N:], Y[N:], owner=OWNER, weight=given)
    training = {"loss": loss, "lr": LR, "batch_size": "full", "local_steps": STEPS, "engine": engine}
    scenario = {
        "rounds": ROUNDS,
        "data": {"dataset": dataset, "partition": "natural", **more},
        "model": {"kind": "logistic", "init": {"kind": "zeros"}},
        "devices": {"count": 2},
        "training": training,
    }
    return edgefl.run(scenario, device="cpu")


def plain_torch(losses_of):
    """Return FedAvg's parameters; `losses_of` gives the loss of a device's outputs for its samples `rows`."""
    model = nn.Linear(4, 3)
    for parameter in model.parameters():
        nn.init.zeros_(parameter)
    for _ in range(ROUNDS):
        mean = 0.0
        for device in (0, 1):
            own = copy.deepcopy(model)
            optimizer = torch.optim.SGD(own.parameters(), lr=LR)
            rows = np.flatnonzero(device == OWNER)
            for _ in range(STEPS):
                optimizer.zero_grad()
                losses_of(own(torch.from_numpy(X[rows])), rows).backward()
                optimizer.step()
            mean += len(rows) / N * nn.utils.parameters_to_vector(own.parameters()).detach()
        nn.utils.vector_to_parameters(mean, model.parameters())
    return mean.numpy(), model


def weighted_mean(outputs, rows, weight):
    losses = cross_entropy(outputs, torch.from_numpy(Y[rows]), reduction="none")
    counts = torch.from_numpy(weight[rows]).float()
    return (losses * counts).sum() / counts.sum()


CLASS_WEIGHTS = [0.2, 1.0, 3.0]
BALANCED = N / (3 * np.bincount(Y[:N]))
ENGINES = ["serial", "batched", "vmap"]


@pytest.mark.oracle
@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(("key", "weights"), [(CLASS_WEIGHTS, CLASS_WEIGHTS), ("balanced", BALANCED)], ids=str)
def test_class_weights_are_those_of_torchs_cross_entropy(key, weights, engine):
    found = edgefl_run(engine, {"kind": "cross_entropy", "class_weights": key})
    torchs = nn.CrossEntropyLoss(weight=torch.tensor(weights, dtype=torch.float32))
    expected, model = plain_torch(lambda outputs, rows: torchs(outputs, torch.from_numpy(Y[rows])))
    assert found.parameters == pytest.approx(expected, abs=1e-6)
    tested = cross_entropy(model(torch.from_numpy(X[N:])), torch.from_numpy(Y[N:])).item()
    assert found.rounds["test_loss"].iloc[-1] == pytest.approx(tested, rel=1e-5)  # tests weigh no classes


@pytest.mark.oracle
@pytest.mark.parametrize("engine", ENGINES)
def test_weights_of_samples_make_a_weighted_mean(engine):
    expected, _ = plain_torch(lambda outputs, rows: weighted_mean(outputs, rows, SAMPLES))
    assert edgefl_run(engine, given=SAMPLES).parameters == pytest.approx(expected, abs=1e-6)
    both = SAMPLES * np.array(CLASS_WEIGHTS)[Y[:N]]
    loss = {"kind": "cross_entropy", "class_weights": CLASS_WEIGHTS}
    assert (edgefl_run(engine, loss, SAMPLES).parameters == edgefl_run(engine, given=both).parameters).all()


@pytest.mark.oracle
def test_samples_keep_their_weight_when_their_concept_changes():
    drift = {"kind": "labels", "swap": [[0, 1]], "at_round": [2]}
    alike = edgefl_run(given=np.full(N, 0.3), drift=drift)
    assert alike.parameters == pytest.approx(edgefl_run(drift=drift).parameters, abs=1e-6)


WRONG = {
    "too few": (np.ones(N - 1), rf"for each training sample, \[{N}\], .*, got float64 \[{N - 1}\]"),
    "negative": (np.full(N, -1), "number from 0"),
    "all 0": (np.zeros(N), "not all of them 0"),
    "NaN": (np.full(N, np.nan), "number from 0"),
}


@pytest.mark.parametrize(("weight", "message"), WRONG.values(), ids=WRONG)
def test_wrong_weights_of_samples_are_refused_in_one_line(weight, message):
    with pytest.raises(InputError, match=f"^edgefl.arrays: weight must be .*{message}"):
        edgefl.arrays(X[:N], Y[:N], X[N:], Y[N:], weight=weight)


def test_class_weights_need_one_number_and_one_class():
    with pytest.raises(InputError, match=r"training.loss: class_weights must be 3 numbers, one for each class, got 2"):
        edgefl_run(loss={"kind": "cross_entropy", "class_weights": [1, 2]})
    tokens = edgefl.arrays(np.ones((9, 4)), np.ones((9, 4), int), np.ones((2, 4)), np.ones((2, 4), int), classes=3)
    scenario = {"data": {"dataset": tokens}, "model": "fcn", "devices": {"count": 2}}
    training = {"loss": {"kind": "cross_entropy", "class_weights": "balanced"}}
    with pytest.raises(InputError, match=r"training.loss: class_weights needs samples with one class each: leave it"):
        edgefl.run({**scenario, "training": training}, train=False)
