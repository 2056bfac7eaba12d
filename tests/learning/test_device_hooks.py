"""Hooks that know their device: labels of its own, and random numbers of its own."""

import numpy as np
import pytest
import torch
from run_cases import SWEEP_BASE

import edgefl
from edgefl.learning.algorithms import RunInfo, Wrapper
from edgefl.learning.algorithms.fedavg import FedAvg
from edgefl.learning.algorithms.properties import has_own_labels
from edgefl.learning.algorithms.scaffold import Scaffold

FLIPPED = (1, 4)
RNG = np.random.default_rng(3)
OWNERS = np.repeat(np.arange(6), 9)
X = RNG.normal(size=(54, 5))
Y = RNG.integers(0, 3, 54)
TEST_Y = np.arange(12) % 3


class Flip(Wrapper):
    """Some devices train on flipped labels."""

    base: FedAvg | Scaffold = FedAvg()

    def labels(self, y, local):
        flips = torch.zeros_like(local.device_id, dtype=torch.bool)
        for device in FLIPPED:
            flips = flips | (local.device_id == device)
        return torch.where(flips, 2 - y, y)


def run(algorithm, *, flip_data=False, engine="serial"):
    y = Y
    if flip_data:
        y = np.where(np.isin(OWNERS, FLIPPED), 2 - Y, Y)
    data = edgefl.arrays(X, y, X[:12], TEST_Y, owner=OWNERS)
    training = {"local_epochs": 2, "batch_size": 4, "lr": 0.1, "engine": engine}
    scenario = {"rounds": 3, "data": {"dataset": data, "partition": "natural"}, "training": training}
    more = {"algorithm": algorithm, "devices": {"count": 6}, "server": {"participants": 4}, "model": "logistic"}
    return edgefl.run({**scenario, **more}).parameters


@pytest.mark.parametrize("base", [FedAvg(), Scaffold(option="I")], ids=["fedavg", "scaffold"])
@pytest.mark.parametrize("engine", ["serial", "batched"])
@pytest.mark.oracle
def test_training_on_flipped_labels_is_training_on_flipped_data(engine, base):
    """Bit for bit, also in the pass over all samples that option I of SCAFFOLD makes."""
    by_hook = run(Flip(base=base), engine=engine)
    assert np.array_equal(by_hook, run(base, flip_data=True, engine=engine))
    assert not np.array_equal(by_hook, run(base, engine=engine))


def test_only_algorithms_that_define_labels_have_their_own():
    class Plain(Wrapper):
        """Changes nothing."""

    assert has_own_labels(Flip())
    assert has_own_labels(Plain(base=Flip()))
    assert not has_own_labels(Plain(base=FedAvg()))


class WrongType(FedAvg):
    """Returns floats."""

    def labels(self, y, local):
        return y + 0.5


class WrongClass(FedAvg):
    """Returns a class that there is not."""

    def labels(self, y, local):
        return y + 1


@pytest.mark.parametrize(
    ("algorithm", "text"),
    [
        (
            WrongType(),
            r"WrongType.labels returned labels in torch.float32, expected torch.int64",
        ),
        (WrongClass(), r"WrongClass.labels returned label 3, expected classes from 0 to 2"),
    ],
    ids=["type", "class"],
)
def test_wrong_labels_are_refused_before_the_run(algorithm, text):
    with pytest.raises(edgefl.InputError, match=text):
        edgefl.run({**SWEEP_BASE, "algorithm": algorithm})


def test_a_hooks_random_numbers_follow_from_their_names():
    run_info = RunInfo(seed=7)
    first = run_info.generator("noise", 3, 1).normal(size=4)
    assert np.array_equal(first, RunInfo(seed=7, rounds=9).generator("noise", 3, 1).normal(size=4))
    others = [
        run_info.generator("other", 3, 1),
        run_info.generator("noise", 2, 1),
        run_info.generator("noise", 3, 2),
        RunInfo(seed=8).generator("noise", 3, 1),
    ]
    assert not any(np.isin(generator.normal(size=4), first).any() for generator in others)


class Noisy(FedAvg):
    """Each device adds numbers of its own, and the server others."""

    def finish(self, w, local):
        ids = local.device_id.reshape(-1).long().tolist()
        index = int(local.index.reshape(-1)[0])
        noise = np.stack([local.run.generator("noise", device, index).normal(size=w.shape[-1]) for device in ids])
        return {"delta": w - local.start + local.start.new_tensor(noise).reshape(w.shape)}

    def aggregate(self, server, updates):
        noise = updates.run.generator("server", index=updates.index).normal(size=len(server["w"]))
        after = super().aggregate(server, updates)
        return {**after, "w": after["w"] + server["w"].new_tensor(noise)}


@pytest.mark.oracle
def test_draws_of_hooks_do_not_depend_on_the_engine_and_follow_the_seed():
    def parameters(engine, seed):
        training = {**SWEEP_BASE["training"], "engine": engine}
        return edgefl.run({**SWEEP_BASE, "algorithm": Noisy(), "training": training, "seed": seed}).parameters

    serial = parameters("serial", 1)
    assert parameters("batched", 1) == pytest.approx(serial, abs=1e-5)
    assert abs(parameters("serial", 2) - serial).max() > 0.1
