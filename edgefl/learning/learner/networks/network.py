"""A torch module seen as a function of flat vectors: the parameters that it trains, and the buffers that it changes."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import TypeVar

import numpy as np
import torch
from torch import Tensor, nn
from torch.func import functional_call, vmap

from edgefl.learning.algorithms import ForwardPass
from edgefl.learning.datasets import Data
from edgefl.learning.learner.networks.dropout import KeyedDropout, keyed_draws, keyed_dropouts, replace_dropout
from edgefl.learning.learner.networks.flat_vectors import Layout, Tensors, flatten
from edgefl.learning.learner.networks.module_state import statistics_of, trained_parameters
from edgefl.learning.models.module_copy import copied
from edgefl.learning.trained_model import TrainedModel

Output = TypeVar("Output")
Unused = Sequence[int]  # numbers of the parameters that a forward pass has not used
BATCH_NORMS = (nn.BatchNorm1d, nn.BatchNorm2d, nn.BatchNorm3d, nn.SyncBatchNorm)


class Network:
    """The module and the layouts of flat vectors: d numbers for its parameters, b numbers for its statistics.

    Parameters are those that the module trains; frozen ones (`requires_grad=False`) keep their first values. Statistics
    are the buffers that training may change, such as running means and variances of batch normalisation; they are not
    parameters, and training updates them in place. Whole numbers among them are floating-point in the vector, so that
    means can be taken, and the nearest whole numbers in the module.

    Args:
        module: the module.
        own_code: it is the user's code, which may draw from torch's generator, count, and replace its buffers.
        kept: names of the parameters that devices keep, which are the last ones of the vector.
    """

    def __init__(self, module: nn.Module, *, own_code: bool = False, kept: frozenset[str] = frozenset()) -> None:
        parameters = trained_parameters(module, kept)
        first = next(iter(parameters.values()))
        buffers = statistics_of(module, first.dtype, whole_numbers=own_code)
        self.parameters = Layout(parameters)
        self.kept = Layout({name: parameter for name, parameter in parameters.items() if name in kept})
        self.statistics = Layout(buffers)
        self.initial_statistics = flatten([buffer.to(first.dtype) for buffer in buffers.values()], first)
        self.couples_samples = any(isinstance(layer, BATCH_NORMS) for layer in module.modules())
        self.module = module
        self.own_code = own_code
        self._types = [buffer.dtype for buffer in buffers.values()]
        # two copies, as one training step may need both: a loss that compares models tests its references
        self._training = copied(module).train()
        self._testing = copied(module).eval()
        self._key_names = replace_dropout(self._training)
        self._dropouts = keyed_dropouts(self._training)
        self.random = bool(self._key_names) or own_code  # training needs keys

    def train(self, parameters: Tensors, statistics: Tensors, x: Tensor, key: Tensor | None = None) -> Tensor:
        """Return the outputs [B, ...] of one client for x [B, ...]; update the statistics.

        The `key` names the masks of dropout.
        """
        keys = {}
        if key is not None:
            keys = dict.fromkeys(self._key_names, key)
        for layer in self._dropouts:
            layer.begin()
        if not self.own_code:  # torch's layers, which update their buffers in place
            return self._call(self._training, parameters, statistics, x, keys)
        buffers = self.as_buffers(statistics)
        tensors = {**self._named(parameters, buffers), **keys}
        output: Tensor = functional_call(self._training, tensors, (x.clone(),))
        # The forward pass may have put other tensors in the places of its buffers: torch leaves them in the dictionary.
        for name, statistic in zip(self.statistics.names, statistics, strict=True):
            statistic.copy_(tensors[name].detach())
        return output

    def drawing(self, key: Tensor | None, device: torch.device) -> AbstractContextManager[object]:
        """Return a context where one client's forward pass draws from torch's generator as its `key` says."""
        if key is None or not self.own_code:
            return nullcontext()
        return keyed_draws(int(key), device)

    def test(self, parameters: Tensors, statistics: Tensors, x: Tensor) -> Tensor:
        """Return the outputs [B, ...] of one model, as for evaluation; change nothing but perhaps x [B, ...]."""
        if self.own_code:  # which may work in place, while other threads read the model
            parameters = [parameter.clone() for parameter in parameters]
        return self._call(self._testing, parameters, self.as_buffers(statistics), x, {})

    def state(self, parameters: Tensor, statistics: Tensor) -> dict[str, Tensor]:
        """Return the module's `state_dict` with these parameters [d] and statistics [b], without copies.

        All other entries have their first values. Statistics that no `state_dict` has (`persistent=False`) come behind
        them if they have changed.
        """
        buffers = self.as_buffers(self.statistics.views(statistics))
        values = self._named(self.parameters.views(parameters), buffers)
        named = [*self.module.named_parameters(), *self.module.named_buffers()]
        name_of = {id(tensor): name for name, tensor in named}
        state = {}
        saved = set()
        for name, tensor in self.module.state_dict(keep_vars=True).items():
            if isinstance(tensor, Tensor):  # a module's extra state may be anything
                # Two names of one tensor, such as tied weights, both stand in a state dict, but once in the vector.
                own_name = name_of[id(tensor)]
                saved.add(own_name)
                state[name] = values.get(own_name, tensor)
        initial = self.as_buffers(self.statistics.views(self.initial_statistics))
        unsaved = {
            name: buffer
            for name, buffer, first in zip(self.statistics.names, buffers, initial, strict=True)
            if name not in saved and not torch.equal(buffer, first)
        }
        return state | unsaved

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
        """Train as `train` does; also return the representations [B, features], see `representation`."""
        return representation(self._training, lambda: self.train(parameters, statistics, x, key))

    def represent_reference(self, parameters: Tensors, statistics: Tensors, x: Tensor) -> ForwardPass:
        """Return the same as `represent` for a model that is not trained; change nothing."""
        with torch.no_grad():
            return representation(self._testing, lambda: self.test(parameters, statistics, x.clone()))

    def many(
        self,
        one: Callable[..., Output],
        parameters: Tensors,
        statistics: Tensors,
        x: Tensor,
        keys: Tensor | None = None,
    ) -> Output:
        """Call `one` (`train`, `represent` or `represent_reference`) for C clients together.

        Parameters and statistics are [C, *shape] each, samples x [C, B, ...], and keys of dropout [C].
        """
        args = [list(parameters), list(statistics), x]
        if keys is not None:
            args.append(keys)
        result: Output = vmap(one)(*args)
        return result

    def _call(
        self, module: nn.Module, parameters: Tensors, buffers: Tensors, x: Tensor, keys: dict[str, Tensor]
    ) -> Tensor:
        # torch puts these tensors in the places of the module's own, for this one call
        output: Tensor = functional_call(module, {**self._named(parameters, buffers), **keys}, (x,))
        return output

    def _named(self, parameters: Tensors, buffers: Tensors) -> dict[str, Tensor]:
        named = dict(zip(self.parameters.names, parameters, strict=True))
        named.update(zip(self.statistics.names, buffers, strict=True))
        return named

    def as_buffers(self, statistics: Tensors) -> Tensors:
        """Return statistics in the types of the module's buffers; the user's code gets copies to change."""
        if not self.own_code:
            return statistics
        buffers = []
        for statistic, kind in zip(statistics, self._types, strict=True):
            if kind.is_floating_point:
                buffers.append(statistic.clone())
            else:
                buffers.append(statistic.round().to(kind))
        return buffers


def representation(module: nn.Module, call: Callable[[], Tensor]) -> ForwardPass:
    """Return the outputs [B, ...] of a call of the module, and the representations [B, n].

    Representations are the inputs of the module's last linear layer; if a dropout stands directly before it, the inputs
    of the dropout, so that a model in training is not noisier than others. They are the outputs if the module has no
    linear layer, or learns nothing before it (such as logistic regression in the dynamic-devices paper's program).
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
    dtype = next(iter(trained_parameters(module).values())).dtype  # under autocast outputs are of another one
    return ForwardPass(outputs.to(dtype), z.reshape(len(z), -1).to(dtype))


def _last_linear(module: nn.Module) -> nn.Linear | None:
    """Return the last linear layer that has a layer with parameters before it; None if there is none."""
    learning = [layer for layer in module.modules() if next(layer.parameters(recurse=False), None) is not None]
    linear = [layer for layer in learning[1:] if isinstance(layer, nn.Linear)]
    if not linear:
        return None
    return linear[-1]


def write_gradient(loss: Tensor, leaves: Tensors, into: Tensors) -> Unused:
    """Write d(loss)/d(leaves) into views of a flat vector; return the numbers of the leaves that the loss does not use.

    The gradients of these are 0.
    """
    unused: list[int] = []
    gradients: Sequence[Tensor | None] = torch.autograd.grad(loss, leaves, allow_unused=True)
    for number, (target, part) in enumerate(zip(into, gradients, strict=True)):
        if part is None:
            target.zero_()
            unused.append(number)
        elif part.is_sparse:  # of an embedding with `sparse=True`
            target.copy_(part.to_dense())
        else:
            target.copy_(part)
    return unused


def as_leaves(views: Tensors) -> list[Tensor]:
    """Return the same memory as leaves of a new graph."""
    return [view.detach().requires_grad_() for view in views]


def trained_model(
    network: Network, w: Tensor, statistics: Tensor, data: Data, own: Mapping[str, Tensor] | None = None
) -> TrainedModel:
    """Return the model w [d] and its statistics [b] as they leave a run, with what devices have of their `own`."""
    return TrainedModel(
        tensors={name: tensor.detach().cpu().numpy().copy() for name, tensor in network.state(w, statistics).items()},
        parameters=tuple(network.parameters.names),
        sample_shape=data.shape,
        classes=data.outputs,
        sample_dtype="int64" if data.tokens else data.dtype,
        mean=np.asarray(data.mean).tolist(),
        std=np.asarray(data.std).tolist(),
        own={name: values.detach().cpu().numpy().copy() for name, values in (own or {}).items()},
    )
