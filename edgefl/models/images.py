"""What models of images share: the shapes they take, and how their convolutions are counted."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from edgefl.models.base import Model
from edgefl.models.dense import dense_multiplications, dense_parameters

if TYPE_CHECKING:
    from torch import nn


class Convolution(NamedTuple):
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

    def check(self, shape: tuple[int, ...], classes: int) -> str | None:
        """Images, and classes."""
        if len(shape) not in {2, 3}:
            return f"needs images [H, W] or [channels, H, W], got samples of shape {list(shape)}"
        return super().check(shape, classes)

    def parameters(self, shape: tuple[int, ...], classes: int) -> int:
        """Those of convolutions, normalisations and dense layers."""
        found = self._convolutions(shape)
        dense = dense_parameters(self._widths(shape, classes))
        return sum(layer.weights + self._channel_parameters() * layer.outputs for layer in found) + dense

    def multiplications(self, shape: tuple[int, ...], classes: int) -> int:
        """One a weight and output pixel; normalisation is not counted."""
        dense = dense_multiplications(self._widths(shape, classes))
        return sum(layer.weights * layer.area for layer in self._convolutions(shape)) + dense

    def _convolutions(self, shape: tuple[int, ...]) -> list[Convolution]:
        """All convolutions."""
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
