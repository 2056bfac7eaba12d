"""Plain layers, forward and backward by hand, for one client or many; `layers_gradient.py` stacks them.

Autograd keeps a graph, a copy of each gradient, and an activation before and after each ReLU, which a stack of known
layers does not need; docs/benchmarks.md shows what that saves. Activations are [C, B, ...], the C clients first; dense
layers are matrix products of each client, convolutions grouped ones.
"""

from collections.abc import Callable, Iterator, Sequence
from itertools import islice, pairwise
from typing import Any

import torch
from torch import Tensor, nn
from typing_extensions import override

from edgefl.learning.learner.kernels import arithmetic
from edgefl.learning.learner.kernels.arithmetic import affine, product
from edgefl.learning.learner.kernels.patches import (
    Window,
    convolve_one_channel,
    gradient_of_one_channel,
    gradient_pays,
    weight_gradient,
)
from edgefl.learning.learner.networks.dropout import kept_by
from edgefl.learning.learner.networks.flat_vectors import Tensors
from edgefl.learning.learner.networks.module_state import has_own_calls

aten = torch.ops.aten
# The layers that are written out here, and the names of their parameters.
PARAMETERS: dict[type[nn.Module], tuple[str, ...]] = {
    nn.Flatten: (),
    nn.Unflatten: (),
    nn.ReLU: (),
    nn.MaxPool2d: (),
    nn.AdaptiveAvgPool2d: (),
    nn.Dropout: (),
    nn.Linear: ("weight", "bias"),
    nn.Conv2d: ("weight", "bias"),
}
Saved = Any  # what a layer's backward pass needs of its forward pass
Bound = Any  # a layer's parameters in the shapes that every step needs


class ManualLayer:
    """One layer with a gradient by hand, by default without parameters.

    In all methods `p` are its parameters [C, *shape] as `bound` returns them, `dy` is the gradient of the loss in its
    output. The `keys` [C] name the masks of dropout; None in tests, where nothing is dropped.
    """

    parameters = 0  # tensors

    def forward(self, x: Tensor, p: Bound, keys: Tensor | None) -> tuple[Tensor, Saved]:
        """Return the output, and what to save for the backward pass."""
        raise NotImplementedError

    def differentiate(self, dy: Tensor, saved: Saved, p: Bound, into: Bound) -> Tensor:
        """Write the gradients in the parameters, and return that in the input; may overwrite dy."""
        self.gradients(dy, saved, p, into)
        return self.backward(dy, saved, p)

    def backward(self, dy: Tensor, saved: Saved, p: Bound) -> Tensor:
        """Return the gradient in the input; may overwrite dy."""
        raise NotImplementedError

    def gradients(self, dy: Tensor, saved: Saved, p: Bound, into: Bound) -> None:
        """Write the gradients in the parameters."""

    def bound(self, parameters: Iterator[Tensor], buffers: Iterator[Tensor]) -> Bound:
        """Take the next parameters, and the next buffers that training updates; return them as every step needs them.

        These are views, which are made only once for all steps. Of a vector of gradients there are no buffers.
        """
        return list(islice(parameters, self.parameters))


class Linear(ManualLayer):
    """Fully connected: `x W^T + b`, along the last axis of x."""

    parameters = 2

    @override
    def forward(self, x: Tensor, p: Tensors, keys: Tensor | None) -> tuple[Tensor, Saved]:
        _, bias, transposed = p
        if x.ndim == 3:
            return affine(x, transposed, bias), x
        rows = x.flatten(1, -2)
        return affine(rows, transposed, bias).view(*x.shape[:-1], -1), rows

    @override
    def backward(self, dy: Tensor, saved: Saved, p: Tensors) -> Tensor:
        if dy.ndim == 3:
            return product(dy, p[0])
        return product(dy.flatten(1, -2), p[0]).view(*dy.shape[:-1], -1)

    @override
    def gradients(self, dy: Tensor, saved: Saved, p: Tensors, into: Tensors) -> None:
        if dy.ndim > 3:
            dy = dy.flatten(1, -2)
        # written straight into the flat vector of gradients: no copy of a weight matrix is made
        product(dy.transpose(1, 2), saved, out=into[0])
        torch.sum(dy, 1, keepdim=True, out=into[1])

    @override
    def bound(self, parameters: Iterator[Tensor], buffers: Iterator[Tensor]) -> list[Tensor]:
        weight, bias = islice(parameters, self.parameters)
        return [weight, bias.unsqueeze(1), weight.transpose(1, 2)]


class Convolution(ManualLayer):
    """Two-dimensional convolution.

    Clients that train together are groups of one convolution. A single client on the CPU computes products over patches
    if these are faster (`patches.py`).
    """

    parameters = 2

    def __init__(self, layer: nn.Conv2d) -> None:
        self.stride = list(layer.stride)
        self.dilation = list(layer.dilation)
        self.groups = layer.groups
        self.padding = [int(size) for size in layer.padding]
        kernel, stride, padding, dilation = map(pair, (layer.kernel_size, self.stride, self.padding, self.dilation))
        self._window = Window(kernel, stride, padding, dilation)
        self._one_channel = layer.in_channels == 1

    @override
    def forward(self, x: Tensor, p: Tensors, keys: Tensor | None) -> tuple[Tensor, Saved]:
        # one grouped convolution does the work of all clients: each group has one client's images and weights
        folded = fold(x)
        weight = p[0].flatten(0, 1)
        bias = p[1].flatten(0, 1)
        if self._one_channel and self._can_use_patches(x):
            y, columns = convolve_one_channel(folded, weight, bias, self._window)
            return unfold(y, 1), (folded, columns)
        groups = self.groups * len(x)
        y = torch.conv2d(folded, weight, bias, self.stride, self.padding, self.dilation, groups)
        return unfold(y, len(x)), (folded, None)

    @override
    def backward(self, dy: Tensor, saved: Saved, p: Tensors) -> Tensor:
        x, _ = saved
        dx, *_ = self._backward(dy, x, p, [True, False, False])
        return unfold(dx, len(dy))

    @override
    def gradients(self, dy: Tensor, saved: Saved, p: Tensors, into: Tensors) -> None:
        x, columns = saved
        folded = fold(dy)
        weights, biases = into
        if columns is not None:
            gradient_of_one_channel(folded, columns, weights[0])
            torch.sum(folded, (0, 2, 3), out=biases[0])
        elif self._can_use_patches(dy) and gradient_pays(x, folded, self._window):
            weight_gradient(folded, x, self._window, weights[0])
            torch.sum(folded, (0, 2, 3), out=biases[0])
        else:
            _, of_weights, of_biases = self._backward(dy, x, p, [False, True, True])
            weights.copy_(of_weights.view(weights.shape))
            biases.copy_(of_biases.view(biases.shape))

    def _can_use_patches(self, x: Tensor) -> bool:
        """Return whether images [C, B, ...] are of one client on the CPU, and the convolution has no groups."""
        return self.groups == 1 and len(x) == 1 and arithmetic.numpy_can_read(x)

    def _backward(self, dy: Tensor, x: Tensor, p: Tensors, wanted: list[bool]) -> list[Tensor]:
        weight = p[0].flatten(0, 1)
        groups = self.groups * len(dy)
        transposed = False
        output_padding = [0, 0]  # of transposed convolutions
        gradients: list[Tensor] = aten.convolution_backward(
            fold(dy),
            x,
            weight,
            [len(weight)],  # shape of the bias
            self.stride,
            self.padding,
            self.dilation,
            transposed,
            output_padding,
            groups,
            wanted,
        )
        return gradients


class Relu(ManualLayer):
    """Rectifier, in place: no layer before it needs its own output for the backward pass."""

    @override
    def forward(self, x: Tensor, p: Tensors, keys: Tensor | None) -> tuple[Tensor, Saved]:
        # y is all that the backward pass needs: it is positive where x was
        y = x.relu_()
        return y, y

    @override
    def backward(self, dy: Tensor, saved: Saved, p: Tensors) -> Tensor:
        dx: Tensor = aten.threshold_backward.grad_input(dy, saved, 0, grad_input=dy)
        return dx


class Dropout(ManualLayer):
    """The masks of KeyedDropout for several clients; `number` counts the layers with dropout from 0."""

    def __init__(self, p: float, number: int) -> None:
        self.p = p
        self.number = number

    @override
    def forward(self, x: Tensor, p: Tensors, keys: Tensor | None) -> tuple[Tensor, Saved]:
        if keys is None:
            return x, None
        kept = kept_by(keys, self.p, self.number, x.shape[1:]).to(x.dtype)
        return x * kept / (1 - self.p), kept

    @override
    def backward(self, dy: Tensor, saved: Saved, p: Tensors) -> Tensor:
        dx: Tensor = dy / (1 - self.p) * saved
        return dx


class MaxPool(ManualLayer):
    """The maximum of each window.

    With `overwrites` no layer needs its input after the forward pass, and the gradient takes that memory.
    """

    def __init__(self, layer: nn.MaxPool2d, *, overwrites: bool) -> None:
        self._overwrites = overwrites
        self.sizes = [list(pair(size)) for size in (layer.kernel_size, layer.stride, layer.padding, layer.dilation)]

    @override
    def forward(self, x: Tensor, p: Tensors, keys: Tensor | None) -> tuple[Tensor, Saved]:
        folded = fold(x)
        y, indices = aten.max_pool2d_with_indices(folded, *self.sizes)
        return unfold(y, len(x)), (folded, indices)

    @override
    def backward(self, dy: Tensor, saved: Saved, p: Tensors) -> Tensor:
        x, indices = saved
        ceil_mode = False
        # the places of the maxima are known: of x only the shape is asked
        dx = x
        if not self._overwrites:
            dx = torch.empty_like(x)
        aten.max_pool2d_with_indices_backward.grad_input(fold(dy), x, *self.sizes, ceil_mode, indices, grad_input=dx)
        return unfold(dx, len(dy))


def pair(size: int | Sequence[int]) -> tuple[int, int]:
    """Return a size as height and width."""
    if isinstance(size, int):
        return size, size
    height, width = size
    return height, width


class GlobalMean(ManualLayer):
    """The mean of each channel."""

    @override
    def forward(self, x: Tensor, p: Tensors, keys: Tensor | None) -> tuple[Tensor, Saved]:
        return x.mean((-2, -1), keepdim=True), x.shape

    @override
    def backward(self, dy: Tensor, saved: Saved, p: Tensors) -> Tensor:
        height, width = saved[-2:]
        dx: Tensor = dy / (height * width)
        return dx.expand(saved).contiguous()  # as layers before it write into dy


class Reshape(ManualLayer):
    """Flatten and Unflatten; `shape` returns the new shape of one sample of x."""

    def __init__(self, shape: Callable[[Tensor], tuple[int, ...]]) -> None:
        self.shape = shape

    @override
    def forward(self, x: Tensor, p: Tensors, keys: Tensor | None) -> tuple[Tensor, Saved]:
        return x.reshape(*x.shape[:2], *self.shape(x)), x.shape

    @override
    def backward(self, dy: Tensor, saved: Saved, p: Tensors) -> Tensor:
        return dy.reshape(saved)


def fold(x: Tensor) -> Tensor:
    """Return images [C, B, channels, H, W] as [B, C * channels, H, W]: a view, except in the first layer."""
    return x.transpose(0, 1).flatten(1, 2)


def unfold(x: Tensor, clients: int) -> Tensor:
    """Return images [B, C * channels, H, W] as [C, B, channels, H, W]: the inverse of `fold`."""
    return x.view(len(x), clients, -1, *x.shape[2:]).transpose(0, 1)


def layers_of(module: nn.Module) -> list[ManualLayer]:
    """Return the layers of a module that is a plain stack of known layers; an empty list for any other module."""
    stack = _plain_stack(module)
    layers: list[ManualLayer] = []
    dropouts = 0
    # one unknown layer, and the whole stack goes to autograd: it needs the graph from end to end
    for part in _pooled_first(stack):
        if type(part) is nn.Dropout:
            if part.p == 1:  # what is left is nothing, and would be divided by 0
                return []
            if part.p > 0:
                layers.append(Dropout(part.p, dropouts))
                dropouts += 1
            continue
        before = layers[-1] if layers else None
        layer = layer_of(part, before)
        if layer is None:
            return []
        layers.append(layer)
    return layers


def _plain_stack(module: nn.Module) -> list[nn.Module]:
    """Return the parts of a module that torch would call one after another; an empty list for any other module.

    A subclass, a hook, a parametrisation or a part that occurs twice computes something else, or its parameters are not
    in the order of the layers.
    """
    if type(module) is not nn.Sequential or has_own_calls(module):
        return []
    stack = list(module)
    own = [module, *stack]
    if len(list(module.modules())) != len(own) or any(has_own_calls(part) for part in stack):
        return []
    names = {f"{number}.{name}" for number, part in enumerate(stack) for name in PARAMETERS.get(type(part), ())}
    parameters = dict(module.named_parameters())
    if parameters.keys() != names or next(module.buffers(), None) is not None:
        return []
    if not all(parameter.requires_grad for parameter in parameters.values()):
        return []
    return stack


def has_images(module: nn.Module) -> bool:
    """Return whether a module has convolutions of images."""
    return any(isinstance(layer, nn.Conv2d) for layer in module.modules())


def _pooled_first(stack: list[nn.Module]) -> list[nn.Module]:
    """Return the stack with each max-pooling before its ReLU: the same result from a fourth of the numbers."""
    swapped = list(stack)
    for place, (layer, following) in enumerate(pairwise(stack)):
        if isinstance(layer, nn.ReLU) and isinstance(following, nn.MaxPool2d):
            swapped[place] = following
            swapped[place + 1] = layer
    return swapped


def layer_of(layer: nn.Module, before: ManualLayer | None) -> ManualLayer | None:
    """Return the layer by hand for a module behind the layer `before`; None if none does exactly the same."""
    made: ManualLayer | None = None
    if type(layer) not in PARAMETERS:  # a subclass may compute something else
        return None
    match layer:
        case nn.Flatten(start_dim=1, end_dim=-1):
            made = Reshape(lambda x: (x[0, 0].numel(),))
        case nn.Unflatten(dim=1, unflattened_size=size):
            made = Reshape(lambda x: (*size, *x.shape[3:]))
        case nn.ReLU():
            made = Relu()
        case nn.MaxPool2d(ceil_mode=False, return_indices=False):
            made = MaxPool(layer, overwrites=isinstance(before, Convolution))  # which keeps its input only
        case nn.AdaptiveAvgPool2d(output_size=1 | (1, 1)):
            made = GlobalMean()
        case nn.Linear(bias=Tensor()):
            made = Linear()
        case nn.Conv2d(bias=Tensor(), padding_mode="zeros") if not isinstance(layer.padding, str):
            made = Convolution(layer)
    return made
