"""The batched engine: all clients at once, with a leading client axis."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import torch
from torch import Tensor

from edgefl.algorithms import Local
from edgefl.learner.batches import PAD, Indices, stack
from edgefl.learner.engine import Engine, Result
from edgefl.learner.network import as_leaves, gradient

CHUNK_FLOATS = 2**26  # of parameters, gradients and the like of the clients trained together: 256 MiB in float32
CPU_CLIENTS = 8  # at once on a CPU, so that every core gets a chunk; fixed, so that results do not depend on the cores


class BatchedEngine(Engine):
    """Trains clients together; those with fewer steps leave the batch when they are done."""

    def width(self) -> int:
        """As many clients as a fixed memory budget allows."""
        fit = max(1, CHUNK_FLOATS // (4 * sum(self.network.sizes)))
        return min(fit, CPU_CLIENTS) if self.x.device.type == "cpu" else fit

    def train(self, start: Tensor, lr: Tensor, received: dict[str, Tensor], batches: list[Indices]) -> Result:
        """See Engine."""
        indices = torch.from_numpy(stack(batches)).to(start.device)
        weights = _weights(indices, start.dtype)
        steps = np.array([len(batch) for batch in batches])
        w, grad = start.clone(), torch.empty_like(start)
        velocity, local = self.solver.velocity(w), Local(start, _rate(lr), received)
        loss_sum = w.new_zeros(len(batches))
        for step in range(int(steps[0])):
            active = int((steps > step).sum())  # sorted: the clients that still train come first
            rows, weight = indices[:active, step].clamp(min=0), weights[:active, step]
            leaves = as_leaves(self.network.views(w[:active]))
            outputs = self.network.forward_many(leaves, self.x[rows])
            losses = (self.model.sample_losses(outputs, self.y[rows]) * weight).sum(dim=1)
            gradient(losses.sum(), leaves, self.network.views(grad[:active]))
            moved = None if velocity is None else velocity[:active]
            self.solver.step(w[:active], grad[:active], moved, _first(local, active))
            loss_sum[:active] += losses.detach()
        return self.solver.algorithm.finish(w, local), loss_sum / torch.from_numpy(steps).to(loss_sum)


def _weights(indices: Tensor, dtype: torch.dtype) -> Tensor:
    """Each sample's share [C, K, B] in the mean of its batch; padding weighs nothing."""
    valid = (indices != PAD).to(dtype)
    return valid / valid.sum(dim=2, keepdim=True).clamp(min=1)


def _rate(lr: Tensor) -> Tensor | float:
    """A plain number where all clients have the same rate."""
    return float(lr[0]) if bool((lr == lr[0]).all()) else lr


def _first(local: Local, count: int) -> Local:
    """The first clients' rows."""
    if count == len(local.start):
        return local
    lr = local.lr if isinstance(local.lr, float) else local.lr[:count]
    received = {name: value[:count] for name, value in local.received.items()}
    return replace(local, start=local.start[:count], lr=lr, received=received)
