"""The serial engine: one client after another, as one would write it by hand; the oracle of the batched one."""

from __future__ import annotations

import torch
from torch import Tensor

from edgefl.algorithms import Local
from edgefl.learner.batches import PAD, Indices
from edgefl.learner.engine import Engine, Result
from edgefl.learner.network import as_leaves, gradient


class SerialEngine(Engine):
    """Trains each job by itself."""

    def width(self) -> int:
        """One client at a time."""
        return 1

    def train(self, start: Tensor, lr: Tensor, received: dict[str, Tensor], batches: list[Indices]) -> Result:
        """See Engine."""
        local = Local(start[0], float(lr[0]), {name: value[0] for name, value in received.items()})
        w = start[0].clone()
        grad, velocity = torch.empty_like(w), self.solver.velocity(w)
        views, grad_views = self.network.views(w), self.network.views(grad)
        loss_sum = w.new_zeros(())
        for batch in batches[0]:
            samples = torch.from_numpy(batch[batch != PAD]).to(w.device)
            leaves = as_leaves(views)
            losses = self.model.sample_losses(self.network.forward(leaves, self.x[samples]), self.y[samples])
            loss = losses.mean()
            gradient(loss, leaves, grad_views)
            self.solver.step(w, grad, velocity, local)
            loss_sum += loss.detach()
        uploads = {name: vector[None] for name, vector in self.solver.algorithm.finish(w, local).items()}
        return uploads, (loss_sum / len(batches[0]))[None]
