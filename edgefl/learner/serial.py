"""The serial engine: one client after another, as one would write it by hand; the oracle of the batched one."""

from __future__ import annotations

import torch
from torch import Tensor

from edgefl.learner.batches import PAD
from edgefl.learner.dropout import step_keys
from edgefl.learner.engine import Cohort, Engine, Trained, rows
from edgefl.learner.gradients import autocast
from edgefl.learner.network import as_leaves, gradient

Random = tuple[Tensor | None, Tensor | None]  # draws of augmentation [B, 3], key of dropout


class SerialEngine(Engine):
    """Trains a client by itself, with autograd, any module."""

    def train(self, cohort: Cohort) -> Trained:
        """See Engine; for one client."""
        local = rows(cohort.local(), 0)
        w, statistics = cohort.start[0].clone(), cohort.statistics[0].clone()
        grad, velocity = torch.empty_like(w), self.solver.velocity(w)
        loss_sum = w.new_zeros(1)
        for step, batch in enumerate(cohort.batches[0]):
            draws = None if cohort.draws is None else torch.from_numpy(cohort.draws[0][step][batch != PAD])
            key = None if cohort.keys is None else step_keys(cohort.keys, step)[0]
            loss_sum += self._gradient(w, statistics, torch.from_numpy(batch[batch != PAD]), (draws, key), grad)
            self.solver.step(w, grad, velocity, local)
        trained = self._trained(w, cohort, local, statistics, loss_sum)
        uploads = {name: vector[None] for name, vector in trained.uploads.items()}
        state = {name: vector[None] for name, vector in trained.state.items()}
        return Trained(uploads, state, statistics[None], trained.losses)

    def _gradient(self, w: Tensor, statistics: Tensor, batch: Tensor, random: Random, into: Tensor) -> Tensor:
        """Mean loss of one mini-batch; its gradient goes into a flat vector."""
        network, batch, (draws, key) = self.network, batch.to(w.device), random
        leaves = as_leaves(network.parameters.views(w))
        x = self.samples.batch(batch, None if draws is None else draws.to(w.device))
        with autocast(w, enabled=self.solver.training.precision == "bfloat16"):
            outputs = network.train(leaves, network.statistics.views(statistics), x, key)
        loss = self.model.sample_losses(outputs.to(w.dtype), self.samples.y[batch]).mean()
        gradient(loss, leaves, network.parameters.views(into))
        return loss.detach()
