"""What a round weighs: operations counted from what hooks do, floats from what they return."""

import numpy as np
import pytest

from edgefl.algorithms import ALGORITHMS
from edgefl.datasets.digits import Digits
from edgefl.models.fcn import Mlp
from edgefl.payload import measure
from edgefl.scenario import Training

DATA = Digits().load()
D, MULTIPLICATIONS = 4_810, 64 * 64 + 64 * 10
SIZES = np.array([10, 120])
VECTOR_OPERATIONS = {"fedavg": 0, "fedprox": 3, "scaffold": 2, "feddyn": 4}  # a step and parameter, beside the solver's
FLOATS = {"fedavg": (1, 1), "fedprox": (1, 1), "scaffold": (2, 2), "feddyn": (1, 1)}  # cards, section 0.5


def measured(name, model=None, **training):
    section = Training.model_validate({"batch_size": 50, "local_epochs": 2, **training})
    return measure(model or Mlp(), ALGORITHMS.load(name)(), section, DATA, SIZES)


@pytest.mark.parametrize("name", list(FLOATS))
def test_operations_of_a_round(name):
    """Forward and backward 6 a multiplication and sample; 2 a parameter and step for SGD, and the correction's."""
    steps = np.array([2 * 1, 2 * 3])
    expected = 2 * SIZES * 6 * MULTIPLICATIONS + steps * D * (2 + VECTOR_OPERATIONS[name])
    assert measured(name).flops == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize(
    ("setting", "operations"),
    [
        ({"weight_decay": 0.1}, 2),
        ({"momentum": 0.9}, 2),
        ({"clip_norm": 1.0}, 3),
        ({"momentum": 0.9, "clip_norm": 1.0}, 5),
    ],
)
def test_operations_of_the_solver(setting, operations):
    more = measured("fedavg", **setting).flops - measured("fedavg").flops
    assert more == pytest.approx(np.array([2, 6]) * D * operations)


@pytest.mark.parametrize("name", list(FLOATS))
def test_bits_on_the_air(name):
    down, up = FLOATS[name]
    payload = measured(name)
    assert (payload.down_bits, payload.up_bits) == (32 * D * down, 32 * D * up)


def test_a_priced_model_costs_its_price_and_no_more():
    model = Mlp.model_validate({"cost": {"parameters": 1000, "flops_per_parameter": 7.5}})
    payload = measured("fedprox", model, local_epochs=None, local_steps=4)
    assert payload.flops == pytest.approx(np.array([4 * 10, 50 + 50 + 20 + 50]) * 7500)
    assert payload.down_bits == 32_000
