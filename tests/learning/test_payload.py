"""The weight of a round: operations counted from what hooks do, floats from what they return."""

import numpy as np
import pytest
import torch

import edgefl
from edgefl.core.errors import InputError
from edgefl.learning.algorithms import ALGORITHMS
from edgefl.learning.algorithms.fedavg import FedAvg
from edgefl.learning.datasets.digits import Digits
from edgefl.learning.models.fcn import Mlp
from edgefl.learning.payload import measure
from edgefl.learning.training_section import Training

DATA = Digits().load()
D = 4_810
MULTIPLICATIONS = 64 * 64 + 64 * 10
SIZES = np.array([10, 120])
VECTOR_OPERATIONS = dict.fromkeys(ALGORITHMS.members, 0) | {  # a step and parameter, beside the solver's
    "fedprox": 3,
    "fedacg": 3,
    "fedasync": 3,
    "scaffold": 2,
    "feddyn": 3 + 2,  # and its weight decay
    "fedvra": 4,
    "feddc": 7,
    "fedssg": 5,
}
FLOATS = dict.fromkeys(ALGORITHMS.members, (1, 1, 0)) | {  # vectors down and up, scalars up: cards, section 0.5
    "scaffold": (2, 2, 0),
    "feddc": (2, 2, 0),
    "fedssg": (2, 2, 1),
    "fednova": (1, 1, 1),
    "qfedavg": (1, 1, 1),
}
MORE_PASSES = {"moon": 2 / 3}  # forward passes of two models that stay as they are


def measured(name, model=None, **training):
    section = Training.model_validate({"batch_size": 50, "local_epochs": 2, **training})
    return measure(model or Mlp(), ALGORITHMS.load(name)(), section, DATA, SIZES)


@pytest.mark.parametrize("name", list(ALGORITHMS.members))
def test_operations_of_a_round(name):
    """Forward and backward 6 a multiplication and sample; 2 a parameter and step for SGD, and the correction's."""
    steps = np.array([2 * 1, 2 * 3])
    passes = 1 + MORE_PASSES.get(name, 0)
    expected = 2 * SIZES * 6 * MULTIPLICATIONS * passes + steps * D * (2 + VECTOR_OPERATIONS[name])
    assert measured(name).flops == pytest.approx(expected, rel=1e-12)


def test_steps_that_do_not_wrap_are_priced_as_they_are_made():
    """10 samples make one batch, 120 make two of 50: that many samples and steps, instead of 2 and 2 of them."""
    stopped = measured("fedavg", local_epochs=None, local_steps=2, wrap=False).flops
    samples = np.array([10, 100])
    steps = np.array([1, 2])
    assert stopped == pytest.approx(samples * 6 * MULTIPLICATIONS + steps * D * 2, rel=1e-12)


@pytest.mark.parametrize(
    ("setting", "operations"),
    [
        ({"weight_decay": 0.1}, 2),
        ({"momentum": 0.9}, 2),
        ({"clip_norm": 1.0}, 3),
        ({"momentum": 0.9, "clip_norm": 1.0}, 5),
        ({"optimizer": "adam"}, 12),  # 3 + 4 for the moments, root, 2 for their bias, eps, quotient
        ({"optimizer": "adam", "weight_decay": 0.1}, 14),
        ({"optimizer": "adamw", "weight_decay": 0.1}, 13),  # one product for the decay
        ({"momentum": 0.9, "nesterov": True}, 4),
        ({"optimizer": "adagrad"}, 5),  # 2 for the squares, root, eps, quotient
        ({"optimizer": "rmsprop"}, 7),
    ],
)
def test_operations_of_the_solver(setting, operations):
    more = measured("fedavg", **setting).flops - measured("fedavg").flops
    assert more == pytest.approx(np.array([2, 6]) * D * operations)


@pytest.mark.parametrize("name", list(ALGORITHMS.members))
def test_bits_on_the_air(name):
    down, up, scalars = FLOATS[name]
    payload = measured(name)
    assert (payload.down_bits, payload.up_bits) == (32 * D * down, 32 * (D * up + scalars))


@pytest.mark.parametrize("name", ["fedavg", "fedssg", "fednova"])
def test_bytes_in_the_tables_of_a_run(name):
    """(down + up) 32 d / 8 a participant, as the cards' table has it, and scalars (checklist, oracle 8)."""
    down, up, scalars = FLOATS[name]
    scenario = {"rounds": 3, "algorithm": name, "devices": {"count": 5}, "server": {"participants": 3}}
    result = edgefl.run({**scenario, "radio": {"transfer": "fast"}}, train=False)
    assert (result.rounds["bytes_down"] == 3 * 4 * D * down).all()
    assert (result.rounds["bytes_up"] == 3 * 4 * (D * up + scalars)).all()
    assert result.devices["bytes_up"].sum() == result.rounds["bytes_up"].sum() > 0


@pytest.mark.parametrize("name", list(ALGORITHMS.members))
def test_the_papers_cost_is_the_same_for_all(name):
    """Dynamic-devices paper, eq. 27 and Table VII: neither a second vector nor another pass counts."""
    section = Training.model_validate({"batch_size": 50, "local_epochs": 2, "weight_decay": 0.1})
    payload = measure(Mlp(), ALGORITHMS.load(name)(), section, DATA, SIZES, "paper")
    assert (payload.down_bits, payload.up_bits) == (32 * D, 32 * D)
    assert payload.flops == pytest.approx(2 * SIZES * 6 * MULTIPLICATIONS)


def test_the_cost_is_the_scenarios():
    paper = edgefl.run({"rounds": 1, "algorithm": "scaffold", "cost": "paper"}, train=False).summary
    full = edgefl.run({"rounds": 1, "algorithm": "scaffold", "cost": "full"}, train=False).summary
    assert 2 * paper["bytes_up"] == full["bytes_up"]
    assert 2 * paper["bytes_down"] == full["bytes_down"]


def test_a_priced_model_costs_its_price_and_no_more():
    model = Mlp.model_validate({"cost": {"parameters": 1000, "flops_per_parameter": 7.5}})
    payload = measured("fedprox", model, local_epochs=None, local_steps=4)
    assert payload.flops == pytest.approx(np.array([4 * 10, 50 + 50 + 20 + 50]) * 7500)
    assert payload.down_bits == 32_000


class HalfCorrected(FedAvg):
    """Corrects the first half of the parameters: one operation for each of these."""

    def correct(self, gradient, w, local):
        half = w.shape[-1] // 2
        return torch.cat([gradient[..., :half] + w[..., :half], gradient[..., half:]], dim=-1)


class AllPairs(FedAvg):
    """Each parameter with each other."""

    def correct(self, gradient, w, local):
        return gradient + (w[..., :, None] * w[..., None, :]).sum(dim=-1)


def test_a_correction_of_a_part_of_the_parameters_is_priced_as_that_part():
    section = Training.model_validate({"batch_size": "full", "local_epochs": None, "local_steps": 1})
    data = Digits().load()
    sizes = np.array([10])
    plain = measure(Mlp(), FedAvg(), section, data, sizes)
    half = measure(Mlp(), HalfCorrected(), section, data, sizes)
    assert half.flops - plain.flops == pytest.approx(4_810 / 2)  # counted on 1,001 of the 4,810 parameters


def test_a_correction_that_grows_faster_than_the_model_is_refused():
    section = Training.model_validate({"batch_size": "full", "local_epochs": None, "local_steps": 1})
    with pytest.raises(InputError, match=r"AllPairs\.correct takes 1005 operations for each of 501 parameters"):
        measure(Mlp(), AllPairs(), section, Digits().load(), np.array([10]))
