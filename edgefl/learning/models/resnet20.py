"""The small residual network for images of CIFAR's size, without norm (He et al., CVPR 2016, section 4.2).

    stage     layers                          map for 32x32 images
    conv1     3x3, 16                         32x32
    layer1    3 x (3x3, 16; 3x3, 16)          32x32
    layer2    3 x (3x3, 32; 3x3, 32)          16x16
    layer3    3 x (3x3, 64; 3x3, 64)          8x8
    fc        mean of each map, classes

270,906 parameters on CIFAR-10. Shortcuts between stages are 1x1 convolutions (program of the FedEve paper).
"""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING

from edgefl.learning.models.images import ConvolutionCost, ImageModel, StageCost, channels_first, entrance
from edgefl.learning.models.resnet import residual_names, residual_stages

if TYPE_CHECKING:
    from torch import nn

STAGE_WIDTHS = (16, 32, 64)  # channels of each stage
BLOCKS = (3, 3, 3)  # of two convolutions, in each stage


class ResNet20(ImageModel):
    """ResNet-20 for CIFAR without norm: 270,906 parameters on CIFAR-10 (program of the FedEve paper)."""

    def module(self, shape: tuple[int, ...], classes: int) -> nn.Module:
        """Return the network; input [B, H, W] or [B, channels, H, W], output [B, classes]."""
        from torch import nn
        from torchvision.models.resnet import BasicBlock

        image_channels, _, _ = channels_first(shape)
        inputs = STAGE_WIDTHS[0]
        layers = [*entrance(shape), nn.Conv2d(image_channels, inputs, 3, padding=1, bias=False), nn.ReLU()]
        for outputs, count in zip(STAGE_WIDTHS, BLOCKS, strict=True):
            for _ in range(count):
                shortcut = None
                stride = 1
                if outputs != inputs:
                    shortcut = nn.Conv2d(inputs, outputs, 1, stride=2, bias=False)
                    stride = 2
                layers.append(BasicBlock(inputs, outputs, stride, shortcut, norm_layer=nn.Identity))
                inputs = outputs
        return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(inputs, classes))

    def _stages(self, shape: tuple[int, ...]) -> list[StageCost]:
        channels, *sides = channels_first(shape)
        stem = ConvolutionCost(channels, STAGE_WIDTHS[0], 3, prod(sides))
        return residual_stages(stem, sides, STAGE_WIDTHS, BLOCKS)

    def _stage_names(self) -> tuple[str, ...]:
        return residual_names(BLOCKS)

    def _widths(self, shape: tuple[int, ...], classes: int) -> tuple[int, ...]:
        return (STAGE_WIDTHS[-1], classes)

    def _channel_parameters(self) -> int:
        return 0  # neither bias nor norm
