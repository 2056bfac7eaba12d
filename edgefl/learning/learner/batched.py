"""The batched engine: clients together, with a leading client axis."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from edgefl.core.arrays import Indices
from edgefl.learning.learner.batches import PAD, shares, stack
from edgefl.learning.learner.dropout import step_keys
from edgefl.learning.learner.engine import Cohort, Engine, Trained, rows
from edgefl.learning.learner.gradients import Frozen, GradientOf, Step
from edgefl.learning.learner.network import Network
from edgefl.learning.learner.samples import Samples
from edgefl.learning.learner.solver import Solver
from edgefl.learning.models import Model


class BatchedEngine(Engine):
    """Trains clients together; those with fewer steps leave the batch when they are done.

    Args:
        network: see Engine, as for the next three.
        model: ...
        solver: ...
        samples: ...
        gradient: how the gradients of several clients are computed.
    """

    def __init__(self, network: Network, model: Model, solver: Solver, samples: Samples, gradient: GradientOf) -> None:
        super().__init__(network, model, solver, samples)
        self.gradient = gradient

    def train(self, cohort: Cohort) -> Trained:
        """See Engine."""
        local = cohort.local(self._full_gradient(cohort.one_pass()) if cohort.whole else 0.0)
        w, statistics = cohort.start.clone(), cohort.statistics.clone()
        grad, moments = torch.empty_like(w), self.solver.moments(w)
        loss_sum = w.new_zeros(len(w))
        gradients = self._gradients(cohort, w, statistics, self.frozen(local, cohort), grad)
        for number, (active, losses) in enumerate(gradients, 1):
            loss_sum[:active] += losses
            theirs = local if active == len(w) else rows(local, slice(active))
            self.solver.step(w[:active], grad[:active], [each[:active] for each in moments], theirs, number)
        return self._trained(w, cohort, local, statistics, loss_sum)

    def _gradients(
        self, cohort: Cohort, w: Tensor, statistics: Tensor, frozen: Frozen | None, into: Tensor
    ) -> Iterator[tuple[int, Tensor]]:
        """Step by step, how many clients still train and their losses; their gradients at w are then in `into`."""
        batches = _Batches(cohort, self.samples)
        bound: dict[tuple[int, int], Step] = {}
        for step in range(batches.steps):
            active, keys = batches.active(step), None if cohort.keys is None else step_keys(cohort.keys, step)
            losses = w.new_empty(active)
            for begin, end in self._parts(batches.sizes[:active, step]):
                part = slice(begin, end)
                if (begin, end) not in bound:
                    others = None if frozen is None else frozen.rows(part)
                    bound[begin, end] = self.gradient.bind(w[part], statistics[part], into[part], others)
                losses[part] = bound[begin, end](*batches.take(step, part), None if keys is None else keys[part])
            yield active, losses

    def _full_gradient(self, cohort: Cohort) -> Tensor:
        """Those of the task's loss at the received models [C, d]; the cohort's batches hold each sample once."""
        w, statistics = cohort.start.clone(), cohort.statistics.clone()
        total, grad = torch.zeros_like(w), torch.empty_like(w)
        weights = w.new_tensor(shares(stack(cohort.batches)))
        for step, (active, _) in enumerate(self._gradients(cohort, w, statistics, None, grad)):
            total[:active].addcmul_(grad[:active], weights[:active, step, None])
        return total

    def _parts(self, sizes: npt.NDArray[np.int64]) -> Iterator[tuple[int, int]]:
        """Who may share a batch: everybody, unless samples see each other; then those of equal batch sizes."""
        if not self.network.couples_samples:
            yield 0, len(sizes)
            return
        begin = 0
        for _, run in groupby(sizes):
            end = begin + len(list(run))
            yield begin, end
            begin = end


class _Batches:
    """The mini-batches of a cohort, step by step."""

    def __init__(self, cohort: Cohort, samples: Samples) -> None:
        self.samples, self.device = samples, cohort.start.device
        self.indices = stack(cohort.batches)
        self.sizes = (self.indices != PAD).sum(axis=2)  # [C, K]
        self.steps = self.sizes.shape[1]
        self.rows = torch.from_numpy(self.indices).clamp(min=0).to(self.device)  # padding: sample 0, weighing nothing
        valid = torch.from_numpy(self.indices != PAD).to(self.device, cohort.start.dtype)
        self.weights = valid / valid.sum(dim=2, keepdim=True).clamp(min=1)  # of a sample in the mean of its batch
        self.draws = None if cohort.draws is None else torch.from_numpy(stack(cohort.draws)).to(self.device)
        self._taken: tuple[Indices, tuple[Tensor, Tensor, Tensor]] | None = None

    def active(self, step: int) -> int:
        """How many clients still train; sorted, so that they come first."""
        return int((self.sizes[:, step] > 0).sum())

    def take(self, step: int, part: slice) -> tuple[Tensor, Tensor, Tensor]:
        """Samples [C, B, ...], labels [C, B] and weights [C, B]; gathered once where a step repeats the one before."""
        size = int(self.sizes[part, step].max())
        wanted = self.indices[part, step, :size]
        if self._taken is not None and self.draws is None and np.array_equal(self._taken[0], wanted):
            return self._taken[1]
        numbers = self.rows[part, step, :size]
        draws = None if self.draws is None else self.draws[part, step, :size]
        batch = self.samples.batch(numbers, draws), self.samples.labels(numbers), self.weights[part, step, :size]
        self._taken = wanted, batch
        return batch


def padding(batches: list[Indices]) -> float:
    """The share of the samples in stacked mini-batches that is padding."""
    sizes = (stack(batches) != PAD).sum(axis=2)
    computed = (sizes.max(axis=0) * (sizes > 0).sum(axis=0)).sum()
    return float(1 - sizes.sum() / computed)
