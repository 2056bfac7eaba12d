"""The least memory that learning needs: counted by hand, and reported before it is taken."""

import numpy as np
import pytest
from torch import nn
from torch.utils.checkpoint import checkpoint

from edgefl.core import machine
from edgefl.core.errors import InputError
from edgefl.learning import memory_needs as module
from edgefl.learning.algorithms import ALGORITHMS
from edgefl.learning.datasets import Data
from edgefl.learning.memory_needs import check_memory, memory_needs
from edgefl.learning.models import MODELS
from edgefl.learning.models.count import saved_bytes
from edgefl.learning.models.fcn import Fcn
from edgefl.learning.training_section import Training

DATA = Data(np.zeros((100, 6), np.uint8), np.zeros(100, int), np.zeros((20, 6), np.uint8), np.zeros(20, int), 2)
D = 6 * 5 + 5 + 5 * 2 + 2  # parameters of a network with one hidden layer of 5


def needs(algorithm="fedavg", devices=10, together=4, **training):
    chosen = ALGORITHMS.load(algorithm)()
    found = memory_needs(Fcn(hidden=(5,)), chosen, Training(**training), DATA, devices, together)
    return {need.what: need.bytes / (4 * D) for need in found.needs}


def test_fedavg_by_hand():
    vectors = needs()
    assert vectors["the model"] == 4
    assert vectors["training one client"] == 3
    assert vectors["the updates of 4 participants"] == 4
    assert vectors["the samples"] * 4 * D == 120 * 6
    assert vectors["testing"] * 4 * D == 250 * 5 * 4


@pytest.mark.parametrize(
    ("algorithm", "what", "vectors"),
    [
        ("scaffold", "what the server keeps besides", 1),  # the mean of the control variates
        ("scaffold", "the updates of 4 participants", 8),  # a model and a control variate each
        ("scaffold", "training one client", 4),
        ("mifa", "what the server keeps of 10 devices", 10),
        ("fedadam", "what the server keeps besides", 2),  # two moments
    ],
)
def test_vectors_of_algorithms_are_counted(algorithm, what, vectors):
    assert needs(algorithm)[what] == vectors


def test_keys_of_training():
    assert needs(optimizer="adam")["training one client"] == 5
    assert needs(momentum=0.9)["training one client"] == 4
    assert needs(width=8)["8 clients together"] == 7 * 3
    assert needs("scaffold", state_home="host")["the states of 10 devices"] == 10


def test_the_message_names_the_largest_part_and_the_tightest_limit(monkeypatch):
    found = memory_needs(Fcn(hidden=(5,)), ALGORITHMS.load("mifa")(), Training(), DATA, 1000, 4)
    monkeypatch.setattr(machine, "memory_limits", lambda: {"machine": 2**40, "container": int(found.total_bytes)})
    check_memory(found)
    monkeypatch.setattr(machine, "memory_limits", lambda: {"machine": 2**40, "container": int(found.total_bytes) - 1})
    with pytest.raises(InputError, match=r"for what the server keeps of 1000 devices, .* \(container\): use fewer"):
        check_memory(found)


def test_gpu_memory_is_checked_separately(monkeypatch, tmp_path):
    found = memory_needs(Fcn(hidden=(5,)), ALGORITHMS.load("mifa")(), Training(), DATA, 1000, 4)
    host = int(found.before_a_gpu.total_bytes)
    assert host == 120 * 6 + 4 * D  # the samples, and the module once
    monkeypatch.setattr(machine, "memory_limits", lambda: {"machine": host})
    monkeypatch.setattr(module, "gpu_bytes", lambda _: int(found.total_bytes))
    monkeypatch.setattr(module, "NVIDIA_GPUS", tmp_path)
    check_memory(found, "cuda")
    check_memory(found, None)
    with pytest.raises(InputError, match=r"\(machine\)"):
        check_memory(found, "cpu")
    monkeypatch.setattr(module, "gpu_bytes", lambda _: int(found.total_bytes) - 1)
    with pytest.raises(InputError, match=r"\(GPU\)"):
        check_memory(found, "cuda:0")
    monkeypatch.setattr(module, "NVIDIA_GPUS", tmp_path / "none")
    with pytest.raises(InputError, match=r"\(machine\)"):
        check_memory(found, None)


@pytest.mark.parametrize(
    ("name", "shape", "rounding"),
    [
        ("mlp", (28, 28), 0),
        ("logistic", (784,), 0),
        ("cnn", (28, 28), 0),
        ("svhn_cnn", (3, 32, 32), 0.01),  # with dropout
        ("resnet20", (3, 32, 32), 0.07),  # without a norm the projections' outputs are not kept
        ("resnet18", (3, 32, 32), 0.05),
        ("fasttext", (64,), 0),
    ],
)
def test_activations_of_models_are_those_that_autograd_keeps(name, shape, rounding):
    model = MODELS.load(name)()
    kept_bytes = saved_bytes(model.module(shape, 10).eval(), shape, tokens=model.tokens)
    assert model.activation_bytes(shape, 10) == pytest.approx(kept_bytes, rel=rounding)


def test_activations_by_hand_and_without_those_of_checkpoints():
    """Linear layers keep inputs, sigmoids outputs, the loss its outputs; a checkpoint only its input."""

    class Net(nn.Module):
        def __init__(self, again):
            super().__init__()
            self.again = again
            self.first = nn.Linear(6, 5)
            self.middle = nn.Sequential(nn.Sigmoid(), nn.Linear(5, 7), nn.Sigmoid(), nn.Linear(7, 3))
            self.last = nn.Linear(3, 2)

        def forward(self, x):
            x = self.first(x)
            if self.again:
                return self.last(checkpoint(self.middle, x, use_reentrant=False))
            return self.last(self.middle(x))

    assert saved_bytes(Net(again=False), (6,), tokens=False) == 4 * (5 + 7 + 3 + 2)
    assert saved_bytes(Net(again=True), (6,), tokens=False) == 4 * (5 + 3 + 2)
