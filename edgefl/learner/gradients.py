"""How the loss gradient of several clients is computed: by torch.func for any module, or by hand for plain stacks."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from typing import Protocol

import torch
from torch import Tensor

from edgefl.learner.layers import Step
from edgefl.learner.network import Network, as_leaves, gradient
from edgefl.models import Model


class GradientOf(Protocol):
    """Computes the gradients of C clients' losses."""

    def bind(self, w: Tensor, statistics: Tensor, into: Tensor) -> Step:
        """One step's work on these vectors, which stay the same objects from step to step.

        The step takes samples [C, B, ...], labels [C, B], each sample's weight [C, B] in its client's loss (0 for
        padding) and the clients' keys [C] for dropout. It returns each client's loss [C], writes the gradients, and
        updates the statistics in place.

        Args:
            w: [C, d] parameters.
            statistics: [C, b] of batch normalisation.
            into: [C, d] for the gradients.
        """


class VmapGradient:
    """torch.func.vmap over stacked parameters; works for any module.

    Args:
        network: the module.
        model: for its loss.
        bfloat16: run what torch's autocast allows in bfloat16; parameters and their updates stay as they are.
    """

    def __init__(self, network: Network, model: Model, *, bfloat16: bool = False) -> None:
        self.network, self.model, self.bfloat16 = network, model, bfloat16

    def bind(self, w: Tensor, statistics: Tensor, into: Tensor) -> Step:
        """See GradientOf."""
        network = self.network
        parameters, targets = network.parameters.views(w), network.parameters.views(into)
        views = network.statistics.views(statistics)

        def step(x: Tensor, y: Tensor, weight: Tensor, keys: Tensor | None) -> Tensor:
            leaves, buffers = as_leaves(parameters), [view.contiguous() for view in views]
            with autocast(w, enabled=self.bfloat16):
                outputs = network.train_many(leaves, buffers, x, keys)
            losses = (self.model.sample_losses(outputs.to(w.dtype), y) * weight).sum(dim=1)
            gradient(losses.sum(), leaves, targets)
            for view, buffer in zip(views, buffers, strict=True):
                view.copy_(buffer)  # vmap updates contiguous buffers only
            return losses.detach()

        return step


def autocast(like: Tensor, *, enabled: bool) -> AbstractContextManager[object]:
    """Torch's automatic bfloat16, or nothing."""
    return torch.autocast(like.device.type, torch.bfloat16) if enabled else nullcontext()
