"""VGG-9 without normalisation (sequential-FL paper, section 5).

    stage     layers, each 3x3 convolution with ReLU     map for 32x32 images
    1         32                                         16x16 after max-pooling of 2x2
    2         64                                         8x8
    3         128, 128                                   4x4
    4         256, 256                                   2x2
    5         256, 256                                   1x1
    dense     classes, from the mean of each map

2,308,810 parameters on CIFAR-10.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from edgefl.learning.models.convolutional import Convolutional

if TYPE_CHECKING:
    from torch import nn


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
