"""LeNet."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, ClassVar

from pydantic import Field

from edgefl.learning.models.convolutional import Convolutional

if TYPE_CHECKING:
    from torch import nn


class LeNet5(Convolutional):
    """LeNet-5 with ReLU: 44,426 parameters on MNIST (sequential-FL paper), 62,006 on CIFAR-10 (FedAR paper)."""

    stages: ClassVar[tuple[tuple[int, ...], ...]] = ((6,), (16,))
    kernel: ClassVar[int] = 5
    hidden: ClassVar[tuple[int, ...]] = (120, 84)


class LeNetFemnist(Convolutional):
    """A smaller LeNet of 3x3 convolutions: 31,972 parameters on FEMNIST (program of the FedEve paper)."""

    dropout: Annotated[float, Field(ge=0, lt=1)] = 0.5  # before each dense layer

    stages: ClassVar[tuple[tuple[int, ...], ...]] = ((6,), (10,))
    kernel: ClassVar[int] = 3
    hidden: ClassVar[tuple[int, ...]] = (100,)

    def module(self, shape: tuple[int, ...], classes: int) -> nn.Sequential:
        """As the base, with dropout before each dense layer."""
        from torch import nn

        layers: list[nn.Module] = []
        for layer in super().module(shape, classes):
            layers += [nn.Dropout(self.dropout), layer] if isinstance(layer, nn.Linear) else [layer]
        return nn.Sequential(*layers)
