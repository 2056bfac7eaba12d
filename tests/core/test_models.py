"""Models: published parameter counts, and costs against what torch counts."""

import pytest
import torch
from torch.utils.flop_counter import FlopCounterMode

from edgefl.models import MODELS
from edgefl.models.fcn import Fcn, Mlp
from edgefl.models.logistic import Logistic

CASES = [
    (Logistic(), (28, 28), 10, 7_850, 7_840),
    (Mlp(), (28, 28), 10, 50_890, 50_816),
    (Fcn(), (28, 28), 10, 199_210, 198_800),
    (Fcn(hidden=(100,)), (28, 28), 26, 81_126, 81_000),
    (Fcn(hidden=(100, 100)), (28, 28), 10, 89_610, 89_400),
]


@pytest.mark.parametrize(("model", "shape", "classes", "parameters", "multiplications"), CASES)
def test_published_sizes(model, shape, classes, parameters, multiplications):
    """Algorithm cards, section 4.1; the module itself; and torch's FLOP counter (2 FLOPs a multiplication)."""
    module = model.module(shape, classes)
    assert model.parameters(shape, classes) == parameters == sum(p.numel() for p in module.parameters())
    with FlopCounterMode(display=False) as counter:
        module(torch.zeros(3, *shape))
    assert model.multiplications(shape, classes) == multiplications == counter.get_total_flops() / 2 / 3


def test_a_price_replaces_counting():
    model = Logistic.model_validate({"cost": {"parameters": 667_178, "flops_per_parameter": 91.04}})
    assert model.payload_parameters((8, 8), 10) == 667_178
    assert model.flops_per_sample((8, 8), 10) == pytest.approx(667_178 * 91.04)
    assert Logistic().flops_per_sample((28, 28), 10) == 6 * 7_840


@pytest.mark.parametrize("name", list(MODELS.members))
def test_every_model_builds_from_defaults_and_cites_a_source(name):
    model = MODELS.load(name)()
    shape, classes = ((3,), 0) if name == "quadratic" else ((8, 8), 10)
    assert model.check(shape, classes) is None
    module = model.module(shape, classes)
    assert sum(p.numel() for p in module.parameters()) == model.parameters(shape, classes)
    outputs = module(torch.zeros(4, *shape))
    losses = model.sample_losses(outputs, torch.zeros(4, dtype=torch.long))
    assert losses.shape == (4,)
    assert "paper" in MODELS.summary(name)
