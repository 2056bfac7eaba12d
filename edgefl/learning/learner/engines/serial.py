"""The serial engine: one client after another, as in a plain program; the oracle of the batched one."""

from typing import NamedTuple

import torch
from torch import Tensor

from edgefl.learning.algorithms import Batch, ForwardPass, LocalContext
from edgefl.learning.algorithms.properties import has_own_labels
from edgefl.learning.learner.engines.batches import PAD, shares
from edgefl.learning.learner.engines.engine import Cohort, Trained, TrainingEngine, first_models, select_clients
from edgefl.learning.learner.engines.stacked_batches import sum_of
from edgefl.learning.learner.kernels.compared import sample_losses
from edgefl.learning.learner.kernels.gradients import References, autocast
from edgefl.learning.learner.kernels.image_layout import fastest_layout
from edgefl.learning.learner.networks.dropout import step_keys
from edgefl.learning.learner.networks.flat_vectors import unchanged
from edgefl.learning.learner.networks.network import Unused, as_leaves, write_gradient


class MiniBatch(NamedTuple):
    """The samples of one client in one step."""

    x: Tensor  # [B, ...] samples
    y: Tensor  # [B, ...] labels
    weights: Tensor | None  # [B] of the loss of each sample; None: all alike
    key: Tensor | None  # of dropout


class SerialEngine(TrainingEngine):
    """Trains one client at a time with autograd; works for any module."""

    def train(self, cohort: Cohort) -> Trained:
        """Train the only client of the cohort; see TrainingEngine."""
        full_gradient: Tensor | float = 0.0
        if cohort.all_samples:
            full_gradient = self._full_gradient(cohort.one_pass())[:, : cohort.start.shape[1]]
        stacked = cohort.local(full_gradient)
        references = self.references(stacked, cohort)
        local = select_clients(stacked, 0)
        # copies, as the solver works in place and the received model is shared by many clients
        w = first_models(cohort.start, cohort.state)[0]
        statistics = cohort.statistics[0].clone()
        gradient = torch.empty_like(w)
        moments = self.solver.moments(w)
        loss_sum = w.new_zeros(1)  # on the device, so that no step waits for a number to be read
        for step in range(len(cohort.batches[0])):
            batch = self._mini_batch(cohort, step, local)
            loss, unused = self._gradient(w, statistics, batch, references, gradient)
            loss_sum += loss
            # As torch's optimisers have it: a parameter without a gradient is not even decayed.
            with unchanged(self.network.parameters.places(unused), (w, *moments)):
                phase = self.phases.of_step(step + 1, int(cohort.first_steps[0]))
                self.solver.step(w, gradient, moments, local, step + 1, phase)
        result = self.result(w, cohort, local, statistics, loss_sum)
        return Trained(
            uploads={name: vector[None] for name, vector in result.uploads.items()},
            state={name: vector[None] for name, vector in result.state.items()},
            statistics=statistics[None],
            losses=result.losses,
        )

    def _full_gradient(self, cohort: Cohort) -> Tensor:
        """Return the gradient [1, d] of the task's loss at the received model; the batches hold each sample once."""
        (batches,) = cohort.batches
        w = first_models(cohort.start, cohort.state)[0]
        statistics = cohort.statistics[0].clone()  # every forward pass updates them, and this one must leave no trace
        total = torch.zeros_like(w)
        gradient = torch.empty_like(w)
        local = select_clients(cohort.local(), 0)
        for step, share in enumerate(shares(batches[None], self.samples.weight)[0]):
            self._gradient(w, statistics, self._mini_batch(cohort, step, local), None, gradient)
            total.add_(gradient, alpha=float(share))
        return total[None]

    def _mini_batch(self, cohort: Cohort, step: int, local: LocalContext) -> MiniBatch:
        batch = cohort.batches[0][step]
        is_sample = batch != PAD  # no padding here: a single client needs none
        device = cohort.start.device
        numbers = torch.from_numpy(batch[is_sample]).to(device)
        draws = None
        if cohort.draws is not None:
            draws = torch.from_numpy(cohort.draws[0][step][is_sample]).to(device)
        key = None
        if cohort.keys is not None:
            key = step_keys(cohort.keys, step)[0]
        x = fastest_layout(self.samples.batch(numbers, draws), self.model, self.network)
        weights = None
        if self.samples.weight is not None:
            weights = torch.from_numpy(self.samples.weight[batch[is_sample]]).to(device, cohort.start.dtype)
        y = self.samples.y[numbers]
        if has_own_labels(self.solver.algorithm):
            y = self.solver.algorithm.labels(y, local)
        return MiniBatch(x, y, weights, key)

    def _gradient(
        self, w: Tensor, statistics: Tensor, batch: MiniBatch, references: References | None, into: Tensor
    ) -> tuple[Tensor, Unused]:
        """Write the gradient of a mini-batch's mean loss over labels into a flat vector, and update the statistics.

        Returns:
            The loss, and the numbers of the parameters on which it does not depend.
        """
        network = self.network
        x, y, counted, key = batch
        leaves = as_leaves(network.parameters.views(w))
        buffers = network.statistics.views(statistics)
        bfloat16 = self.solver.training.precision == "bfloat16"
        with network.drawing(key, w.device), autocast(w, enabled=bfloat16):
            if references is None:
                outputs = network.train(leaves, buffers, x, key)
            else:
                own = network.represent(leaves, buffers, x, key)
                # references have a leading client axis, of length 1 here
                stacked = references.forward(network, x[None])
                others = {name: ForwardPass(each.outputs[0], each.z[0]) for name, each in stacked.items()}
                outputs = own.outputs
        losses = sample_losses(self.model, outputs.to(w.dtype), y)
        if references is not None:
            # the mean of the mini-batch, written as weights for losses that are more than a sum over samples
            weights = torch.full_like(losses, 1 / len(y))
            if counted is not None:
                weights = counted / sum_of(counted)
            received = references.rows(0).received
            losses = self.solver.algorithm.loss(losses, own, others, Batch(y, weights, received))
        loss = losses.mean()
        if counted is not None:
            loss = (losses * counted).sum() / sum_of(counted)[0]
        unused = write_gradient(loss, leaves, network.parameters.views(into))
        return loss.detach(), unused
