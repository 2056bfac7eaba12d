"""The kit for authors of models: torch modules and our own models pass, and broken ones are found and named."""

import re

import numpy as np
import odd_networks
import pytest
import torch
from torch import nn
from torch.nn import functional

from edgefl.learning.models import MODELS
from edgefl.learning.models.logistic import Logistic
from edgefl.testing import ConformanceError, check, check_model

pytestmark = pytest.mark.oracle


def name_of(maker):
    return maker.__name__


class Net(nn.Module):
    def __init__(self, width=7):
        super().__init__()
        self.front = nn.Linear(5, width)
        self.dropout = nn.Dropout(0.2)
        self.back = nn.Linear(width, 3)

    def forward(self, x):
        return self.back(self.dropout(self.front(x).relu()))


def made_by_function(shape, classes, width):
    return nn.Sequential(nn.Flatten(), nn.Linear(int(np.prod(shape)), width), nn.ReLU(), nn.Linear(width, classes))


class Tagger(nn.Module):
    """The class of each token."""

    def __init__(self, classes):
        super().__init__()
        self.embedding = nn.Embedding(9, 4)
        self.last = nn.Linear(4, classes)

    def forward(self, x):
        return self.last(self.embedding(x)).movedim(-1, 1)


class ClassesLast(Tagger):
    def forward(self, x):
        return super().forward(x).movedim(1, -1)


def pixelwise(shape, classes):
    return nn.Sequential(nn.Conv2d(shape[0], 5, 3, padding=1), nn.ReLU(), nn.Conv2d(5, classes, 1))


def test_networks_for_labels_of_tokens_and_pixels_conform():
    assert check_model(Tagger, shape=(6,), classes=4, labels=(6,), vocabulary=9).ok
    assert check_model(pixelwise, shape=(2, 6, 5), classes=4, labels=(6, 5)).ok
    with pytest.raises(ConformanceError, match=r"gives \[4, 6, 4\] for 4 samples, expected \[4, 4, 6\]"):
        check_model(ClassesLast, shape=(6,), classes=4, labels=(6,), vocabulary=9)
    with pytest.raises(ConformanceError, match="IndexError"):
        check_model(Tagger, shape=(6,), classes=4, labels=(6,), vocabulary=12)


def test_a_torch_module_a_function_and_our_models_conform():
    assert check_model(Net, width=4).ok
    assert check_model(made_by_function, shape=(2, 3), classes=4, width=6).ok
    assert check_model(MODELS.load("fcn"), hidden=(6,)).ok
    assert check(Net).ok
    with pytest.raises(TypeError, match=r"expected a class or a function that makes a torch\.nn\.Module"):
        check_model(Net())


@pytest.mark.slow
@pytest.mark.parametrize("name", ["lenet5", "cnn"])
def test_convolutions_conform(name):
    assert check_model(MODELS.load(name), shape=(1, 28, 28), classes=10).ok


class OwnDropout(Net):
    def forward(self, x):
        return self.back(functional.dropout(self.front(x).relu(), 0.5, self.training))


def test_draws_of_torch_in_training_are_keyed():
    assert check_model(OwnDropout).ok


class AlwaysRandom(Net):
    def forward(self, x):
        return self.back(self.front(x).relu() + torch.randn(len(x), 1))


class OverBatch(Net):
    def forward(self, x):
        hidden = self.front(x)
        return self.back(hidden - hidden.mean(dim=0))


class OtherClasses(Net):
    def __init__(self):
        super().__init__()
        self.back = nn.Linear(7, 4)


class Drawn(Net):
    def __init__(self):
        super().__init__()
        self.front.weight.data = torch.from_numpy(np.random.normal(size=(7, 5))).float()  # noqa: NPY002


class Remembers(Net):
    """Adds up what it has seen, besides parameters and buffers."""

    def forward(self, x):
        self.seen = getattr(self, "seen", 0) + 1
        return self.back(self.front(x).relu()) * (1 + self.seen / 50)


class TooFew(Logistic):
    """Says that it has fewer parameters and operations than it has."""

    def parameters(self, shape, classes):
        return super().parameters(shape, classes) - 1

    def multiplications(self, shape, classes):
        return super().multiplications(shape, classes) // 2


BROKEN = [
    (AlwaysRandom, "outputs", "are random in evaluation"),
    (OverBatch, "outputs", "depend on the batch (by"),
    (OtherClasses, "fits", "must give [B, 3] for samples [B, ...], got [2, 4] for B = 2"),
    (Drawn, "initial model", "building the module draws from numpy.random's global generator"),
    (Remembers, "outputs", "are random in evaluation"),
    (TooFew, "cost", "the module has 18 parameters to train, and `parameters` says 17"),
    (TooFew, "cost", "the module takes 15 multiplications for a sample, and `multiplications` says 7"),
]


@pytest.mark.parametrize(("broken", "name", "text"), BROKEN, ids=[broken.__name__ for broken, _, _ in BROKEN])
def test_a_broken_model_is_found_and_named(broken, name, text):
    with pytest.raises(ConformanceError) as caught:
        check_model(broken)
    faults = {each.name: each.faults for each in caught.value.report.checks}
    assert any(text in fault for fault in faults[name]), str(caught.value)


# tests/learning/test_own_networks.py tries all of them.
SOME_REFUSED = [odd_networks.Counter, odd_networks.FailsInTraining, odd_networks.NoisyInTests, odd_networks.LazySize]


@pytest.mark.parametrize("maker", SOME_REFUSED, ids=name_of)
def test_a_network_that_would_learn_something_else_is_found(maker):
    with pytest.raises(ConformanceError, match=re.escape(odd_networks.REFUSED[maker])):
        check_model(maker, shape=(2, 4), classes=3)


ODD = [
    odd_networks.Residual,
    odd_networks.LowRank,
    odd_networks.Heads,
    odd_networks.Temperature,
    odd_networks.Assigned,
    odd_networks.Cumulative,
    odd_networks.DroppedTwice,
]


@pytest.mark.parametrize("maker", ODD, ids=name_of)
def test_odd_networks_conform(maker):
    assert check_model(maker, shape=(2, 4), classes=3).ok


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:There is a performance drop:UserWarning")
@pytest.mark.parametrize("maker", [each for each in odd_networks.OF_NUMBERS if each not in ODD], ids=name_of)
def test_all_odd_networks_conform(maker):
    assert check_model(maker, shape=(2, 4), classes=3).ok
