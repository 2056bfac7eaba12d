"""Logistic regression."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING

from edgefl.learning.models.base import LayerCost, Model
from edgefl.learning.models.dense import dense_layers

if TYPE_CHECKING:
    from torch import nn


class Logistic(Model):
    """Multinomial logistic regression: 7,850 parameters on MNIST (dynamic-devices paper, Table I; FedAR)."""

    def module(self, shape: tuple[int, ...], classes: int) -> nn.Module:
        """One linear layer with bias."""
        from torch import nn

        return nn.Sequential(nn.Flatten(), nn.Linear(prod(shape), classes))

    def layers(self, shape: tuple[int, ...], classes: int) -> list[LayerCost]:
        """A single one."""
        return dense_layers((prod(shape), classes))
