"""Fully connected networks, with ReLU between the layers.

model    hidden layers    MNIST      source
mlp      64               50,890     sequential-FL paper
fcn      200, 200         199,210    FedSSG paper, section 5
"""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING, Annotated

from pydantic import Field

from edgefl.core.section import Count
from edgefl.learning.models.base import LayerCost, Model
from edgefl.learning.models.dense import dense, dense_costs, dense_cuts

if TYPE_CHECKING:
    from torch import nn

Widths = Annotated[tuple[Count, ...], Field(strict=False)]


class Fcn(Model):
    """Fully connected, ReLU, two hidden layers of 200: 199,210 parameters on MNIST (FedSSG paper, section 5)."""

    hidden: Widths = (200, 200)  # Width of each hidden layer.
    # Share of values that are dropped before each ReLU; 0.5 in the sequential-FL paper. By default none are.
    dropout: Annotated[float, Field(gt=0, lt=1)] | None = None

    def module(self, shape: tuple[int, ...], classes: int) -> nn.Module:
        """Return the network: flatten, then linear layers with ReLU between them."""
        from torch import nn

        return nn.Sequential(nn.Flatten(), *dense(self._widths(shape, classes), self.dropout))

    def layers(self, shape: tuple[int, ...], classes: int) -> list[LayerCost]:
        """Return the costs of fc1, fc2, ..."""
        return dense_costs(self._widths(shape, classes))

    def cuts(self) -> tuple[str, ...]:
        """Return the names of the hidden layers."""
        return dense_cuts(self.hidden)

    def _widths(self, shape: tuple[int, ...], classes: int) -> tuple[int, ...]:
        return (prod(shape), *self.hidden, classes)


class Mlp(Fcn):
    """Fully connected, ReLU, one hidden layer of 64: 50,890 parameters on MNIST (sequential-FL paper)."""

    hidden: Widths = (64,)  # Width of each hidden layer.
