"""VGG."""

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
        """As the base; starts from VGG's initialisation, as signals fade in so many layers from any smaller one."""
        from torch import nn

        stack = super().module(shape, classes)
        for name, parameter in stack.named_parameters():
            if name.endswith("bias"):
                nn.init.zeros_(parameter)
            elif parameter.dim() == 4:  # of a convolution
                nn.init.kaiming_normal_(parameter, mode="fan_out", nonlinearity="relu")
            else:
                nn.init.normal_(parameter, std=0.01)
        return stack
