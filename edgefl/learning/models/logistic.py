"""Logistic regression.

input    output    parameters
784      10        7,850        MNIST
"""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING

from edgefl.learning.models.base import LayerCost, Model
from edgefl.learning.models.dense import dense_costs

if TYPE_CHECKING:
    from torch import nn


class Logistic(Model):
    """Multinomial logistic regression: 7,850 parameters on MNIST (dynamic-devices paper, Table I; FedAR)."""

    def module(self, shape: tuple[int, ...], classes: int) -> nn.Module:
        """Return one linear layer with bias."""
        from torch import nn

        return nn.Sequential(nn.Flatten(), nn.Linear(prod(shape), classes))

    def layers(self, shape: tuple[int, ...], classes: int) -> list[LayerCost]:
        """Return the cost of the single layer."""
        return dense_costs((prod(shape), classes))
