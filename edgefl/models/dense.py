"""Linear layers with ReLU between them, and what they cost; widths run from the input to the output."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from torch import nn


def dense(widths: Sequence[int]) -> list[nn.Module]:
    """The layers: [..., widths[0]] to [..., widths[-1]]."""
    from torch import nn

    layers: list[nn.Module] = []
    for inputs, outputs in pairwise(widths):
        layers += [nn.Linear(inputs, outputs), nn.ReLU()]
    return layers[:-1]


def dense_parameters(widths: Sequence[int]) -> int:
    """Weights and biases."""
    return sum((inputs + 1) * outputs for inputs, outputs in pairwise(widths))


def dense_multiplications(widths: Sequence[int]) -> int:
    """One a weight."""
    return sum(inputs * outputs for inputs, outputs in pairwise(widths))
