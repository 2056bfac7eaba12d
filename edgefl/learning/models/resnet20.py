"""The small residual network for images of CIFAR's size."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING

from edgefl.learning.models.images import ConvolutionCost, ImageModel, channels_first, entrance
from edgefl.learning.models.resnet import residual_stages

if TYPE_CHECKING:
    from torch import nn

WIDTHS, BLOCKS = (16, 32, 64), (3, 3, 3)  # channels of each stage, blocks of two convolutions


class ResNet20(ImageModel):
    """ResNet-20 for CIFAR without norm: 270,906 parameters on CIFAR-10 (program of the FedEve paper)."""

    def module(self, shape: tuple[int, ...], classes: int) -> nn.Module:
        """Input [B, H, W] or [B, channels, H, W], output [B, classes]; shortcuts are projected by 1x1 convolutions."""
        from torch import nn
        from torchvision.models.resnet import BasicBlock

        channels, stem = WIDTHS[0], nn.Conv2d(channels_first(shape)[0], WIDTHS[0], 3, padding=1, bias=False)
        layers = [*entrance(shape), stem, nn.ReLU()]
        for outputs, count in zip(WIDTHS, BLOCKS, strict=True):
            for _ in range(count):
                shortcut = None if outputs == channels else nn.Conv2d(channels, outputs, 1, stride=2, bias=False)
                stride = 1 if shortcut is None else 2
                layers.append(BasicBlock(channels, outputs, stride, shortcut, norm_layer=nn.Identity))
                channels = outputs
        return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(channels, classes))

    def _stages(self, shape: tuple[int, ...]) -> list[tuple[list[ConvolutionCost], int]]:
        """The first convolution, and the blocks of the same number of channels."""
        channels, *sides = channels_first(shape)
        return residual_stages(ConvolutionCost(channels, WIDTHS[0], 3, prod(sides)), sides, WIDTHS, BLOCKS)

    def _stage_names(self) -> tuple[str, ...]:
        return ("conv1", *(f"layer{number}" for number in range(1, len(WIDTHS) + 1)))

    def _widths(self, shape: tuple[int, ...], classes: int) -> tuple[int, ...]:
        return (WIDTHS[-1], classes)

    def _channel_parameters(self) -> int:
        return 0
