"""Plain layers, forward and backward by hand, for one client or many; `layers_gradient.py` stacks them.

Autograd keeps a graph, a copy of each gradient, and an activation before and after each ReLU; a stack of known layers
needs none of that: docs/benchmarks.md shows what it saves. Activations are [C, B, ...], the C clients first; dense
layers are batched matrix products over the clients, convolutions grouped ones.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any

import torch
from torch import Tensor, nn
from typing_extensions import override

IMAGES = 5  # axes of clients' batches of images
LANES = 16  # float32 numbers in a vector register: rows of a product that do not fill one waste it
aten = torch.ops.aten
Tensors = Sequence[Tensor]
Saved = Any  # what a layer's backward pass needs of its forward pass


class Layer:
    """One layer without parameters; `p` are a layer's parameters [C, *shape], `dy` the gradient of its output."""

    parameters = 0

    def forward(self, x: Tensor, p: Tensors) -> tuple[Tensor, Saved]:
        """The output, and what to save."""
        raise NotImplementedError

    def backward(self, dy: Tensor, saved: Saved, p: Tensors) -> Tensor:
        """The gradient of the input; may overwrite dy."""
        raise NotImplementedError

    def gradients(self, dy: Tensor, saved: Saved, p: Tensors, into: Tensors) -> None:
        """Write the gradients of the parameters."""

    def bound(self, p: list[Tensor]) -> list[Tensor]:
        """The parameters in the shapes that are needed at every step, which are made only once."""
        return p


class Linear(Layer):
    """Fully connected: x W^T + b; (W x^T)^T + b where that has the longer rows."""

    parameters = 2

    @override
    def forward(self, x: Tensor, p: Tensors) -> tuple[Tensor, Saved]:
        weight, bias, transposed = p
        if weight.shape[1] < LANES and len(x) > 1:  # a single model gives what its module gives, bit by bit
            return torch.baddbmm(bias.transpose(1, 2), weight, x.transpose(1, 2)).transpose(1, 2), x
        return torch.baddbmm(bias, x, transposed), x

    @override
    def backward(self, dy: Tensor, saved: Saved, p: Tensors) -> Tensor:
        return torch.bmm(dy, p[0])

    @override
    def gradients(self, dy: Tensor, saved: Saved, p: Tensors, into: Tensors) -> None:
        torch.bmm(dy.transpose(1, 2), saved, out=into[0])
        torch.sum(dy, 1, keepdim=True, out=into[1])

    @override
    def bound(self, p: list[Tensor]) -> list[Tensor]:
        weight, bias = p
        return [weight, bias.unsqueeze(1), weight.transpose(1, 2)]


class Convolution(Layer):
    """Two-dimensional convolution; the clients are groups."""

    parameters = 2

    def __init__(self, layer: nn.Conv2d) -> None:
        self.stride, self.dilation, self.groups = list(layer.stride), list(layer.dilation), layer.groups
        self.padding = [int(size) for size in layer.padding]

    @override
    def forward(self, x: Tensor, p: Tensors) -> tuple[Tensor, Saved]:
        folded = fold(x)
        weight, bias = (parameter.flatten(0, 1) for parameter in p)
        y = torch.conv2d(folded, weight, bias, self.stride, self.padding, self.dilation, self.groups * len(x))
        return unfold(y, len(x)), folded

    @override
    def backward(self, dy: Tensor, saved: Saved, p: Tensors) -> Tensor:
        return unfold(self._backward(dy, saved, p, [True, False, False])[0], len(dy))

    @override
    def gradients(self, dy: Tensor, saved: Saved, p: Tensors, into: Tensors) -> None:
        _, *gradients = self._backward(dy, saved, p, [False, True, True])
        for target, part in zip(into, gradients, strict=True):
            target.copy_(part.view(target.shape))

    def _backward(self, dy: Tensor, x: Tensor, p: Tensors, wanted: list[bool]) -> list[Tensor]:
        weight, groups = p[0].flatten(0, 1), self.groups * len(dy)
        sizes = (self.stride, self.padding, self.dilation, False, [0, 0], groups)  # not transposed
        gradients: list[Tensor] = aten.convolution_backward(fold(dy), x, weight, [len(weight)], *sizes, wanted)
        return gradients


class Relu(Layer):
    """In place: nobody needs what was there before."""

    @override
    def forward(self, x: Tensor, p: Tensors) -> tuple[Tensor, Saved]:
        y = x.relu_()
        return y, y

    @override
    def backward(self, dy: Tensor, saved: Saved, p: Tensors) -> Tensor:
        dx: Tensor = aten.threshold_backward.grad_input(dy, saved, 0, grad_input=dy)
        return dx


class MaxPool(Layer):
    """Maxima of windows."""

    def __init__(self, layer: nn.MaxPool2d) -> None:
        sizes = (layer.kernel_size, layer.stride, layer.padding, layer.dilation)
        self.sizes = [[size, size] if isinstance(size, int) else list(size) for size in sizes]

    @override
    def forward(self, x: Tensor, p: Tensors) -> tuple[Tensor, Saved]:
        folded = fold(x)
        y, indices = aten.max_pool2d_with_indices(folded, *self.sizes)
        return unfold(y, len(x)), (folded, indices)

    @override
    def backward(self, dy: Tensor, saved: Saved, p: Tensors) -> Tensor:
        x, indices = saved
        dx = aten.max_pool2d_with_indices_backward(fold(dy), x, *self.sizes, False, indices)  # no ceil_mode
        return unfold(dx, len(dy))


class GlobalMean(Layer):
    """The mean of each channel."""

    @override
    def forward(self, x: Tensor, p: Tensors) -> tuple[Tensor, Saved]:
        return x.mean((-2, -1), keepdim=True), x.shape

    @override
    def backward(self, dy: Tensor, saved: Saved, p: Tensors) -> Tensor:
        dx: Tensor = dy / (saved[-2] * saved[-1])
        return dx.expand(saved).contiguous()


class Reshape(Layer):
    """Flatten and Unflatten."""

    def __init__(self, shape: Callable[[Tensor], tuple[int, ...]]) -> None:
        self.shape = shape  # of one sample of x

    @override
    def forward(self, x: Tensor, p: Tensors) -> tuple[Tensor, Saved]:
        return x.reshape(*x.shape[:2], *self.shape(x)), x.shape

    @override
    def backward(self, dy: Tensor, saved: Saved, p: Tensors) -> Tensor:
        return dy.reshape(saved)


def fold(x: Tensor) -> Tensor:
    """Images [C, B, channels, H, W] as [B, C * channels, H, W]: a view, but for the first layer."""
    return x.transpose(0, 1).flatten(1, 2)


def unfold(x: Tensor, clients: int) -> Tensor:
    """The inverse of `fold`."""
    return x.view(len(x), clients, -1, *x.shape[2:]).transpose(0, 1)


def layers_of(module: nn.Module) -> list[Layer]:
    """The layers of a module that is a plain stack of known ones; empty for any other."""
    stack = list(module) if isinstance(module, nn.Sequential) else []
    for i, (layer, following) in enumerate(pairwise(stack)):  # the same result from a fourth of the numbers
        if isinstance(layer, nn.ReLU) and isinstance(following, nn.MaxPool2d):
            stack[i : i + 2] = following, layer
    layers = [_layer(part) for part in stack]
    return [layer for layer in layers if layer] if all(layers) else []


def _layer(layer: nn.Module) -> Layer | None:
    made: Layer | None = None
    match layer:
        case nn.Flatten(start_dim=1, end_dim=-1):
            made = Reshape(lambda x: (x[0, 0].numel(),))
        case nn.Unflatten(dim=1, unflattened_size=size):
            made = Reshape(lambda x: (*size, *x.shape[3:]))
        case nn.ReLU():
            made = Relu()
        case nn.MaxPool2d(ceil_mode=False, return_indices=False):
            made = MaxPool(layer)
        case nn.AdaptiveAvgPool2d(output_size=1 | (1, 1)):
            made = GlobalMean()
        case nn.Linear(bias=Tensor()) if type(layer) is nn.Linear:
            made = Linear()
        case nn.Conv2d(bias=Tensor(), padding_mode="zeros") if not isinstance(layer.padding, str):
            made = Convolution(layer)
    return made
