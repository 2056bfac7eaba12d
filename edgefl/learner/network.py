"""A torch module seen as a function of flat parameter vectors, for one client or for many at once."""

from __future__ import annotations

import copy
import threading
from collections.abc import Sequence
from math import prod

import torch
from torch import Tensor, nn
from torch.func import functional_call, vmap
from torch.nn.functional import linear


class Network:
    """The module and the layout of its parameters in a flat vector of d numbers.

    Raises:
        NotImplementedError: the module has buffers, such as batch normalisation's statistics.
    """

    def __init__(self, module: nn.Module) -> None:
        if next(module.buffers(), None) is not None:
            raise NotImplementedError("modules with buffers (batch normalisation) are not supported")
        self.module = module
        self.names = [name for name, _ in module.named_parameters()]
        self.shapes = [parameter.shape for parameter in module.parameters()]
        self.sizes = [prod(shape) for shape in self.shapes]
        self._dense = _dense_layers(module)
        self._local = threading.local()

    def views(self, w: Tensor) -> list[Tensor]:
        """Each parameter as a view [..., *shape] of flat vectors [..., d]."""
        parts = torch.split(w, self.sizes, dim=-1)
        return [part.view(*w.shape[:-1], *shape) for part, shape in zip(parts, self.shapes, strict=True)]

    def forward(self, parameters: Sequence[Tensor], x: Tensor) -> Tensor:
        """Outputs [B, ...] of one client's parameters for x [B, ...]."""
        if self._dense:
            return _forward_one(self._dense, parameters, x)
        return self._call(parameters, x)

    def forward_many(self, parameters: Sequence[Tensor], x: Tensor) -> Tensor:
        """The same for C clients: parameters [C, *shape] each, x [C, B, ...], outputs [C, B, ...]."""
        if self._dense:
            return _forward_many(self._dense, parameters, x)
        return vmap(self._call)(parameters, x)

    def _call(self, parameters: Sequence[Tensor], x: Tensor) -> Tensor:
        """Any module at all; each thread has its own copy, as torch swaps parameters in place during the call."""
        if not hasattr(self._local, "module"):
            self._local.module = copy.deepcopy(self.module)
        output: Tensor = functional_call(self._local.module, dict(zip(self.names, parameters, strict=True)), (x,))
        return output


def _dense_layers(module: nn.Module) -> list[nn.Module]:
    """The layers of a fully connected network, which needs no general mechanism; empty for any other module."""
    layers = list(module) if isinstance(module, nn.Sequential) else []
    dense = all(isinstance(layer, nn.Flatten | nn.ReLU) or type(layer) is nn.Linear for layer in layers)
    return layers if dense and all(layer.bias is not None for layer in layers if isinstance(layer, nn.Linear)) else []


def _forward_one(layers: Sequence[nn.Module], parameters: Sequence[Tensor], x: Tensor) -> Tensor:
    left = iter(parameters)
    for layer in layers:
        x = linear(x, next(left), next(left)) if isinstance(layer, nn.Linear) else layer(x)
    return x


def _forward_many(layers: Sequence[nn.Module], parameters: Sequence[Tensor], x: Tensor) -> Tensor:
    """Linear layers of C clients as batched matrix products."""
    left = iter(parameters)
    for layer in layers:
        if isinstance(layer, nn.Linear):
            weight = next(left).transpose(1, 2)
            x = torch.baddbmm(next(left).unsqueeze(1), x, weight)
        else:
            x = x.flatten(2) if isinstance(layer, nn.Flatten) else layer(x)
    return x


def gradient(loss: Tensor, leaves: Sequence[Tensor], into: Sequence[Tensor]) -> None:
    """Write d(loss)/d(leaves) into views of a flat vector."""
    for target, part in zip(into, torch.autograd.grad(loss, leaves), strict=True):
        target.copy_(part)


def as_leaves(views: Sequence[Tensor]) -> list[Tensor]:
    """The same memory as leaves of a new graph."""
    return [view.detach().requires_grad_() for view in views]
