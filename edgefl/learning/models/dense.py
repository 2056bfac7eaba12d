"""Linear layers with ReLU between them, and how they are counted; widths run from the input to the output."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

from edgefl.learning.models.base import LayerCost

if TYPE_CHECKING:
    from torch import nn


def dense(widths: Sequence[int], dropout: float | None = None) -> list[nn.Module]:
    """Return the layers: [..., widths[0]] to [..., widths[-1]]; `dropout`, if any, stands before each ReLU."""
    from torch import nn

    layers: list[nn.Module] = []
    for inputs, outputs in pairwise(widths):
        if layers:
            if dropout:
                layers.append(nn.Dropout(dropout))
            layers.append(nn.ReLU())
        layers.append(nn.Linear(inputs, outputs))
    return layers


def dense_costs(widths: Sequence[int]) -> list[LayerCost]:
    """Return the cost of each layer: weights and biases as parameters, one multiplication for each weight."""
    return [LayerCost((inputs + 1) * outputs, inputs * outputs, outputs) for inputs, outputs in pairwise(widths)]


def dense_cuts(hidden: Sequence[int]) -> tuple[str, ...]:
    """Return the names of the hidden layers."""
    return tuple(f"fc{number}" for number in range(1, len(hidden) + 1))
