"""A torch module seen as a function of flat vectors: its parameters, and the statistics of its batch normalisation."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import TypeVar

import torch
from torch import Tensor, nn
from torch.func import functional_call, vmap

from edgefl.learning.algorithms import ForwardPass
from edgefl.learning.learner.dropout import KeyedDropout, replace_dropout
from edgefl.learning.learner.flat_vectors import Layout, Tensors, flatten

Output = TypeVar("Output")
BATCH_NORMS = (nn.BatchNorm1d, nn.BatchNorm2d, nn.BatchNorm3d)


class Network:
    """The module and the layout of its parameters in a flat vector of d numbers, of its statistics in one of b numbers.

    Statistics are the floating-point buffers: running means and variances of batch normalisation, which are no
    parameters. In training they are updated in place.
    """

    def __init__(self, module: nn.Module) -> None:
        buffers = {name: buffer for name, buffer in module.named_buffers() if buffer.is_floating_point()}
        self.parameters = Layout(dict(module.named_parameters()))
        self.statistics = Layout(buffers)
        self.initial_statistics = flatten(list(buffers.values()), next(module.parameters()))
        self.couples_samples = any(isinstance(layer, BATCH_NORMS) for layer in module.modules())
        self.module = module
        # two copies, as one training step may need both: a loss that compares models tests its references
        self._training = copy.deepcopy(module).train()
        self._testing = copy.deepcopy(module).eval()
        self._key_names = replace_dropout(self._training)
        self.random = bool(self._key_names)  # training needs keys

    def train(self, parameters: Tensors, statistics: Tensors, x: Tensor, key: Tensor | None = None) -> Tensor:
        """Return the outputs [B, ...] of one client for x [B, ...]; update the statistics.

        The `key` names the masks of dropout.
        """
        keys = {}
        if key is not None:
            keys = dict.fromkeys(self._key_names, key)
        return self._call(self._training, parameters, statistics, x, keys)

    def test(self, parameters: Tensors, statistics: Tensors, x: Tensor) -> Tensor:
        """Return the outputs [B, ...] of one model, as for evaluation; change nothing."""
        return self._call(self._testing, parameters, statistics, x, {})

    def state(self, parameters: Tensor, statistics: Tensor) -> dict[str, Tensor]:
        """Return what `state_dict` of the module would, had it these parameters [d] and statistics [b]; no copies.

        Whatever is neither a parameter nor a floating-point buffer is as the module was made.
        """
        values = dict(zip(self.parameters.names, self.parameters.views(parameters), strict=True))
        values |= zip(self.statistics.names, self.statistics.views(statistics), strict=True)
        named = [*self.module.named_parameters(), *self.module.named_buffers()]
        name_of = {id(tensor): name for name, tensor in named}
        state = {}
        for name, tensor in self.module.state_dict(keep_vars=True).items():
            if isinstance(tensor, Tensor):  # a module's extra state may be anything
                # Two names of one tensor, such as tied weights, both stand in a state dict, but once in the vector.
                state[name] = values.get(name_of[id(tensor)], tensor)
        return state

    def activations(self, x: Tensor) -> int:
        """Return how many numbers all layers together put out for x [B, ...]."""
        counts: list[int] = []

        def count(_layer: nn.Module, _inputs: object, output: object) -> None:
            if isinstance(output, Tensor):
                counts.append(output.numel())

        layers = [module for module in self._testing.modules() if not list(module.children())]
        handles = [layer.register_forward_hook(count) for layer in layers]
        try:
            with torch.no_grad():
                self._testing(x)
        finally:
            for handle in handles:
                handle.remove()
        return sum(counts)

    def represent(self, parameters: Tensors, statistics: Tensors, x: Tensor, key: Tensor | None = None) -> ForwardPass:
        """Train as `train` does; return the representations [B, features], too: see `representation`."""
        return representation(self._training, lambda: self.train(parameters, statistics, x, key))

    def represent_reference(self, parameters: Tensors, statistics: Tensors, x: Tensor) -> ForwardPass:
        """Return the same as `represent` for a model that is not trained; change nothing."""
        with torch.no_grad():
            return representation(self._testing, lambda: self.test(parameters, statistics, x))

    def many(
        self,
        one: Callable[..., Output],
        parameters: Tensors,
        statistics: Tensors,
        x: Tensor,
        keys: Tensor | None = None,
    ) -> Output:
        """Call `train`, `represent` or `represent_reference` for C clients at once.

        Args:
            one: the method for one client.
            parameters: [C, *shape] each.
            statistics: [C, *shape] each.
            x: [C, B, ...] samples.
            keys: [C] of dropout; none for a method that takes none.
        """
        args = [list(parameters), list(statistics), x]
        if keys is not None:
            args.append(keys)
        result: Output = vmap(one)(*args)
        return result

    def _call(
        self, module: nn.Module, parameters: Tensors, statistics: Tensors, x: Tensor, keys: dict[str, Tensor]
    ) -> Tensor:
        tensors = dict(zip(self.parameters.names, parameters, strict=True))
        tensors.update(zip(self.statistics.names, statistics, strict=True))
        tensors.update(keys)
        # torch puts these tensors in the places of the module's own, for this one call
        output: Tensor = functional_call(module, tensors, (x,))
        return output


def representation(module: nn.Module, call: Callable[[], Tensor]) -> ForwardPass:
    """Return the outputs [B, ...] of a call of the module, and the representations [B, n].

    Representations are the input of the module's last linear layer. If a dropout stands directly in front of it, they
    are the input of the dropout: those of a model in training are then no noisier than those of others. They are the
    outputs if the module has no linear layer, or nothing is learned before it (as for logistic regression in the
    dynamic-devices paper's program).
    """
    linear_inputs: list[Tensor] = []
    dropouts: list[tuple[Tensor, Tensor]] = []  # the input and the output of each dropout

    def keep_input(_: nn.Module, inputs: tuple[Tensor, ...]) -> None:
        linear_inputs.append(inputs[0])

    def keep_dropout(_: nn.Module, inputs: tuple[Tensor, ...], output: Tensor) -> None:
        dropouts.append((inputs[0], output))

    last = _last_linear(module)
    handles = []
    if last is not None:
        handles.append(last.register_forward_pre_hook(keep_input))
    dropout_layers = [layer for layer in module.modules() if isinstance(layer, (nn.Dropout, KeyedDropout))]
    handles += [layer.register_forward_hook(keep_dropout) for layer in dropout_layers]
    try:
        outputs = call()
    finally:
        for handle in handles:
            handle.remove()
    z = outputs
    if linear_inputs:
        z = linear_inputs[0]
    # by identity, not by value: only the dropout whose output is the linear layer's very input stands in front of it
    for before, after in dropouts:
        if after is z:
            z = before
            break
    dtype = next(module.parameters()).dtype  # under autocast outputs are of another one
    return ForwardPass(outputs.to(dtype), z.reshape(len(z), -1).to(dtype))


def _last_linear(module: nn.Module) -> nn.Linear | None:
    """Return the last linear layer that has a layer with parameters before it; None if there is none."""
    learning = [layer for layer in module.modules() if next(layer.parameters(recurse=False), None) is not None]
    linear = [layer for layer in learning[1:] if isinstance(layer, nn.Linear)]
    if not linear:
        return None
    return linear[-1]


def write_gradient(loss: Tensor, leaves: Tensors, into: Tensors) -> None:
    """Write d(loss)/d(leaves) into views of a flat vector."""
    for target, part in zip(into, torch.autograd.grad(loss, leaves), strict=True):
        target.copy_(part)


def as_leaves(views: Tensors) -> list[Tensor]:
    """Return the same memory as leaves of a new graph."""
    return [view.detach().requires_grad_() for view in views]
