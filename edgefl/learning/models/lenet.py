"""LeNet: convolutions with ReLU, each followed by max-pooling of 2x2, then dense layers.

model            convolutions        dense      parameters                              source
lenet5           5x5, 6; 5x5, 16     120, 84    44,426 on MNIST; 62,006 on CIFAR-10     sequential-FL paper; FedAR paper
lenet_femnist    3x3, 6; 3x3, 10     100        31,972 on FEMNIST                       FedEve paper's program
"""

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

    dropout: Annotated[float, Field(ge=0, lt=1)] = 0.5  # Share of values that are dropped before each dense layer.

    stages: ClassVar[tuple[tuple[int, ...], ...]] = ((6,), (10,))
    kernel: ClassVar[int] = 3
    hidden: ClassVar[tuple[int, ...]] = (100,)

    def module(self, shape: tuple[int, ...], classes: int) -> nn.Sequential:
        """Return the network: as the base, with dropout before each dense layer."""
        from torch import nn

        layers: list[nn.Module] = []
        for layer in super().module(shape, classes):
            if isinstance(layer, nn.Linear):
                layers.append(nn.Dropout(self.dropout))
            layers.append(layer)
        return nn.Sequential(*layers)
