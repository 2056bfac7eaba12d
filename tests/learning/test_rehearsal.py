"""Hooks of algorithms from outside are tried before a run: a wrong one is named, with its file and line."""

import inspect

import pytest
import torch
from algorithm_cases import SHIPPED, digits, shipped

import edgefl
from edgefl.core.plugin_import import shown_file
from edgefl.learning.algorithms import ALGORITHMS
from edgefl.learning.algorithms.fedavg import FedAvg
from edgefl.learning.algorithms.rehearsal import Rehearsal
from edgefl.learning.algorithms.watched import Watched
from edgefl.learning.algorithms.wrapper import Wrapper


@pytest.mark.parametrize("case", SHIPPED, ids=str)
@pytest.mark.parametrize(("dtype", "population"), [(torch.float32, 7), (torch.float64, 2)])
def test_the_hooks_of_every_shipped_algorithm_return_what_they_must(case, dtype, population):
    algorithm = shipped(case)
    Rehearsal(Watched(base=algorithm), population, dtype).play()


class OneNumber(FedAvg):
    def correct(self, gradient, w, local):
        return gradient.mean()


class FirstAxis(FedAvg):
    """Right for one device, wrong for several together."""

    def finish(self, w, local):
        return {"delta": w - local.start, "largest": w.max(dim=0, keepdim=True).values}


class Double(FedAvg):
    def finish(self, w, local):
        return {"delta": (w - local.start).double()}


class Raises(FedAvg):
    def finish(self, w, local):
        return {"delta": w - local.state["absent"]}


class Forgets(FedAvg):
    def client_state(self, w):
        return {"c": 0 * w}

    def remember(self, w, local):
        return {}


class LosesTheModel(FedAvg):
    def server_state(self, w):
        return {"model": w}


class OtherKeys(FedAvg):
    def aggregate(self, server, updates):
        return {**super().aggregate(server, updates), "more": server["w"]}


class NoNumber(FedAvg):
    def aggregate(self, server, updates):
        return {**server, "w": server["w"] / updates.vectors["delta"].mul(0.0).sum()}


class NoTensor(FedAvg):
    def downlink(self, server):
        return {"scale": 2.0}


class Part(FedAvg):
    """Sends a hundredth of a vector, which the trial on one and two parameters cannot price."""

    def finish(self, w, local):
        return {"delta": w - local.start, "part": w[..., : w.shape[-1] // 100]}


class Counts(FedAvg):
    def waits(self, server, received):
        return len(received)


class Unsorted(FedAvg):
    def contributors(self, server, updates):
        return updates.ids[::-1].copy()


BROKEN = [
    (OneNumber, "correct", "returned a gradient of shape [], expected [2, 8]"),
    (FirstAxis, "finish", 'returned "largest" of shape [1, 8], expected [2, n]: hooks of devices get'),
    (Double, "finish", 'returned "delta" in torch.float64, expected torch.float32'),
    (Forgets, "remember", 'returned no entries, expected "c", the entries of client_state'),
    (LosesTheModel, "server_state", 'returned "model", expected "w", the model, among its entries'),
    (OtherKeys, "aggregate", 'returned "w", "more", expected "w", the entries of the server\'s state'),
    (NoNumber, "aggregate", 'returned NaN or infinity in "w" from finite numbers'),
    (NoTensor, "downlink", 'returned a float as "scale", expected a tensor [n]'),
    (Part, "finish", "sends 4858 floats with a model of 4810 parameters, not a multiple"),
    (Counts, "waits", "returned an int, expected True or False: write bool(...)"),
    (Unsorted, "contributors", "returned [19  0], expected ascending ids, each once"),
]


@pytest.mark.parametrize(("broken", "hook", "text"), BROKEN, ids=lambda value: getattr(value, "__name__", ""))
def test_a_wrong_hook_is_found_before_the_run_and_named_with_its_line(broken, hook, text):
    with pytest.raises(edgefl.InputError) as caught:
        edgefl.run(digits(broken()), train=broken is Double, device="cpu")
    _, line = inspect.getsourcelines(getattr(broken, hook))
    (fault,) = caught.value.faults
    assert fault.startswith(f"{shown_file(__file__)}:{line}: algorithm: {broken.__name__}.{hook} {text}")


def test_an_exception_is_named_with_the_line_that_raised_it():
    _, line = inspect.getsourcelines(Raises.finish)
    with pytest.raises(edgefl.InputError, match=r"algorithm: Raises\.finish raised KeyError: 'absent'") as caught:
        edgefl.run(digits(Raises()), device="cpu")
    assert caught.value.faults[0].startswith(f"{shown_file(__file__)}:{line + 1}: ")


def test_a_base_from_outside_is_tried_below_a_shipped_wrapper():
    disco = ALGORITHMS.load("feddisco")(base=Double())
    assert isinstance(disco, Wrapper)
    with pytest.raises(edgefl.InputError, match=r"Double\.finish returned"):
        edgefl.run(digits(disco), device="cpu")
