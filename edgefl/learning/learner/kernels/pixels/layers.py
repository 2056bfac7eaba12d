"""Layers of networks of convolutions on a GPU, forward and backward by hand; see `kernels/layers.py`.

Images are [K, B, H, W, C], K clients of B images each, with the channels of a pixel side by side. Dense layers behind
them are those of `kernels/layers.py`, in float32.
"""

from collections.abc import Iterator, Sequence
from itertools import islice
from typing import NamedTuple

import torch
from torch import Tensor, nn
from typing_extensions import override

from edgefl.learning.learner.kernels.layers import Bound, ManualLayer, Saved
from edgefl.learning.learner.kernels.patches import Window, patches
from edgefl.learning.learner.kernels.pixels.convolution import convolve, input_gradient, pack, unpack, weight_gradient
from edgefl.learning.learner.kernels.pixels.norm import Grouping, Moments, norm_gradients, normalise
from edgefl.learning.learner.kernels.pixels.pooling import pool, pool_gradient
from edgefl.learning.learner.kernels.pixels.tiles import Arithmetic
from edgefl.learning.learner.networks.dropout import kept_by
from edgefl.learning.learner.networks.flat_vectors import Tensors

POINT = Window((1, 1), (1, 1), (0, 0), (1, 1))


class ToPixels(ManualLayer):
    """Images [K, B, C, H, W] as [K, B, H, W, C], in the type of the convolutions; there is nothing to learn before."""

    def __init__(self, dtype: torch.dtype) -> None:
        self._dtype = dtype

    @override
    def forward(self, x: Tensor, p: Bound, keys: Tensor | None) -> tuple[Tensor, Saved]:
        return x.permute(0, 1, 3, 4, 2).to(self._dtype).contiguous(), None


class FromPixels(ManualLayer):
    """Images [K, B, H, W, C] as vectors [K, B, C * H * W] in float32, in the order of torch's flattening."""

    @override
    def forward(self, x: Tensor, p: Bound, keys: Tensor | None) -> tuple[Tensor, Saved]:
        return x.permute(0, 1, 4, 2, 3).flatten(2).float(), (x.shape, x.dtype)

    @override
    def backward(self, dy: Tensor, saved: Saved, p: Bound) -> Tensor:
        (clients, images, height, width, channels), dtype = saved
        dx = dy.view(clients, images, channels, height, width).permute(0, 1, 3, 4, 2)
        return dx.to(dtype).contiguous()


class Convolution(ManualLayer):
    """Two-dimensional convolution.

    With `by_patches` the patches are copied first, and the convolution is a product with them: for images of few
    channels, where each tap would fill only a part of a block of numbers that are summed. Such a layer has no
    gradient in its input.
    """

    def __init__(self, layer: nn.Conv2d, window: Window, arithmetic: Arithmetic, *, by_patches: bool) -> None:
        self.parameters = 1 if layer.bias is None else 2
        self._window = window
        self._arithmetic = arithmetic
        self._by_patches = by_patches

    @override
    def forward(self, x: Tensor, p: Tensors, keys: Tensor | None) -> tuple[Tensor, Saved]:
        packed = pack(p[0], self._arithmetic.dtype)
        bias = p[1] if self.parameters == 2 else None
        if not self._by_patches:
            return convolve(x, packed, bias, self._window, self._arithmetic), (x, packed)
        columns = self._patches(x)
        as_one_tap = packed.flatten(1, 2).unsqueeze(1)
        return convolve(columns, as_one_tap, bias, POINT, self._arithmetic), (columns, packed)

    @override
    def backward(self, dy: Tensor, saved: Saved, p: Tensors) -> Tensor:
        x, packed = saved
        return input_gradient(dy, packed, x, self._window, self._arithmetic)

    @override
    def gradients(self, dy: Tensor, saved: Saved, p: Tensors, into: Tensors) -> None:
        x, packed = saved
        window = POINT if self._by_patches else self._window
        gradient = weight_gradient(x, dy, window, self._arithmetic)
        unpack(gradient.view(packed.shape), into[0])
        if self.parameters == 2:
            into[1].copy_(dy.sum((1, 2, 3), dtype=torch.float32))

    def _patches(self, x: Tensor) -> Tensor:
        """Return the patch of each output pixel as its channels, [K, B, OH, OW, KH * KW * C]."""
        clients, images, *_ = x.shape
        found = patches(x.flatten(0, 1).permute(0, 3, 1, 2), self._window)
        _, height, width, *_ = found.shape
        # Patches of a row overlap in memory where they can; kernels take them one after another.
        return found.reshape(clients, images, height, width, -1).contiguous()


class Norm(ManualLayer):
    """Group or batch normalisation, with the rectifier behind it if `relu`."""

    parameters = 2

    def __init__(self, layer: nn.GroupNorm | nn.BatchNorm2d, *, relu: bool = False) -> None:
        groups = 0
        self._buffers = 0
        self._momentum = 0.0  # of the running mean and variance, which only batch norm has
        if isinstance(layer, nn.GroupNorm):
            groups = layer.num_groups
        elif layer.momentum is not None:
            self._buffers = 2
            self._momentum = layer.momentum
        self._grouping = Grouping(groups, layer.eps)
        self._relu = relu

    @override
    def bound(self, parameters: Iterator[Tensor], buffers: Iterator[Tensor]) -> list[Tensor]:
        return [*islice(parameters, self.parameters), *islice(buffers, self._buffers)]

    @override
    def forward(self, x: Tensor, p: Tensors, keys: Tensor | None) -> tuple[Tensor, Saved]:
        return self.of_sum(x, None, p)

    def of_sum(self, x: Tensor, residual: Tensor | None, p: Tensors) -> tuple[Tensor, Saved]:
        """Return the normalised x plus a residual, and what to save."""
        gain, shift, *running = p
        y, moments = normalise(x, gain, shift, self._grouping, residual=residual, relu=self._relu)
        if running:
            self._keep(moments, x[0, ..., 0].numel(), running)
        return y, (x, y, moments, residual is not None)

    @override
    def differentiate(self, dy: Tensor, saved: Saved, p: Bound, into: Bound) -> Tensor:
        dx, _ = self.gradients_of_sum(dy, saved, p, into)
        return dx

    @override
    def gradients(self, dy: Tensor, saved: Saved, p: Bound, into: Bound) -> None:
        self.differentiate(dy, saved, p, into)

    def gradients_of_sum(self, dy: Tensor, saved: Saved, p: Tensors, into: Tensors) -> tuple[Tensor, Tensor]:
        """Write the gradients in gain and shift; return those in x and in the residual."""
        x, y, moments, has_residual = saved
        found = norm_gradients(dy, x, y, p[0], moments, self._grouping, residual=has_residual, relu=self._relu)
        into[0].copy_(found.gain)
        into[1].copy_(found.shift)
        return found.x, found.residual

    def _keep(self, moments: Moments, count: int, running: Sequence[Tensor]) -> None:
        if count == 1:
            raise ValueError("batch normalisation needs more than one number of each channel in a mini-batch")
        mean, variance = running
        mean.lerp_(moments.mean, self._momentum)
        variance.lerp_(moments.variance * (count / (count - 1)), self._momentum)


class Rectifier(ManualLayer):
    """Rectifier that leaves its input as it is, which others may need."""

    @override
    def forward(self, x: Tensor, p: Bound, keys: Tensor | None) -> tuple[Tensor, Saved]:
        y = x.relu()
        return y, y

    @override
    def backward(self, dy: Tensor, saved: Saved, p: Bound) -> Tensor:
        return rectified_gradient(dy, saved)


def rectified_gradient(dy: Tensor, y: Tensor) -> Tensor:
    """Return the gradient in what a rectifier got, from its result y and the gradient in it."""
    dx: Tensor = torch.ops.aten.threshold_backward(dy, y, 0)
    return dx


class MaxPool(ManualLayer):
    """The maximum of each window."""

    def __init__(self, window: Window) -> None:
        self._window = window

    @override
    def forward(self, x: Tensor, p: Bound, keys: Tensor | None) -> tuple[Tensor, Saved]:
        y, winners = pool(x, self._window)
        return y, (x, winners)

    @override
    def backward(self, dy: Tensor, saved: Saved, p: Bound) -> Tensor:
        x, winners = saved
        return pool_gradient(dy, winners, x, self._window)


class GlobalMean(ManualLayer):
    """The mean of each map."""

    @override
    def forward(self, x: Tensor, p: Bound, keys: Tensor | None) -> tuple[Tensor, Saved]:
        y = x.mean((2, 3), keepdim=True, dtype=torch.float32)
        return y.to(x.dtype), x.shape

    @override
    def backward(self, dy: Tensor, saved: Saved, p: Bound) -> Tensor:
        _, _, height, width, _ = saved
        dx: Tensor = dy / (height * width)
        return dx.expand(saved).contiguous()


class PixelDropout(ManualLayer):
    """The masks of KeyedDropout on images; `number` counts the layers with dropout from 0."""

    def __init__(self, p: float, number: int) -> None:
        self._p = p
        self._number = number

    @override
    def forward(self, x: Tensor, p: Bound, keys: Tensor | None) -> tuple[Tensor, Saved]:
        if keys is None:
            return x, 1.0
        _, images, height, width, channels = x.shape
        # the masks are those of images with their channels first
        kept = kept_by(keys, self._p, self._number, (images, channels, height, width))
        factor = kept.permute(0, 1, 3, 4, 2).to(x.dtype) / (1 - self._p)
        return (x * factor).contiguous(), factor

    @override
    def backward(self, dy: Tensor, saved: Saved, p: Bound) -> Tensor:
        dx: Tensor = dy * saved
        return dx.contiguous()


class Stack:
    """Layers one after another."""

    def __init__(self, layers: Sequence[ManualLayer]) -> None:
        self.layers = layers
        self.parameters = sum(layer.parameters for layer in layers)

    def bound(self, parameters: Iterator[Tensor], buffers: Iterator[Tensor]) -> list[Bound]:
        """Return what each layer needs; see ManualLayer."""
        return [layer.bound(parameters, buffers) for layer in self.layers]

    def forward(self, x: Tensor, p: Sequence[Bound], keys: Tensor | None) -> tuple[Tensor, list[Saved]]:
        """Return the output, and what each layer saves."""
        saved_by_layer = []
        for layer, own in zip(self.layers, p, strict=True):
            x, saved = layer.forward(x, own, keys)
            saved_by_layer.append(saved)
        return x, saved_by_layer

    def differentiate(self, dy: Tensor, saved: Sequence[Saved], p: Sequence[Bound], into: Sequence[Bound]) -> Tensor:
        """Write the gradients in all parameters; return that in the input."""
        for number in reversed(range(len(self.layers))):
            dy = self.layers[number].differentiate(dy, saved[number], p[number], into[number])
        return dy


class Residual(ManualLayer):
    """relu(end(body(x)) + shortcut(x)), where `end` is the last normalisation of the body, if there is one."""

    def __init__(self, body: Stack, end: Norm | None, shortcut: Stack) -> None:
        self._body = body
        self._end = end
        self._shortcut = shortcut
        self.parameters = body.parameters + shortcut.parameters
        if end is not None:
            self.parameters += end.parameters

    @override
    def bound(self, parameters: Iterator[Tensor], buffers: Iterator[Tensor]) -> "BoundResidual":
        body = self._body.bound(parameters, buffers)
        end = [] if self._end is None else self._end.bound(parameters, buffers)
        return BoundResidual(body, end, self._shortcut.bound(parameters, buffers))

    @override
    def forward(self, x: Tensor, p: "BoundResidual", keys: Tensor | None) -> tuple[Tensor, Saved]:
        residual, of_shortcut = self._shortcut.forward(x, p.shortcut, keys)
        h, of_body = self._body.forward(x, p.body, keys)
        if self._end is not None:
            y, of_end = self._end.of_sum(h, residual, p.end)
        else:
            y = (h + residual).relu_()
            of_end = y
        return y, (of_body, of_end, of_shortcut)

    @override
    def differentiate(self, dy: Tensor, saved: Saved, p: "BoundResidual", into: "BoundResidual") -> Tensor:
        of_body, of_end, of_shortcut = saved
        if self._end is not None:
            dh, dresidual = self._end.gradients_of_sum(dy, of_end, p.end, into.end)
        else:
            dh = rectified_gradient(dy, of_end)
            dresidual = dh  # no layer of pixels overwrites the gradient that it gets
        dx = self._body.differentiate(dh, of_body, p.body, into.body)
        return dx + self._shortcut.differentiate(dresidual, of_shortcut, p.shortcut, into.shortcut)

    @override
    def gradients(self, dy: Tensor, saved: Saved, p: "BoundResidual", into: "BoundResidual") -> None:
        self.differentiate(dy, saved, p, into)


class BoundResidual(NamedTuple):
    """The parameters of a residual block, by its parts."""

    body: list[Bound]
    end: list[Tensor]
    shortcut: list[Bound]
