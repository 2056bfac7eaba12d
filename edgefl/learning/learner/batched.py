"""The batched engine, which trains clients together along a leading client axis."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby

import numpy as np
import torch
from torch import Tensor

from edgefl.core.arrays import Indices, Ints
from edgefl.learning.learner.batches import PAD, shares, stack
from edgefl.learning.learner.dropout import step_keys
from edgefl.learning.learner.engine import Cohort, Trained, TrainingEngine, select_clients
from edgefl.learning.learner.gradients import GradientKernel, References, Step
from edgefl.learning.learner.network import Network
from edgefl.learning.learner.samples import Samples
from edgefl.learning.learner.solver import Solver
from edgefl.learning.models import Model


class BatchedEngine(TrainingEngine):
    """Trains clients together; those with fewer steps leave the batch when they are done.

    Args:
        network: see TrainingEngine.
        model: see TrainingEngine.
        solver: see TrainingEngine.
        samples: see TrainingEngine.
        kernel: computes the gradients of several clients.
    """

    def __init__(
        self, network: Network, model: Model, solver: Solver, samples: Samples, kernel: GradientKernel
    ) -> None:
        super().__init__(network, model, solver, samples)
        self.kernel = kernel

    def train(self, cohort: Cohort) -> Trained:
        """Train all clients of the cohort; see TrainingEngine."""
        full_gradient: Tensor | float = 0.0
        if cohort.all_samples:
            full_gradient = self._full_gradient(cohort.one_pass())
        local = cohort.local(full_gradient)
        references = self.references(local, cohort)
        # copies, as the solver works in place and the received model is shared by many clients
        w = cohort.start.clone()
        statistics = cohort.statistics.clone()
        gradient = torch.empty_like(w)
        moments = self.solver.moments(w)
        loss_sum = w.new_zeros(len(w))  # on the device, so that no step waits for a number to be read
        steps = self._gradients(cohort, w, statistics, references, gradient)
        for number, (active, losses) in enumerate(steps, 1):
            loss_sum[:active] += losses
            # Clients with more steps come first, so that those that go on are the first rows: views, no copies.
            active_local = local
            if active < len(w):
                active_local = select_clients(local, slice(active))
            active_moments = [moment[:active] for moment in moments]
            self.solver.step(w[:active], gradient[:active], active_moments, active_local, number)
        return self.result(w, cohort, local, statistics, loss_sum)

    def _gradients(
        self, cohort: Cohort, w: Tensor, statistics: Tensor, references: References | None, into: Tensor
    ) -> Iterator[tuple[int, Tensor]]:
        """Yield for each step how many clients still train, and their losses; `into` then holds the gradients at w."""
        batches = _StackedBatches(cohort, self.samples)
        # Views of each layer's parameters are made once for all steps; groups of clients change only with batch sizes.
        bound: dict[tuple[int, int], Step] = {}
        for step in range(batches.steps):
            active = batches.active(step)
            keys = None
            if cohort.keys is not None:
                keys = step_keys(cohort.keys, step)
            losses = w.new_empty(active)
            for begin, end in self._groups(batches.sizes[:active, step]):
                group = slice(begin, end)
                if (begin, end) not in bound:
                    compared = None
                    if references is not None:
                        compared = references.rows(group)
                    bound[begin, end] = self.kernel.bind(w[group], statistics[group], into[group], compared)
                group_keys = None
                if keys is not None:
                    group_keys = keys[group]
                losses[group] = bound[begin, end](*batches.take(step, group), group_keys)
            yield active, losses

    def _full_gradient(self, cohort: Cohort) -> Tensor:
        """Return the gradients [C, d] of the task's loss at the received models; batches hold each sample once."""
        w = cohort.start.clone()
        statistics = cohort.statistics.clone()  # updated in every forward pass; this pass must leave no trace
        total = torch.zeros_like(w)
        gradient = torch.empty_like(w)
        weights = w.new_tensor(shares(stack(cohort.batches)))
        for step, (active, _) in enumerate(self._gradients(cohort, w, statistics, None, gradient)):
            total[:active].addcmul_(gradient[:active], weights[:active, step, None])
        return total

    def _groups(self, sizes: Ints) -> Iterator[tuple[int, int]]:
        """Yield ranges [begin, end) of clients that may share a batch; `sizes` [clients] are their mini-batches' sizes.

        These are all clients, unless batch normalisation lets samples see each other: padding would then change the
        means, so that only clients with batches of equal sizes are stacked.
        """
        if not self.network.couples_samples:
            yield 0, len(sizes)
            return
        begin = 0
        for _, equal_sizes in groupby(sizes):
            end = begin + len(list(equal_sizes))
            yield begin, end
            begin = end


class _StackedBatches:
    """The mini-batches of a cohort, step by step."""

    def __init__(self, cohort: Cohort, samples: Samples) -> None:
        self.samples = samples
        self.device = cohort.start.device
        self.indices = stack(cohort.batches)
        is_sample = self.indices != PAD
        self.sizes = is_sample.sum(axis=2)  # [C, K]
        self.steps = self.sizes.shape[1]
        # padding gathers sample 0, which then weighs nothing in the mean of its batch
        self.rows = torch.from_numpy(self.indices).clamp(min=0).to(self.device)
        valid = torch.from_numpy(is_sample).to(self.device, cohort.start.dtype)
        self.weights = valid / valid.sum(dim=2, keepdim=True).clamp(min=1)
        # all indices of the round go to the device at once: a transfer at every step would stall a GPU
        self.draws: Tensor | None = None
        if cohort.draws is not None:
            self.draws = torch.from_numpy(stack(cohort.draws)).to(self.device)
        self._last_indices: Indices | None = None
        self._last_batch: tuple[Tensor, Tensor, Tensor] | None = None

    def active(self, step: int) -> int:
        """Return how many clients still train; these come first, as clients are sorted by steps."""
        # counted on the host, where the indices are: asking a GPU would wait for it
        return int((self.sizes[:, step] > 0).sum())

    def take(self, step: int, group: slice) -> tuple[Tensor, Tensor, Tensor]:
        """Return samples [C, B, ...], labels [C, B] and weights [C, B] of a group of clients.

        Full-batch training asks for the same samples at every step: they are gathered once, unless they are augmented.
        """
        size = int(self.sizes[group, step].max())
        wanted = self.indices[group, step, :size]
        is_last = self._last_indices is not None and np.array_equal(self._last_indices, wanted)
        if self._last_batch is not None and is_last and self.draws is None:
            return self._last_batch
        numbers = self.rows[group, step, :size]
        draws = None
        if self.draws is not None:
            draws = self.draws[group, step, :size]
        x = self.samples.batch(numbers, draws)
        batch = (x, self.samples.labels(numbers), self.weights[group, step, :size])
        self._last_indices = wanted
        self._last_batch = batch
        return batch


def padding(batches: list[Indices]) -> float:
    """Return the share of padding in all samples that are computed for stacked mini-batches."""
    sizes = (stack(batches) != PAD).sum(axis=2)
    computed = (sizes.max(axis=0) * (sizes > 0).sum(axis=0)).sum()
    return float(1 - sizes.sum() / computed)
