"""Stacks of plain convolutions, each followed by ReLU, between max-pooling of 2x2; then dense layers.

    model           convolutions (comma: pooling; plus: none)           dense      parameters
    lenet5          5x5: 6, 16                                          120, 84    44,426 on MNIST
    lenet_femnist   3x3: 6, 10                                          100        31,972 on FEMNIST
    cnn             5x5: 64, 64                                         384, 192   797,962 on CIFAR-10
    cnn_mnist       5x5: 32, 32                                         128        228,586 on F.-MNIST
    cnn_femnist     3x3: 32 + 64                                        128        1,206,590 on FEMNIST
    cnn_mifa        5x5: 32, 64                                         512        582,026 on MNIST
    svhn_cnn        3x3: 32 + 32, 64 + 64, 128                          256        667,178 on SVHN
    vgg9            3x3: 32, 64, 128 + 128, 256 + 256, 256 + 256        -          2,308,810 on CIFAR-10

cnn_mnist, svhn_cnn and vgg9 pad, so that a convolution keeps the size of its map. svhn_cnn normalises each batch, with
640 of its parameters, and vgg9's last layer gets the mean of each map.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, ClassVar

from pydantic import Field

from edgefl.learning.models.convolutional import Convolutional

if TYPE_CHECKING:
    from torch import nn

Dropout = Annotated[float, Field(ge=0, lt=1)]


class LeNet5(Convolutional):
    """LeNet-5 with ReLU: 44,426 parameters on MNIST (sequential-FL paper), 62,006 on CIFAR-10 (FedAR paper)."""

    stages: ClassVar[tuple[tuple[int, ...], ...]] = ((6,), (16,))
    kernel: ClassVar[int] = 5
    hidden: ClassVar[tuple[int, ...]] = (120, 84)


class LeNetFemnist(Convolutional):
    """A smaller LeNet of 3x3 convolutions: 31,972 parameters on FEMNIST (program of the FedEve paper)."""

    dropout: Dropout = 0.5  # Share of values that are dropped before each dense layer.

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


class Cnn(Convolutional):
    """Two 5x5 convolutions of 64, dense 384 and 192: 797,962 parameters on CIFAR-10 (FedSSG paper, A.1.2)."""

    stages: ClassVar[tuple[tuple[int, ...], ...]] = ((64,), (64,))
    kernel: ClassVar[int] = 5
    hidden: ClassVar[tuple[int, ...]] = (384, 192)


class CnnMnist(Convolutional):
    """Two padded 5x5 convolutions of 32, dense 128: 228,586 parameters on Fashion-MNIST (sequential-FL paper)."""

    stages: ClassVar[tuple[tuple[int, ...], ...]] = ((32,), (32,))
    kernel: ClassVar[int] = 5
    padding: ClassVar[int] = 2
    hidden: ClassVar[tuple[int, ...]] = (128,)


class CnnFemnist(Convolutional):
    """Two 3x3 convolutions of 32 and 64, dense 128: 1,206,590 parameters on FEMNIST (program of the FedEve paper)."""

    stages: ClassVar[tuple[tuple[int, ...], ...]] = ((32, 64),)
    kernel: ClassVar[int] = 3
    hidden: ClassVar[tuple[int, ...]] = (128,)


class CnnMifa(Convolutional):
    """Two 5x5 convolutions of 32 and 64, dense 512: 582,026 parameters on MNIST (program of the MIFA paper)."""

    stages: ClassVar[tuple[tuple[int, ...], ...]] = ((32,), (64,))
    kernel: ClassVar[int] = 5
    hidden: ClassVar[tuple[int, ...]] = (512,)


class SvhnCnn(Convolutional):
    """Five 3x3 convolutions with batch norm, dense 256: 667,178 parameters on SVHN (dynamic-devices paper, Table I)."""

    dropout: Dropout = 0.4  # Share of values that are dropped before the last layer.

    stages: ClassVar[tuple[tuple[int, ...], ...]] = ((32, 32), (64, 64), (128,))
    kernel: ClassVar[int] = 3
    padding: ClassVar[int] = 1
    normalises: ClassVar[bool] = True
    hidden: ClassVar[tuple[int, ...]] = (256,)

    def module(self, shape: tuple[int, ...], classes: int) -> nn.Sequential:
        """Return the network: as the base, with dropout before the last layer."""
        from torch import nn

        stack = super().module(shape, classes)
        stack.insert(len(stack) - 1, nn.Dropout(self.dropout))
        return stack


class Vgg9(Convolutional):
    """VGG-9 without normalisation: 2,308,810 parameters on CIFAR-10 (sequential-FL paper, section 5)."""

    stages: ClassVar[tuple[tuple[int, ...], ...]] = ((32,), (64,), (128, 128), (256, 256), (256, 256))
    kernel: ClassVar[int] = 3
    padding: ClassVar[int] = 1
    averages: ClassVar[bool] = True
    usual_cut: ClassVar[int] = 4

    def module(self, shape: tuple[int, ...], classes: int) -> nn.Sequential:
        """Return the network: as the base, with torchvision's initialisation of VGG.

        Through this many layers without normalisation signals fade under torch's own initialisation, which is smaller.
        """
        from torch import nn

        stack = super().module(shape, classes)
        for name, parameter in stack.named_parameters():
            if name.endswith("bias"):
                nn.init.zeros_(parameter)
            elif parameter.dim() == 4:  # weights of a convolution
                nn.init.kaiming_normal_(parameter, mode="fan_out", nonlinearity="relu")
            else:
                nn.init.normal_(parameter, std=0.01)
        return stack
