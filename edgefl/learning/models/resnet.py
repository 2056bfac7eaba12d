"""Residual networks of basic blocks, as torchvision has them (He et al., CVPR 2016, Table 1).

    stage     ResNet-18                      ResNet-34                      map for 32x32 images, stem: cifar
    conv1     3x3, 64                        3x3, 64                        32x32
    layer1    2 x (3x3, 64; 3x3, 64)         3 x (3x3, 64; 3x3, 64)         32x32
    layer2    2 x (3x3, 128; 3x3, 128)       4 x (3x3, 128; 3x3, 128)       16x16
    layer3    2 x (3x3, 256; 3x3, 256)       6 x (3x3, 256; 3x3, 256)       8x8
    layer4    2 x (3x3, 512; 3x3, 512)       3 x (3x3, 512; 3x3, 512)       4x4
    fc        mean of each map, classes      the same

`stem: imagenet` begins with 7x7 and max-pooling, each of stride two. Shortcuts between stages are 1x1 convolutions.
resnet20, for images of CIFAR's size (section 4.2), has no norm; its three stages of 3 blocks have 16, 32, 64 channels.
The `_feat` models put a projection 512-512-256 before the last layer (dynamic-devices paper, Table I).
"""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING, ClassVar, Literal

from edgefl.learning.models.dense import dense
from edgefl.learning.models.images import ConvolutionCost, ImageModel, StageCost, channels_first, entrance

if TYPE_CHECKING:
    from torch import nn

Norm = Literal["group", "batch", "none"]
Stem = Literal["cifar", "imagenet"]


class Residual(ImageModel):
    """Base: a convolution, then stages of residual blocks; a block is two 3x3 convolutions.

    Where the channels change from one stage to the next, the map is halved and the shortcut projected.
    """

    widths: ClassVar[tuple[int, ...]]  # channels of each stage
    blocks: ClassVar[tuple[int, ...]]  # of each stage

    def _stem(self, shape: tuple[int, ...]) -> tuple[ConvolutionCost, list[int]]:
        """Return the first convolution, and the sides of the map that the first stage gets."""
        channels, *sides = channels_first(shape)
        return ConvolutionCost(channels, self.widths[0], 3, prod(sides)), sides

    def _stages(self, shape: tuple[int, ...]) -> list[StageCost]:
        stem, sides = self._stem(shape)
        stages = [StageCost([stem], prod(sides))]
        inputs = stem.outputs
        for outputs, count in zip(self.widths, self.blocks, strict=True):
            convolutions = []
            if outputs != inputs:
                sides = halves(sides)
                convolutions.append(ConvolutionCost(inputs, outputs, 1, prod(sides)))
            area = prod(sides)
            convolutions.append(ConvolutionCost(inputs, outputs, 3, area))
            convolutions += [ConvolutionCost(outputs, outputs, 3, area)] * (2 * count - 1)
            stages.append(StageCost(convolutions, area))
            inputs = outputs
        return stages

    def _stage_names(self) -> tuple[str, ...]:
        return ("conv1", *(f"layer{number}" for number in range(1, len(self.blocks) + 1)))  # as torchvision has them

    def _widths(self, shape: tuple[int, ...], classes: int) -> tuple[int, ...]:
        return (self.widths[-1], *self.hidden, classes)


class ResNet20(Residual):
    """ResNet-20 for CIFAR without norm: 270,906 parameters on CIFAR-10 (program of the FedEve paper)."""

    widths: ClassVar[tuple[int, ...]] = (16, 32, 64)
    blocks: ClassVar[tuple[int, ...]] = (3, 3, 3)

    def module(self, shape: tuple[int, ...], classes: int) -> nn.Module:
        """Return the network; input [B, H, W] or [B, channels, H, W], output [B, classes]."""
        from torch import nn
        from torchvision.models.resnet import BasicBlock

        image_channels, _, _ = channels_first(shape)
        inputs = self.widths[0]
        layers = [*entrance(shape), nn.Conv2d(image_channels, inputs, 3, padding=1, bias=False), nn.ReLU()]
        for outputs, count in zip(self.widths, self.blocks, strict=True):
            for _ in range(count):
                shortcut = None
                stride = 1
                if outputs != inputs:
                    shortcut = nn.Conv2d(inputs, outputs, 1, stride=2, bias=False)
                    stride = 2
                layers.append(BasicBlock(inputs, outputs, stride, shortcut, norm_layer=nn.Identity))
                inputs = outputs
        return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(inputs, classes))

    def _channel_parameters(self) -> int:
        return 0  # neither bias nor norm


class ResNet18(Residual):
    """ResNet-18, group norm: 11,173,962 parameters on CIFAR-10 (FedEve paper); no norm (sequential-FL paper)."""

    norm: Norm = "group"  # Normalisation after each convolution.
    groups: Literal[1, 2, 4, 8, 16, 32, 64] = 2  # Number of groups of the group normalisation.
    # First layers. cifar is 3x3 at full resolution; imagenet is 7x7 and max-pooling, at a fourth of it.
    stem: Stem = "cifar"

    widths: ClassVar[tuple[int, ...]] = (64, 128, 256, 512)
    blocks: ClassVar[tuple[int, ...]] = (2, 2, 2, 2)

    def module(self, shape: tuple[int, ...], classes: int) -> nn.Module:
        """Return the network; input [B, H, W] or [B, channels, H, W], output [B, classes]."""
        from torch import nn
        from torchvision.models.resnet import BasicBlock, ResNet

        norms = {"group": lambda channels: nn.GroupNorm(self.groups, channels), "batch": nn.BatchNorm2d}
        network = ResNet(BasicBlock, list(self.blocks), norm_layer=norms.get(self.norm, nn.Identity))
        channels, _, _ = channels_first(shape)
        if self.stem == "cifar":
            network.conv1 = nn.Conv2d(channels, 64, 3, padding=1, bias=False)
            network.maxpool = nn.Identity()
            # torchvision has drawn ImageNet's initialisation, which needs a norm; torch's own is smaller
            for layer in network.modules():
                if isinstance(layer, nn.Conv2d):
                    layer.reset_parameters()
        elif channels != 3:  # torchvision's own first convolution takes images of three channels
            network.conv1 = nn.Conv2d(channels, 64, 7, stride=2, padding=3, bias=False)
        *projection, features, _ = self._widths(shape, classes)
        network.fc = nn.Sequential(*dense((*projection, features)), nn.Linear(features, classes))
        return nn.Sequential(*entrance(shape), network)

    def _stem(self, shape: tuple[int, ...]) -> tuple[ConvolutionCost, list[int]]:
        if self.stem == "cifar":
            return super()._stem(shape)
        channels, *sides = channels_first(shape)
        sides = halves(sides)
        return ConvolutionCost(channels, 64, 7, prod(sides)), halves(sides)  # the second time by max-pooling

    def _channel_parameters(self) -> int:
        if self.norm == "none":
            return 0
        return 2  # gain and shift


class ResNet34(ResNet18):
    """ResNet-34: the deeper backbone of the same kind (dynamic-devices paper, there with a projection)."""

    blocks: ClassVar[tuple[int, ...]] = (3, 4, 6, 3)


class ResNet18Feat(ResNet18):
    """ResNet-18, projection 512-512-256: 11,573,066 parameters on CIFAR-10 (dynamic-devices paper, Table I)."""

    norm: Norm = "batch"  # Normalisation after each convolution.
    # First layers. cifar is 3x3 at full resolution; imagenet is 7x7 and max-pooling, at a fourth of it.
    stem: Stem = "imagenet"

    hidden: ClassVar[tuple[int, ...]] = (512, 256)


class ResNet34Feat(ResNet18Feat):
    """ResNet-34, projection 512-512-256: 21,730,056 parameters on Tiny-ImageNet (dynamic-devices paper, Table I)."""

    blocks: ClassVar[tuple[int, ...]] = (3, 4, 6, 3)


def halves(sides: list[int]) -> list[int]:
    """Return the sides of a map after a stride of two."""
    return [(side + 1) // 2 for side in sides]
