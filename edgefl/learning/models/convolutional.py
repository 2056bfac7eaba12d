"""Plain stacks of convolutions, which their subclasses describe as a table."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from edgefl.learning.models.dense import dense
from edgefl.learning.models.images import ConvolutionCost, ImageModel, StageCost, channels_first, entrance

if TYPE_CHECKING:
    from torch import nn


class Convolutional(ImageModel):
    """Base: stages of convolutions with ReLU, each ended by max-pooling of 2x2, then dense layers with ReLU."""

    stages: ClassVar[tuple[tuple[int, ...], ...]]  # output channels of each convolution of each stage
    kernel: ClassVar[int]
    padding: ClassVar[int] = 0
    normalises: ClassVar[bool] = False  # batches, before each ReLU
    averages: ClassVar[bool] = False  # each map to its mean before the dense layers

    def check(self, shape: tuple[int, ...], classes: int) -> str | None:
        """Return why the data do not fit; None if they are images that leave something after the last stage."""
        reason = super().check(shape, classes)
        if reason is None and self._stages(shape)[-1].area == 0:
            return f"needs larger images, got samples of shape {list(shape)}"
        return reason

    def module(self, shape: tuple[int, ...], classes: int) -> nn.Sequential:
        """Return the network; input [B, H, W] or [B, channels, H, W], output [B, classes]."""
        from torch import nn

        layers = entrance(shape)
        inputs, _, _ = channels_first(shape)
        for stage in self.stages:
            for outputs in stage:
                layers.append(nn.Conv2d(inputs, outputs, self.kernel, padding=self.padding))
                if self.normalises:
                    layers.append(nn.BatchNorm2d(outputs))
                layers.append(nn.ReLU())
                inputs = outputs
            layers.append(nn.MaxPool2d(2))
        if self.averages:
            layers.append(nn.AdaptiveAvgPool2d(1))
        return nn.Sequential(*layers, nn.Flatten(), *dense(self._widths(shape, classes)))

    def _stages(self, shape: tuple[int, ...]) -> list[StageCost]:
        """Return each convolution as a stage of its own, with the pooling that follows it: a chain can be cut there."""
        inputs, height, width = channels_first(shape)
        costs = []
        for stage in self.stages:
            for number, outputs in enumerate(stage, 1):
                height = self._side_after(height)
                width = self._side_after(width)
                convolution = ConvolutionCost(inputs, outputs, self.kernel, height * width)
                if number == len(stage):  # pooling ends a stage: a cut after its last convolution sends the pooled map
                    height //= 2
                    width //= 2
                costs.append(StageCost([convolution], height * width))
                inputs = outputs
        return costs

    def _side_after(self, side: int) -> int:
        return max(0, side + 2 * self.padding - self.kernel + 1)

    def _stage_names(self) -> tuple[str, ...]:
        count = sum(len(stage) for stage in self.stages)
        return tuple(f"conv{number}" for number in range(1, count + 1))

    def _widths(self, shape: tuple[int, ...], classes: int) -> tuple[int, ...]:
        area = 1
        if not self.averages:
            area = self._stages(shape)[-1].area
        channels = self.stages[-1][-1]
        return (channels * area, *self.hidden, classes)

    def _channel_parameters(self) -> int:
        if self.normalises:
            return 3  # the bias; gain and shift of the normalisation
        return 1
