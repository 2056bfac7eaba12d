"""Logistic regression."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING

from edgefl.models.base import Model

if TYPE_CHECKING:
    from torch import nn


class Logistic(Model):
    """Multinomial logistic regression: 7,850 parameters on MNIST (dynamic-devices paper, Table I; FedAR)."""

    def module(self, shape: tuple[int, ...], classes: int) -> nn.Module:
        """One linear layer with bias."""
        from torch import nn

        return nn.Sequential(nn.Flatten(), nn.Linear(prod(shape), classes))

    def parameters(self, shape: tuple[int, ...], classes: int) -> int:
        """Weights and biases."""
        return (prod(shape) + 1) * classes

    def multiplications(self, shape: tuple[int, ...], classes: int) -> int:
        """One a weight."""
        return prod(shape) * classes
