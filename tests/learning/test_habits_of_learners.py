"""Habits from programs of PyTorch, Keras and other frameworks of federated learning: what they give here."""

import random

import numpy as np
import pytest
import torch

import edgefl
from edgefl.core.errors import InputError
from edgefl.scenario import load

SMALL = {
    "rounds": 3,
    "data": {"dataset": "digits", "partition": "iid"},
    "training": {"local_epochs": 1, "batch_size": 8, "lr": 0.1},
    "devices": {"count": 10},
    "server": {"participants": 4},
}


@pytest.mark.oracle
def test_batch_that_is_larger_than_a_devices_samples_is_all_of_them():
    def parameters(batch_size):
        training = {"local_epochs": 2, "batch_size": batch_size, "lr": 0.1}
        return edgefl.run({**SMALL, "training": training}, device="cpu").parameters

    assert np.array_equal(parameters(10_000), parameters("full"))


@pytest.mark.oracle
@pytest.mark.parametrize("batch_size", [1, 13])  # most devices hold 14 samples: 13 leave one for the last batch
def test_batch_normalisation_of_a_single_sample_trains(batch_size):
    keys = {
        **SMALL,
        "model": "own_networks:Normed",
        "devices": {"count": 100},
        "training": {"local_epochs": 1, "batch_size": batch_size, "lr": 0.1},
    }
    result = edgefl.run(keys, device="cpu")
    assert result.rounds["test_loss"].iloc[-1] < result.rounds["test_loss"].iloc[0]
    assert all(np.isfinite(tensor).all() for tensor in result.saved_model().tensors.values())


def test_every_device_trains_however_skewed_the_division_is():
    data = {"dataset": "digits", "partition": {"kind": "dirichlet", "alpha": 0.01}}
    keys = {**SMALL, "data": data, "devices": {"count": 60}, "server": {"participants": 60}}
    result = edgefl.run(keys, device="cpu")
    assert result.rounds["received"].tolist() == [60, 60, 60]
    assert len(result.device_accuracy) == 60


@pytest.mark.oracle
def test_seeds_of_other_generators_change_nothing():
    found = []
    for seed in (1, 2):
        torch.manual_seed(seed)
        np.random.seed(seed)  # noqa: NPY002 - what programs do
        random.seed(seed)
        found.append(edgefl.run(SMALL, device="cpu").parameters)
    assert np.array_equal(*found)


@pytest.mark.oracle
def test_constant_loss_ends_a_run_as_in_keras():
    """Keras' example of EarlyStopping: with a patience of 3, a constant loss ends training after 4 epochs."""
    training = {**SMALL["training"], "lr": 0.0}
    for column in ("test_loss", "test_accuracy"):
        stop = {"patience": {"rounds": 3, "of": column}}
        assert len(edgefl.run({**SMALL, "rounds": 20, "training": training, "stop": stop}, device="cpu").rounds) == 4


@pytest.mark.parametrize(
    ("key", "value", "instead"),
    [
        ("stop", {"early_stopping": 3}, "write stop.patience: {rounds: 20}"),
        ("stop", {"min_delta": 0.1}, "write stop.patience: {rounds: 20, min_delta: 0.001}"),
        ("report", {"restore_best_weights": True}, "write report.best_model: true"),
        ("report", {"save_best_only": True}, "write report.best_model: true"),
        ("data", {"validation_split": 0.1}, "write data.validation_share: 0.1"),
        ("training", {"label_smoothing": 0.1}, "label_smoothing: 0.1}"),
        ("training", {"class_weight": [1, 2]}, "class_weights: [1.0, 5.0]}"),
    ],
    ids=lambda value: next(iter(value)) if isinstance(value, dict) else "",
)
def test_words_of_other_programs_name_the_key(key, value, instead):
    with pytest.raises(InputError) as error:
        load({key: value})
    assert instead in str(error.value)
