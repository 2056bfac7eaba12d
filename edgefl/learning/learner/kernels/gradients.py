"""The loss gradients of several clients: by torch.func for any module, or by hand for plain stacks."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Protocol

import torch
from torch import Tensor

from edgefl.learning.algorithms import Algorithm, Batch, ForwardPass
from edgefl.learning.learner.kernels.compared import sample_losses
from edgefl.learning.learner.networks.network import Network, Unused, as_leaves, write_gradient
from edgefl.learning.models import Model

Step = Callable[[Tensor, Tensor, Tensor, Tensor | None], Tensor]  # samples, labels, weights and keys to losses


@dataclass(frozen=True)
class References:
    """The fixed models that the algorithm's loss compares with while C clients train."""

    models: Mapping[str, Tensor]  # [C, d] each
    statistics: Tensor  # [C, b] of batch normalisation, as received
    received: Mapping[str, Tensor]  # [C, ...] what else came with the model

    def rows(self, which: slice | int) -> References:
        """Return the references of one client (without the client axis), or of several."""
        models = {name: model[which] for name, model in self.models.items()}
        received = {name: vector[which] for name, vector in self.received.items()}
        return References(models, self.statistics[which], received)

    def forward(self, network: Network, x: Tensor) -> dict[str, ForwardPass]:
        """Return the outputs and representations of each model for the samples x [C, B, ...]."""
        statistics = network.statistics.views(self.statistics)
        passes = {}
        for name, model in self.models.items():
            parameters = network.parameters.views(model)
            passes[name] = network.many(network.represent_reference, parameters, statistics, x)
        return passes


class GradientKernel(Protocol):
    """Computes the gradients of C clients' losses."""

    unused: Unused  # of the last step: the numbers of the parameters on which no loss depends

    def bind(self, w: Tensor, statistics: Tensor, into: Tensor, references: References | None) -> Step:
        """Return a function that does one step's work on these vectors, which stay the same objects from step to step.

        It takes samples [C, B, ...], labels [C, B, ...], each sample's weight [C, B] in its client's loss (0 for
        padding), and the clients' keys [C] for dropout. It returns each client's loss [C], writes the gradients of
        w [C, d] `into` [C, d], and updates the statistics [C, b] in place.
        """


class VmapGradient:
    """Gradients by torch.func.vmap over stacked parameters, for any module.

    The `algorithm` gives the loss that replaces the model's if it compares models. With `bfloat16` torch's autocast
    computes in bfloat16 where it can; parameters and their updates stay in float32.
    """

    def __init__(self, network: Network, model: Model, algorithm: Algorithm, *, bfloat16: bool = False) -> None:
        self.network = network
        self.model = model
        self.algorithm = algorithm
        self.bfloat16 = bfloat16
        self.unused: Unused = ()

    def bind(self, w: Tensor, statistics: Tensor, into: Tensor, references: References | None) -> Step:
        """See GradientKernel."""
        network = self.network
        parameters = network.parameters.views(w)
        targets = network.parameters.views(into)
        views = network.statistics.views(statistics)

        def step(x: Tensor, y: Tensor, weight: Tensor, keys: Tensor | None) -> Tensor:
            leaves = as_leaves(parameters)
            # vmap updates contiguous buffers only, and views of a flat vector are none: copies, written back below
            buffers = [view.contiguous() for view in views]
            with autocast(w, enabled=self.bfloat16):
                if references is None:
                    outputs = network.many(network.train, leaves, buffers, x, keys)
                else:
                    own = network.many(network.represent, leaves, buffers, x, keys)
                    outputs = own.outputs
                    others = references.forward(network, x)
            losses = sample_losses(self.model, outputs.to(w.dtype), y, leading=2)
            if references is not None:
                losses = self.algorithm.loss(losses, own, others, Batch(y, weight, references.received))
            losses = (losses * weight).sum(dim=1)
            # clients share no parameter, so the gradient of the sum holds the gradient of each client's loss
            self.unused = write_gradient(losses.sum(), leaves, targets)
            for view, buffer in zip(views, buffers, strict=True):
                view.copy_(buffer)
            return losses.detach()

        return step


def autocast(like: Tensor, *, enabled: bool) -> AbstractContextManager[object]:
    """Return torch's automatic bfloat16 for the device of a tensor, or a context that changes nothing."""
    if not enabled:
        return nullcontext()
    return torch.autocast(like.device.type, torch.bfloat16)
