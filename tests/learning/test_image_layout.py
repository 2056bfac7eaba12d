"""Which images get their channels last in memory; that results do not change is tested of every model and engine."""

import pytest
import torch

from edgefl.learning.learner.kernels.image_layout import fastest_layout
from edgefl.learning.learner.networks.network import Network
from edgefl.learning.models.cnn import SvhnCnn
from edgefl.learning.models.resnet import ResNet18, ResNet20

SHAPE = (3, 32, 32)


class Derived(SvhnCnn):
    """A model from outside that is derived from one of ours."""


def laid_out(model, x):
    module = model.module(SHAPE, 10)
    return fastest_layout(x, model, Network(module))


@pytest.mark.parametrize("model", [SvhnCnn(), ResNet20()])
def test_small_models_of_images_get_channels_last(model):
    x = torch.randn(2, *SHAPE)
    found = laid_out(model, x)
    assert found.stride() == (3 * 32 * 32, 1, 3 * 32, 3)
    assert torch.equal(found, x)


@pytest.mark.parametrize("model", [ResNet18(), Derived()])
@pytest.mark.oracle
def test_large_ones_and_those_from_outside_get_images_as_they_are(model):
    x = torch.randn(2, *SHAPE)
    assert laid_out(model, x) is x


def test_gray_images_have_one_layout():
    x = torch.randn(2, 28, 28)
    model = SvhnCnn()
    assert fastest_layout(x, model, Network(model.module((28, 28), 10))) is x
