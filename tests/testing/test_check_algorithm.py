"""The kit for authors of algorithms: it passes what is shipped, and names what is wrong with each broken algorithm."""

import random
from typing import Any

import numpy as np
import pytest
import torch
from algorithm_cases import VARIANTS, shipped
from pydantic import PrivateAttr

from edgefl.core.plugin_import import shown_file
from edgefl.learning.algorithms import ALGORITHMS
from edgefl.learning.algorithms.fedavg import FedAvg
from edgefl.learning.algorithms.scaffold import Scaffold
from edgefl.testing import ConformanceError, check_algorithm
from edgefl.testing.rounds import TRAINING, rounds

pytestmark = pytest.mark.oracle

QUICK = ("mifa", "moon")
IN_ORDER = ("fedasync",)  # takes one update after another


@pytest.fixture
def small_rounds(monkeypatch):
    """Take fewer steps: the kit finds the same faults."""
    monkeypatch.setattr("edgefl.learning.algorithms.rehearsal.STEPS", 1)
    training = TRAINING.model_copy(update={"local_epochs": 1, "batch_size": 32})
    monkeypatch.setattr("edgefl.testing.rounds.TRAINING", training)


def check_shipped(name, **keys):
    return check_algorithm(ALGORITHMS.load(name), order_matters=name in IN_ORDER, **keys)


def test_shipped_algorithm_conforms():
    report = check_shipped("scaffold")
    assert report.ok
    assert str(report).splitlines()[0].endswith("all 14 checks passed")


@pytest.mark.usefixtures("small_rounds")
@pytest.mark.parametrize("name", QUICK)
def test_shipped_algorithms_conform_in_small_rounds(name):
    assert check_shipped(name).ok


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in ALGORITHMS.members if name != "scaffold"])
def test_all_other_shipped_algorithms_conform(name):
    assert check_shipped(name).ok


@pytest.mark.slow
@pytest.mark.parametrize("variant", VARIANTS, ids=str)
def test_variants_conform(variant):
    assert check_algorithm(shipped(variant)).ok


class Documented(FedAvg):
    """Base of the broken ones, which have no docstring either."""


class InPlace(Documented):
    def aggregate(self, server, updates):
        return {**server, "w": server["w"].add_(self.mean_delta(updates))}


class TorchGlobal(Documented):
    def correct(self, gradient, w, local):
        return gradient + 1e-3 * torch.randn_like(gradient)


class NumpyGlobal(Documented):
    def aggregate(self, server, updates):
        noise = float(np.random.normal())  # noqa: NPY002 - the fault that is to be found
        return {**server, "w": server["w"] + self.mean_delta(updates) + noise}


class PythonGlobal(Documented):
    def finish(self, w, local):
        return {"delta": (w - local.start) * random.random()}  # noqa: S311


class Unseeded(Documented):
    def aggregate(self, server, updates):
        return {**server, "w": server["w"] + self.mean_delta(updates) * np.random.default_rng().random()}


class WrongShape(Documented):
    def correct(self, gradient, w, local):
        return gradient[..., :1]


class Branches(Documented):
    """A bound on the gradient of all devices together."""

    def correct(self, gradient, w, local):
        if gradient.norm() > 1:
            return gradient / gradient.norm()
        return gradient


class Grows(Documented):
    """Uploads one number more in each round."""

    def finish(self, w, local):
        rounds = int(local.index.max())
        return {"delta": w - local.start, "more": w[..., : 1 + rounds]}


class FirstCounts(Documented):
    """Takes the first row's samples for those of all devices."""

    def aggregate(self, server, updates):
        return {**server, "w": server["w"] + updates.vectors["delta"][0]}


class Alias(Documented):
    """Returns the model itself, which the solver clips."""

    def correct(self, gradient, w, local):
        return local.start


class Remembers(Documented):
    """Keeps the first model that it has seen to itself, where no checkpoint finds it."""

    _anchor: Any = PrivateAttr(None)

    def aggregate(self, server, updates):
        if self._anchor is None:
            self._anchor = server["w"].clone()
        return {**server, "w": 0.5 * (server["w"] + self.mean_delta(updates) + self._anchor)}


class DerivesWrongly(Scaffold):
    def derived(self, upload, local):
        return {"delta_c": -upload["delta"]}


class Squares(Documented):
    """As many operations as parameters, squared."""

    def correct(self, gradient, w, local):
        return gradient + 1e-6 * (w[..., :, None] * w[..., None, :]).sum(dim=-1)


class NotWritten(Documented):
    scale: Any = lambda x: x


class TextTrace(Documented):
    def trace(self, server, updates):
        return {"norm": server["w"].norm()}


class Raises(Documented):
    def remember(self, w, local):
        raise ValueError("not yet")


BROKEN = [
    (InPlace, "arguments", "InPlace.aggregate changes its arguments in place"),
    (TorchGlobal, "repeatable", "TorchGlobal.correct draws from torch's global generator"),
    (NumpyGlobal, "repeatable", "NumpyGlobal.aggregate draws from numpy.random's global generator"),
    (PythonGlobal, "repeatable", "PythonGlobal.finish draws from Python's module random"),
    (Unseeded, "repeatable", "Unseeded.aggregate returns other values when it is called again"),
    (WrongShape, "returns", "WrongShape.correct returned a gradient of shape [6, 1], expected [6, 8]"),
    (Branches, "batched is serial", "Branches.correct returns other values for devices together than for each one"),
    (Grows, "returns", 'Grows.finish returned "delta" [8], "more" [2] after "delta" [8], "more" [1]'),
    (FirstCounts, "order of updates", 'FirstCounts.aggregate: the entry "w" depends on the order of the rows'),
    (Alias, "arguments", "Alias.correct returns a vector of its arguments other than the gradient"),
    (Remembers, "kill and resume", 'round 3 has another "w" after the run was resumed from its saved state'),
    (DerivesWrongly, "minimal uploads", 'with training.minimal_uploads devices upload "delta_c" that differs'),
    (Squares, "cost", "Squares.correct takes 1006 operations for each of 501 parameters"),
    (NotWritten, "keys", "NotWritten: ends with PydanticSerializationError"),
    (TextTrace, "returns", 'TextTrace.trace returned a tensor [] of torch.float32 as "norm", expected a number'),
    (Raises, "returns", "Raises.remember raised ValueError: not yet"),
]


@pytest.mark.usefixtures("small_rounds")
@pytest.mark.parametrize(("broken", "check", "text"), BROKEN, ids=[broken.__name__ for broken, _, _ in BROKEN])
def test_a_broken_algorithm_is_found_and_named(broken, check, text):
    with pytest.raises(ConformanceError) as caught:
        check_algorithm(broken)
    assert isinstance(caught.value, AssertionError)
    faults = {each.name: each.faults for each in caught.value.report.checks if each.faults}
    assert any(text in fault for fault in faults.pop(check)), str(caught.value)
    faults.pop("described", None)
    assert set(faults) <= {"batched is serial", "repeatable"} - {check}, str(caught.value)
    if broken is InPlace:
        line = InPlace.aggregate.__code__.co_firstlineno
        assert f"{shown_file(__file__)}:{line}: InPlace.aggregate changes" in str(caught.value)


class OwnLoss(FedAvg):
    """FedAvg that minimises three times the loss, without comparing models."""

    def loss(self, losses, own, references, batch):
        return 3 * losses


@pytest.mark.usefixtures("small_rounds")
def test_a_loss_of_its_own_counts_without_references():
    assert check_algorithm(OwnLoss).ok
    with rounds(OwnLoss()) as tripled, rounds(FedAvg()) as plain:
        assert tripled.round((0,)).loss > 2.5 * plain.round((0,)).loss


@pytest.mark.usefixtures("small_rounds")
def test_keys_belong_to_a_class_and_other_things_are_refused():
    assert check_algorithm(FedAvg(weighting="uniform")).ok
    with pytest.raises(TypeError, match="give the keys weighting to the class"):
        check_algorithm(FedAvg(), weighting="uniform")
    with pytest.raises(TypeError, match="expected an algorithm"):
        check_algorithm(dict)
    with pytest.raises(ConformanceError, match="refuses to work with 6 devices"):
        check_algorithm(FedAvg, max_participants=9, mode="wait")
