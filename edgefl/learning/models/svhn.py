"""The network for street-view house numbers (dynamic-devices paper, Table I).

    stage     layers                                                 map for 32x32 images
    1         2 x (3x3 convolution of 32, batch norm, ReLU)          16x16 after max-pooling of 2x2
    2         2 x (3x3 convolution of 64, batch norm, ReLU)          8x8
    3         3x3 convolution of 128, batch norm, ReLU               4x4
    dense     256, ReLU, dropout 0.4, classes

667,178 parameters, of them 640 of the batch norms.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, ClassVar

from pydantic import Field

from edgefl.learning.models.convolutional import Convolutional

if TYPE_CHECKING:
    from torch import nn


class SvhnCnn(Convolutional):
    """Five 3x3 convolutions with batch norm, dense 256: 667,178 parameters on SVHN (dynamic-devices paper, Table I)."""

    dropout: Annotated[float, Field(ge=0, lt=1)] = 0.4  # Share of values that are dropped before the last layer.

    stages: ClassVar[tuple[tuple[int, ...], ...]] = ((32, 32), (64, 64), (128,))
    kernel: ClassVar[int] = 3
    padding: ClassVar[int] = 1
    hidden: ClassVar[tuple[int, ...]] = (256,)

    def module(self, shape: tuple[int, ...], classes: int) -> nn.Sequential:
        """Return the network: as the base, with dropout before the last layer."""
        from torch import nn

        stack = super().module(shape, classes)
        stack.insert(len(stack) - 1, nn.Dropout(self.dropout))
        return stack

    def _activation(self, channels: int) -> list[nn.Module]:
        from torch import nn

        return [nn.BatchNorm2d(channels), nn.ReLU()]

    def _channel_parameters(self) -> int:
        return 3  # the bias; gain and shift of the normalisation
