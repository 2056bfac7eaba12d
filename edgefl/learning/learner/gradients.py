"""How the loss gradient of several clients is computed: by torch.func for any module, or by hand for plain stacks."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Protocol

import torch
from torch import Tensor

from edgefl.learning.algorithms import Algorithm, Batch, ForwardPass
from edgefl.learning.learner.network import Network, as_leaves, gradient
from edgefl.learning.models import Model

Step = Callable[[Tensor, Tensor, Tensor, Tensor | None], Tensor]  # samples, labels, weights and keys to losses


@dataclass(frozen=True)
class Frozen:
    """Models that stay as they are while C clients train, with which the algorithm's loss compares."""

    models: Mapping[str, Tensor]  # [C, d] each
    statistics: Tensor  # [C, b] of batch normalisation, as received
    received: Mapping[str, Tensor]  # [C, ...] what else came with the model

    def rows(self, part: slice | int) -> Frozen:
        """Those of some of the clients."""
        models, received = ({name: each[part] for name, each in of.items()} for of in (self.models, self.received))
        return Frozen(models, self.statistics[part], received)

    def seen(self, network: Network, x: Tensor) -> dict[str, ForwardPass]:
        """What each makes of the samples x [C, B, ...]."""
        statistics = network.statistics.views(self.statistics)
        views = {name: network.parameters.views(model) for name, model in self.models.items()}
        return {name: network.many(network.frozen, each, statistics, x) for name, each in views.items()}


class GradientOf(Protocol):
    """Computes the gradients of C clients' losses."""

    def bind(self, w: Tensor, statistics: Tensor, into: Tensor, frozen: Frozen | None) -> Step:
        """One step's work on these vectors, which stay the same objects from step to step.

        The step takes samples [C, B, ...], labels [C, B], each sample's weight [C, B] in its client's loss (0 for
        padding) and the clients' keys [C] for dropout. It returns each client's loss [C], writes the gradients, and
        updates the statistics in place.

        Args:
            w: [C, d] parameters.
            statistics: [C, b] of batch normalisation.
            into: [C, d] for the gradients.
            frozen: models with which the algorithm's loss compares.
        """


class VmapGradient:
    """torch.func.vmap over stacked parameters; works for any module.

    Args:
        network: the module.
        model: for its loss.
        algorithm: for the loss that takes its place where it compares models.
        bfloat16: run what torch's autocast allows in bfloat16; parameters and their updates stay as they are.
    """

    def __init__(self, network: Network, model: Model, algorithm: Algorithm, *, bfloat16: bool = False) -> None:
        self.network, self.model, self.algorithm, self.bfloat16 = network, model, algorithm, bfloat16

    def bind(self, w: Tensor, statistics: Tensor, into: Tensor, frozen: Frozen | None) -> Step:
        """See GradientOf."""
        network = self.network
        parameters, targets = network.parameters.views(w), network.parameters.views(into)
        views = network.statistics.views(statistics)

        def step(x: Tensor, y: Tensor, weight: Tensor, keys: Tensor | None) -> Tensor:
            leaves, buffers = as_leaves(parameters), [view.contiguous() for view in views]
            with autocast(w, enabled=self.bfloat16):
                if frozen is None:
                    outputs = network.many(network.train, leaves, buffers, x, keys)
                else:
                    own = network.many(network.represent, leaves, buffers, x, keys)
                    outputs, others = own.outputs, frozen.seen(network, x)
            losses = self.model.sample_losses(outputs.to(w.dtype), y)
            if frozen is not None:
                losses = self.algorithm.loss(losses, own, others, Batch(y, weight, frozen.received))
            losses = (losses * weight).sum(dim=1)
            gradient(losses.sum(), leaves, targets)
            for view, buffer in zip(views, buffers, strict=True):
                view.copy_(buffer)  # vmap updates contiguous buffers only
            return losses.detach()

        return step


def autocast(like: Tensor, *, enabled: bool) -> AbstractContextManager[object]:
    """Torch's automatic bfloat16, or nothing."""
    return torch.autocast(like.device.type, torch.bfloat16) if enabled else nullcontext()
