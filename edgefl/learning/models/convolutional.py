"""Plain stacks of convolutions."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from edgefl.learning.models.dense import dense
from edgefl.learning.models.images import ConvolutionCost, ImageModel, channels_first, entrance

if TYPE_CHECKING:
    from torch import nn


class Convolutional(ImageModel):
    """Base: stages of convolutions with ReLU, each ended by max-pooling of 2x2, then dense layers with ReLU."""

    stages: ClassVar[tuple[tuple[int, ...], ...]]  # output channels of each convolution of each stage
    kernel: ClassVar[int]
    padding: ClassVar[int] = 0
    averages: ClassVar[bool] = False  # each map to its mean before the dense layers

    def check(self, shape: tuple[int, ...], classes: int) -> str | None:
        """Images of which something is left after the last stage."""
        reason = super().check(shape, classes)
        if reason is None and self._stages(shape)[-1][1] == 0:
            return f"needs larger images, got samples of shape {list(shape)}"
        return reason

    def module(self, shape: tuple[int, ...], classes: int) -> nn.Sequential:
        """Input [B, H, W] or [B, channels, H, W], output [B, classes]."""
        from torch import nn

        layers, channels = entrance(shape), channels_first(shape)[0]
        for stage in self.stages:
            for outputs in stage:
                layers.append(nn.Conv2d(channels, outputs, self.kernel, padding=self.padding))
                layers += self._activation(outputs)
                channels = outputs
            layers.append(nn.MaxPool2d(2))
        if self.averages:
            layers.append(nn.AdaptiveAvgPool2d(1))
        return nn.Sequential(*layers, nn.Flatten(), *dense(self._widths(shape, classes)))

    def _activation(self, channels: int) -> list[nn.Module]:
        """What follows a convolution."""
        from torch import nn

        return [nn.ReLU()]

    def _stages(self, shape: tuple[int, ...]) -> list[tuple[list[ConvolutionCost], int]]:
        """Each convolution by itself, with the pooling that follows it."""
        channels, height, width = channels_first(shape)
        found = []
        for stage in self.stages:
            for number, outputs in enumerate(stage, 1):
                height, width = (max(0, side + 2 * self.padding - self.kernel + 1) for side in (height, width))
                layer = ConvolutionCost(channels, outputs, self.kernel, height * width)
                channels = outputs
                if number == len(stage):
                    height, width = height // 2, width // 2
                found.append(([layer], height * width))
        return found

    def _stage_names(self) -> tuple[str, ...]:
        return tuple(f"conv{number}" for number in range(1, sum(map(len, self.stages)) + 1))

    def _widths(self, shape: tuple[int, ...], classes: int) -> tuple[int, ...]:
        area = 1 if self.averages else self._stages(shape)[-1][1]
        return (self.stages[-1][-1] * area, *self.hidden, classes)

    def _channel_parameters(self) -> int:
        return 1  # the bias
