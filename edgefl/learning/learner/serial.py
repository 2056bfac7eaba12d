"""The serial engine: one client after another, as one would write it by hand; the oracle of the batched one."""

from __future__ import annotations

import torch
from torch import Tensor

from edgefl.learning.algorithms import Batch, ForwardPass
from edgefl.learning.learner.batches import PAD, shares
from edgefl.learning.learner.dropout import step_keys
from edgefl.learning.learner.engine import Cohort, Engine, Trained, rows
from edgefl.learning.learner.gradients import Frozen, autocast
from edgefl.learning.learner.network import as_leaves, gradient

Drawn = tuple[Tensor, Tensor, Tensor | None]  # samples [B, ...], labels [B], key of dropout


class SerialEngine(Engine):
    """Trains a client by itself, with autograd, any module."""

    def train(self, cohort: Cohort) -> Trained:
        """See Engine; for one client."""
        many = cohort.local(self._full_gradient(cohort.one_pass()) if cohort.whole else 0.0)
        frozen, local = self.frozen(many, cohort), rows(many, 0)
        w, statistics = cohort.start[0].clone(), cohort.statistics[0].clone()
        grad, moments = torch.empty_like(w), self.solver.moments(w)
        loss_sum = w.new_zeros(1)
        for step in range(len(cohort.batches[0])):
            loss_sum += self._gradient(w, statistics, self._batch(cohort, step), frozen, grad)
            self.solver.step(w, grad, moments, local, step + 1)
        trained = self._trained(w, cohort, local, statistics, loss_sum)
        uploads = {name: vector[None] for name, vector in trained.uploads.items()}
        state = {name: vector[None] for name, vector in trained.state.items()}
        return Trained(uploads, state, statistics[None], trained.losses)

    def _full_gradient(self, cohort: Cohort) -> Tensor:
        """That of the task's loss at the received model [1, d]; the cohort's batches hold each sample once."""
        w, statistics, (batches,) = cohort.start[0], cohort.statistics[0].clone(), cohort.batches
        total, grad = torch.zeros_like(w), torch.empty_like(w)
        for step, share in enumerate(shares(batches[None])[0]):
            self._gradient(w, statistics, self._batch(cohort, step), None, grad)
            total.add_(grad, alpha=float(share))
        return total[None]

    def _batch(self, cohort: Cohort, step: int) -> Drawn:
        """The client's samples, labels and key of dropout in one step."""
        batch, place = cohort.batches[0][step], cohort.start.device
        draws = None if cohort.draws is None else torch.from_numpy(cohort.draws[0][step][batch != PAD]).to(place)
        key = None if cohort.keys is None else step_keys(cohort.keys, step)[0]
        numbers = torch.from_numpy(batch[batch != PAD]).to(place)
        return self.samples.batch(numbers, draws), self.samples.y[numbers], key

    def _gradient(self, w: Tensor, statistics: Tensor, batch: Drawn, frozen: Frozen | None, into: Tensor) -> Tensor:
        """Mean loss of one mini-batch; its gradient goes into a flat vector."""
        network, (x, y, key) = self.network, batch
        leaves, buffers = as_leaves(network.parameters.views(w)), network.statistics.views(statistics)
        with autocast(w, enabled=self.solver.training.precision == "bfloat16"):
            if frozen is None:
                outputs = network.train(leaves, buffers, x, key)
            else:
                own = network.represent(leaves, buffers, x, key)
                of_one = frozen.seen(network, x[None])
                others = {name: ForwardPass(seen.outputs[0], seen.z[0]) for name, seen in of_one.items()}
                outputs = own.outputs
        losses = self.model.sample_losses(outputs.to(w.dtype), y)
        if frozen is not None:
            besides = Batch(y, torch.full_like(losses, 1 / len(y)), frozen.rows(0).received)
            losses = self.solver.algorithm.loss(losses, own, others, besides)
        loss = losses.mean()
        gradient(loss, leaves, network.parameters.views(into))
        return loss.detach()
