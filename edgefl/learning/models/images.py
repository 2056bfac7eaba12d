"""The shapes that models of images take, and how their convolutions are counted."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, NamedTuple

from edgefl.learning.models.base import FLOAT_BYTES, LayerCost, Model
from edgefl.learning.models.dense import dense_costs, dense_cuts

if TYPE_CHECKING:
    from torch import nn

GAIN_AND_SHIFT = 2  # parameters of a channel of a norm


class ConvolutionCost(NamedTuple):
    """One convolutional layer, for counting."""

    inputs: int  # channels
    outputs: int  # channels
    kernel: int  # side
    area: int  # pixels of an output map

    @property
    def weights(self) -> int:
        """Parameters without biases."""
        return self.inputs * self.outputs * self.kernel**2

    @property
    def multiplications(self) -> int:
        """Multiply-accumulates of one sample: each weight is used once for each output pixel."""
        return self.weights * self.area


class StageCost(NamedTuple):
    """Convolutions between which a chain cannot be cut, for counting."""

    convolutions: list[ConvolutionCost]
    area: int  # pixels of the map that the next stage gets, after pooling


class ImageModel(Model):
    """Base: convolutions, then dense layers; a sample is [H, W] (grayscale) or [channels, H, W]."""

    hidden: ClassVar[tuple[int, ...]] = ()  # widths of the hidden dense layers
    usual_cut: ClassVar[int] = 2

    def check(self, shape: tuple[int, ...], classes: int) -> str | None:
        """Return why the data are not images with classes; None if they are."""
        if len(shape) not in {2, 3}:
            return f"needs images [H, W] or [channels, H, W], got samples of shape {list(shape)}"
        return super().check(shape, classes)

    def layers(self, shape: tuple[int, ...], classes: int) -> list[LayerCost]:
        """Return the costs of the stages of convolutions, then of the dense layers.

        Biases and norms are parameters, but multiply nothing.
        """
        # one number for all convolutions of a model: bias, or gain and shift of a norm, or both
        more_of_channel = self._channel_parameters()
        costs = []
        for convolutions, area in self._stages(shape):
            parameters = sum(layer.weights + more_of_channel * layer.outputs for layer in convolutions)
            multiplications = sum(layer.multiplications for layer in convolutions)
            costs.append(LayerCost(parameters, multiplications, convolutions[-1].outputs * area))
        return costs + dense_costs(self._widths(shape, classes))

    def activation_bytes(self, shape: tuple[int, ...], classes: int, *, tokens: bool = False) -> float:
        """Return the bytes of maps before and after norms, of pooled ones, and of dense layers, of one sample.

        A convolution needs its input, ReLU its output, a norm its input, and pooling the places of its maxima (int64).
        """
        if self.cost:
            return super().activation_bytes(shape, classes, tokens=tokens)
        copies = 1
        if self._channel_parameters() >= GAIN_AND_SHIFT:
            copies = 2
        numbers = sum(self._widths(shape, classes)[1:])
        for convolutions, area in self._stages(shape):
            numbers += copies * sum(layer.outputs * layer.area for layer in convolutions)
            last = convolutions[-1]
            if area < last.area:
                numbers += (1 + 2) * last.outputs * area
        return float(FLOAT_BYTES * numbers)

    def cuts(self) -> tuple[str, ...]:
        """Return the names of the stages and of the hidden dense layers."""
        return self._stage_names() + dense_cuts(self.hidden)

    def _stages(self, shape: tuple[int, ...]) -> list[StageCost]:
        raise NotImplementedError

    def _stage_names(self) -> tuple[str, ...]:
        raise NotImplementedError

    def _widths(self, shape: tuple[int, ...], classes: int) -> tuple[int, ...]:
        raise NotImplementedError

    def _channel_parameters(self) -> int:
        """Return the parameters of an output channel of a convolution besides its weights."""
        raise NotImplementedError


def channels_first(shape: tuple[int, ...]) -> tuple[int, int, int]:
    """Return channels, height and width of a sample [H, W] or [channels, H, W]."""
    if len(shape) == 2:
        height, width = shape
        return 1, height, width
    channels, height, width = shape
    return channels, height, width


def entrance(shape: tuple[int, ...]) -> list[nn.Module]:
    """Return the layer that gives grayscale images [B, H, W] their channel; nothing for images that have channels."""
    from torch import nn

    if len(shape) == 2:
        return [nn.Unflatten(1, (1, shape[0]))]
    return []
