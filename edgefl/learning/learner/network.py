"""A torch module seen as a function of flat vectors: its parameters, and the statistics of its batch normalisation."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from math import prod
from typing import TypeVar

import torch
from torch import Tensor, nn
from torch.func import functional_call, vmap

from edgefl.learning.algorithms import ForwardPass
from edgefl.learning.learner.dropout import KeyedDropout, replace_dropout

T = TypeVar("T")
Tensors = Sequence[Tensor]
BATCH_NORMS = (nn.BatchNorm1d, nn.BatchNorm2d, nn.BatchNorm3d)


class Layout:
    """How named tensors lie one after another in a flat vector."""

    def __init__(self, named: dict[str, Tensor]) -> None:
        self.names = list(named)
        self.shapes = [tensor.shape for tensor in named.values()]
        self.sizes = [prod(shape) for shape in self.shapes]

    def __len__(self) -> int:
        return sum(self.sizes)

    def views(self, flat: Tensor) -> list[Tensor]:
        """Each tensor as a view [..., *shape] of flat vectors [..., d]."""
        parts = torch.split(flat, self.sizes, dim=-1) if self.sizes else ()
        return [part.view(*part.shape[:-1], *shape) for part, shape in zip(parts, self.shapes, strict=True)]


class Network:
    """The module and the layout of its parameters in a flat vector of d numbers, of its statistics in one of b numbers.

    Statistics are the floating-point buffers: running means and variances of batch normalisation, which are no
    parameters. In training they are updated in place.
    """

    def __init__(self, module: nn.Module) -> None:
        buffers = {name: buffer for name, buffer in module.named_buffers() if buffer.is_floating_point()}
        self.parameters, self.statistics = Layout(dict(module.named_parameters())), Layout(buffers)
        self.initial_statistics = flatten(list(buffers.values()), next(module.parameters()))
        self.couples_samples = any(isinstance(layer, BATCH_NORMS) for layer in module.modules())
        self.module = module
        self._training, self._testing = copy.deepcopy(module).train(), copy.deepcopy(module).eval()
        self._key_names = replace_dropout(self._training)
        self.random = bool(self._key_names)  # whether training needs keys

    def train(self, parameters: Tensors, statistics: Tensors, x: Tensor, key: Tensor | None = None) -> Tensor:
        """Outputs [B, ...] of one client for x [B, ...]; updates the statistics; `key` names the masks of dropout."""
        keys = {} if key is None else dict.fromkeys(self._key_names, key)
        return self._call(self._training, parameters, statistics, x, keys)

    def represent(self, parameters: Tensors, statistics: Tensors, x: Tensor, key: Tensor | None = None) -> ForwardPass:
        """As `train`, and the representations [B, features]: see `representation`."""
        return representation(self._training, lambda: self.train(parameters, statistics, x, key))

    def frozen(self, parameters: Tensors, statistics: Tensors, x: Tensor) -> ForwardPass:
        """As `represent`, for a model that is not trained; changes nothing."""
        with torch.no_grad():
            return representation(self._testing, lambda: self.test(parameters, statistics, x))

    def many(
        self, one: Callable[..., T], parameters: Tensors, statistics: Tensors, x: Tensor, keys: Tensor | None = None
    ) -> T:
        """`train`, `represent` or `frozen` for C clients: parameters [C, *shape] each, x [C, B, ...], keys [C]."""
        args = (list(parameters), list(statistics), x)
        result: T = vmap(one)(*args) if keys is None else vmap(one)(*args, keys)
        return result

    def test(self, parameters: Tensors, statistics: Tensors, x: Tensor) -> Tensor:
        """Outputs [B, ...] of one model, as for evaluation; changes nothing."""
        return self._call(self._testing, parameters, statistics, x, {})

    def _call(
        self, module: nn.Module, parameters: Tensors, statistics: Tensors, x: Tensor, keys: dict[str, Tensor]
    ) -> Tensor:
        named = [*zip(self.parameters.names, parameters, strict=True)]
        named += zip(self.statistics.names, statistics, strict=True)
        output: Tensor = functional_call(module, {**dict(named), **keys}, (x,))
        return output


def representation(module: nn.Module, call: Callable[[], Tensor]) -> ForwardPass:
    """The outputs [B, ...] of a call of the module, and the representations [B, n].

    These are what its last linear layer got, before a dropout that stands directly in front of it, so that those of a
    model in training are no noisier than those of others; the outputs, where it has no linear layer, or nothing is
    learned before it (as the dynamic-devices paper's program has it for logistic regression; algorithm cards, 4.1).
    """
    got: list[Tensor] = []
    dropped: list[tuple[Tensor, Tensor]] = []  # what each dropout got, and what it made of that
    weighty = [layer for layer in module.modules() if next(layer.parameters(recurse=False), None) is not None]
    linear = [layer for layer in weighty[1:] if isinstance(layer, nn.Linear)]
    handles = [layer.register_forward_pre_hook(lambda _, inputs: got.append(inputs[0])) for layer in linear[-1:]]
    dropouts = [layer for layer in module.modules() if isinstance(layer, (nn.Dropout, KeyedDropout))]
    handles += [each.register_forward_hook(lambda _, inputs, y: dropped.append((inputs[0], y))) for each in dropouts]
    try:
        outputs = call()
    finally:
        for handle in handles:
            handle.remove()
    z = got[0] if got else outputs
    z = next((before for before, after in dropped if after is z), z)
    dtype = next(module.parameters()).dtype
    return ForwardPass(outputs.to(dtype), z.reshape(len(z), -1).to(dtype))


def flatten(tensors: Tensors, like: Tensor) -> Tensor:
    """One flat copy of tensors of any shapes, of the kind of `like`."""
    return torch.cat([tensor.detach().flatten() for tensor in tensors]) if tensors else like.new_empty(0).detach()


def gradient(loss: Tensor, leaves: Tensors, into: Tensors) -> None:
    """Write d(loss)/d(leaves) into views of a flat vector."""
    for target, part in zip(into, torch.autograd.grad(loss, leaves), strict=True):
        target.copy_(part)


def as_leaves(views: Tensors) -> list[Tensor]:
    """The same memory as leaves of a new graph."""
    return [view.detach().requires_grad_() for view in views]
