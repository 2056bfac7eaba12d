"""The mini-batches of clients that train together, step by step."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import groupby
from typing import NamedTuple

import torch
from torch import Tensor

from edgefl.learning.learner.engines.batches import PAD, sample_weights, stack
from edgefl.learning.learner.engines.engine import Cohort
from edgefl.learning.learner.engines.samples import Samples
from edgefl.learning.learner.networks.dropout import step_keys


class MiniBatch(NamedTuple):
    """The samples of a group of G clients in one step."""

    group: slice  # which of the clients
    x: Tensor  # [G, B, ...] samples
    y: Tensor  # [G, B, ...] labels
    weight: Tensor  # [G, B] of each sample in its client's loss; 0 for padding
    keys: Tensor | None  # [G] of dropout


@dataclass(frozen=True)
class StepInputs:
    """The tensors that one step of G clients takes its mini-batches from."""

    rows: Tensor  # [G, B] numbers of samples; 0 for padding
    weight: Tensor  # [G, B] see MiniBatch
    draws: Tensor | None  # [G, B, 3] of augmentation
    keys: Tensor | None  # [G] of dropout

    def mini_batch(self, group: slice, samples: Samples) -> MiniBatch:
        """Gather the samples; `group` says which clients these are."""
        x = samples.batch(self.rows, self.draws)
        return MiniBatch(group, x, samples.labels(self.rows), self.weight, self.keys)

    def tensors(self) -> list[Tensor]:
        """Return the tensors that are not None, in a fixed order."""
        return [tensor for tensor in (self.rows, self.weight, self.draws, self.keys) if tensor is not None]

    def copied(self) -> StepInputs:
        """Return a copy in new memory."""

        def copy(tensor: Tensor | None) -> Tensor | None:
            if tensor is None:
                return None
            return tensor.contiguous().clone()

        return StepInputs(self.rows.clone(), self.weight.clone(), copy(self.draws), copy(self.keys))


def sum_of(weights: Tensor) -> Tensor:
    """Return the sum of the weights [..., B] of each mini-batch, [..., 1]; 1 where no sample counts."""
    sums = weights.sum(dim=-1, keepdim=True)
    return sums.where(sums > 0, torch.ones_like(sums))


class StackedBatches:
    """The mini-batches of a cohort, whose clients come with the most steps first.

    If batch normalisation couples samples, padding would change its means, so only clients with batches of equal sizes
    are stacked.
    """

    def __init__(self, cohort: Cohort, samples: Samples, *, couples_samples: bool) -> None:
        self._samples = samples
        self._couples_samples = couples_samples
        self._keys = cohort.keys
        self._indices = stack(cohort.batches)
        is_sample = self._indices != PAD
        self._sizes = is_sample.sum(axis=2)  # [C, K]
        self.clients, self.steps, self.size = self._indices.shape
        # For all steps together, as NumPy takes as long for the few numbers of one step.
        self._active: list[int] = (self._sizes > 0).sum(axis=0).tolist()
        self._largest: list[int] = self._sizes.max(axis=0).tolist()
        # Whether all mini-batches of a step are those of the step before, as in full-batch training.
        self._repeats: list[bool] = [False, *(self._indices[:, 1:] == self._indices[:, :-1]).all(axis=(0, 2)).tolist()]
        device = cohort.start.device
        # padding gathers sample 0, which has weight 0 in its batch
        self._rows = torch.from_numpy(self._indices).clamp(min=0).to(device)
        weights = torch.from_numpy(sample_weights(self._indices, samples.weight)).to(device, cohort.start.dtype)
        self._weights = weights / sum_of(weights)
        # all indices of the round go to the device at once: a transfer at every step would stall a GPU
        self._draws: Tensor | None = None
        if cohort.draws is not None:
            self._draws = torch.from_numpy(stack(cohort.draws)).to(device)
        self._last: MiniBatch | None = None
        self._last_step = -1

    def active(self, step: int) -> int:
        """Return how many clients still train; they come first, as clients are sorted by steps."""
        # counted on the host, where the indices are: asking a GPU would wait for it
        return self._active[step]

    def is_full(self, step: int) -> bool:
        """Return True if all clients train in one group, and the largest mini-batch is as large as that of any step."""
        return list(self._groups(step)) == [slice(0, self.clients)] and self._largest[step] == self.size

    def full_steps(self) -> int:
        """Return how many steps are full; see `is_full`."""
        return sum(self.is_full(step) for step in range(self.steps))

    def inputs(self, step: int, group: slice) -> StepInputs:
        """Return the tensors for the mini-batches of a group of clients."""
        size = self._size(step, group)
        draws = None
        if self._draws is not None:
            draws = self._draws[group, step, :size]
        keys = None
        if self._keys is not None:
            keys = step_keys(self._keys[group], step)
        return StepInputs(self._rows[group, step, :size], self._weights[group, step, :size], draws, keys)

    def mini_batches(self, step: int) -> Iterator[MiniBatch]:
        """Yield the mini-batch of each group of clients that may share one.

        Full-batch training takes the same samples at every step: they are gathered once, unless they are augmented.
        """
        groups = list(self._groups(step))
        for group in groups:
            inputs = self.inputs(step, group)
            repeats = self._repeats[step] and self._last_step == step - 1 and len(groups) == 1
            if self._last is None or not repeats or inputs.draws is not None:
                self._last = inputs.mini_batch(group, self._samples)
            self._last_step = step
            yield self._last._replace(group=group, keys=inputs.keys)

    def _size(self, step: int, group: slice) -> int:
        if group.stop - group.start == self._active[step]:
            return self._largest[step]
        return int(self._sizes[group, step].max())

    def _groups(self, step: int) -> Iterator[slice]:
        active = self.active(step)
        if not self._couples_samples:
            yield slice(0, active)
            return
        begin = 0
        for _, equal_sizes in groupby(self._sizes[:active, step]):
            end = begin + len(list(equal_sizes))
            yield slice(begin, end)
            begin = end
