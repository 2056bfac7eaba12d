"""Data that fit each model of the catalogue."""

import pytest
import torch

from edgefl.learning.models import MODELS

SHAPES = {
    "llama": ((8,), 10),  # one sample of fitting data, and classes; (8, 8) and 10 for all others
    "lenet5": ((16, 16), 10),
    "lenet_femnist": ((16, 16), 10),
    "cnn": ((16, 16), 10),
    "cnn_mifa": ((16, 16), 10),
    "vgg9": ((32, 32), 10),
    "fasttext": ((5,), 4),
    "din": ((9,), 2),
    "quadratic": ((3,), 0),
}


# They take long, and differ from ResNet-18 only in their depth, or by a projection before the last layer.
VARIANTS = {"resnet34", "resnet34_feat", "resnet18_feat"}
MODEL_NAMES = [pytest.param(name, marks=pytest.mark.slow) if name in VARIANTS else name for name in MODELS.members]


def default(name):
    """A member, and the shape and classes of data for it."""
    return MODELS.load(name)(), *SHAPES.get(name, ((8, 8), 10))


def samples(model, shape, count=3):
    """Random samples of the model's kind; id 2 exists in all tables of embeddings."""
    return torch.randint(1, 3, (count, *shape)) if model.tokens else torch.rand(count, *shape)
