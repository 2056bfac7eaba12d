"""How the loss gradient of several clients is computed: by torch.func for any module, or by hand for plain stacks."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from typing import Protocol

import torch
from torch import Tensor

from edgefl.learner.layers import LayersGradient
from edgefl.learner.network import Network, as_leaves, gradient
from edgefl.models import Model


class GradientOf(Protocol):
    """Computes the gradients of C clients' losses."""

    def __call__(self, w: Tensor, statistics: Tensor, x: Tensor, y: Tensor, weight: Tensor, into: Tensor) -> Tensor:
        """Each client's loss [C]; its gradient is written into [C, d], its statistics are updated in place.

        Args:
            w: [C, d] parameters.
            statistics: [C, b] of batch normalisation.
            x: [C, B, ...] samples.
            y: [C, B] labels.
            weight: [C, B] of each sample in its client's loss; 0 for padding.
            into: [C, d].
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

    def __call__(self, w: Tensor, statistics: Tensor, x: Tensor, y: Tensor, weight: Tensor, into: Tensor) -> Tensor:
        """See GradientOf."""
        network = self.network
        leaves = as_leaves(network.parameters.views(w))
        with autocast(w, enabled=self.bfloat16):
            outputs = network.train_many(leaves, network.statistics.views(statistics), x)
        losses = (self.model.sample_losses(outputs.to(w.dtype), y) * weight).sum(dim=1)
        gradient(losses.sum(), leaves, network.parameters.views(into))
        return losses.detach()


def autocast(like: Tensor, *, enabled: bool) -> AbstractContextManager[object]:
    """Torch's automatic bfloat16, or nothing."""
    return torch.autocast(like.device.type, torch.bfloat16) if enabled else nullcontext()


KERNELS: dict[str, type[LayersGradient | VmapGradient]] = {"layers": LayersGradient, "vmap": VmapGradient}
