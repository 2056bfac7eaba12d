"""What models of images share: the shapes they take, and how their convolutions are counted."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, NamedTuple

from edgefl.learning.models.base import LayerCost, Model
from edgefl.learning.models.dense import dense_cuts, dense_layers

if TYPE_CHECKING:
    from torch import nn


class ConvolutionCost(NamedTuple):
    """One convolutional layer, for counting."""

    inputs: int  # channels
    outputs: int  # channels
    kernel: int  # side
    area: int  # pixels of an output map

    @property
    def weights(self) -> int:
        """Parameters without bias."""
        return self.inputs * self.outputs * self.kernel**2


class ImageModel(Model):
    """Base: convolutions, then dense layers; a sample is [H, W] (grayscale) or [channels, H, W]."""

    hidden: ClassVar[tuple[int, ...]] = ()  # widths of the hidden dense layers
    usual_cut: ClassVar[int] = 2

    def check(self, shape: tuple[int, ...], classes: int) -> str | None:
        """Images, and classes."""
        if len(shape) not in {2, 3}:
            return f"needs images [H, W] or [channels, H, W], got samples of shape {list(shape)}"
        return super().check(shape, classes)

    def layers(self, shape: tuple[int, ...], classes: int) -> list[LayerCost]:
        """Stages of convolutions, then dense layers: one multiplication a weight and output pixel, none for norms."""
        each, found = self._channel_parameters(), []
        for stage, area in self._stages(shape):
            parameters = sum(one.weights + each * one.outputs for one in stage)
            multiplications = sum(one.weights * one.area for one in stage)
            found.append(LayerCost(parameters, multiplications, stage[-1].outputs * area))
        return found + dense_layers(self._widths(shape, classes))

    def cuts(self) -> tuple[str, ...]:
        """The stages and the hidden dense layers."""
        return self._stage_names() + dense_cuts(self.hidden)

    def _stages(self, shape: tuple[int, ...]) -> list[tuple[list[ConvolutionCost], int]]:
        """Convolutions between which there is no cut, and the pixels of the map that they hand on."""
        raise NotImplementedError

    def _stage_names(self) -> tuple[str, ...]:
        """One for each of them."""
        raise NotImplementedError

    def _widths(self, shape: tuple[int, ...], classes: int) -> tuple[int, ...]:
        """Of the dense layers, from input to output."""
        raise NotImplementedError

    def _channel_parameters(self) -> int:
        """Parameters of an output channel of a convolution besides its weights."""
        raise NotImplementedError


def channels_first(shape: tuple[int, ...]) -> tuple[int, int, int]:
    """Channels, height and width of a sample [H, W] or [channels, H, W]."""
    channels, height, width = shape if len(shape) == 3 else (1, *shape)
    return channels, height, width


def entrance(shape: tuple[int, ...]) -> list[nn.Module]:
    """What gives grayscale images [B, H, W] their channel."""
    from torch import nn

    return [nn.Unflatten(1, (1, shape[0]))] if len(shape) == 2 else []
