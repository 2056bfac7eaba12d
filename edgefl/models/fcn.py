"""Fully connected networks."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING, Annotated

from pydantic import Field

from edgefl.models.base import Model
from edgefl.models.dense import dense, dense_multiplications, dense_parameters
from edgefl.section import Count

if TYPE_CHECKING:
    from torch import nn

Widths = Annotated[tuple[Count, ...], Field(strict=False)]


class Fcn(Model):
    """Fully connected, ReLU, two hidden layers of 200: 199,210 parameters on MNIST (FedSSG paper, section 5)."""

    hidden: Widths = (200, 200)

    def _widths(self, shape: tuple[int, ...], classes: int) -> tuple[int, ...]:
        return (prod(shape), *self.hidden, classes)

    def module(self, shape: tuple[int, ...], classes: int) -> nn.Module:
        """Flatten, then linear layers with ReLU between them."""
        from torch import nn

        return nn.Sequential(nn.Flatten(), *dense(self._widths(shape, classes)))

    def parameters(self, shape: tuple[int, ...], classes: int) -> int:
        """Weights and biases."""
        return dense_parameters(self._widths(shape, classes))

    def multiplications(self, shape: tuple[int, ...], classes: int) -> int:
        """One a weight."""
        return dense_multiplications(self._widths(shape, classes))


class Mlp(Fcn):
    """Fully connected, ReLU, one hidden layer of 64: 50,890 parameters on MNIST (sequential-FL paper)."""

    hidden: Widths = (64,)
