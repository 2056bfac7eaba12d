"""Cohorts: the clients of some jobs with all their random draws, a function of (seed, device, round)."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np
import torch
from torch import Tensor

from edgefl.core.arrays import Indices, Ints
from edgefl.learning.learner.batches import mini_batches, one_pass, paired
from edgefl.learning.learner.client_inputs import ClientInputs
from edgefl.learning.learner.engine import Cohort
from edgefl.learning.learner.network import Network
from edgefl.learning.learner.samples import Samples, augmentation_draws
from edgefl.learning.learner.state_names import OWN_STATISTICS
from edgefl.learning.learner.task import LearningTask

Jobs = Sequence[tuple[int, int]]  # device and index of the round


class CohortBuilder:
    """Builds cohorts.

    Args:
        task: the learning task.
        network: tells if batch normalisation couples samples, and if training is random.
        samples: the training samples; they tell how samples are augmented.
    """

    def __init__(self, task: LearningTask, network: Network, samples: Samples) -> None:
        self._task = task
        self._network = network
        self._augmentation = samples.augmentation

    def build(self, jobs: Jobs, inputs: ClientInputs) -> Cohort:
        """Return the cohort of some jobs, longest first; `inputs` are in their order."""
        start = inputs.start
        count = len(jobs)
        batches = self._batches(jobs)
        weights = [[len(self._task.parts[device]) / self._task.mean_size] for device, _ in jobs]
        keys = None
        if self._network.random:
            keys = self._dropout_keys(jobs).to(start.device)
        # `expand` makes views: a model that all clients received stays a single row in memory
        return Cohort(
            start=start.expand(count, -1),
            lr=inputs.lr.expand(count, -1),
            received={name: value.expand(count, -1) for name, value in inputs.received.items()},
            state=inputs.state,
            statistics=inputs.state.get(OWN_STATISTICS, inputs.statistics).expand(count, -1),
            weight=start.new_tensor(weights),
            index=start.new_tensor([[index] for _, index in jobs]),
            batches=batches,
            draws=self._augmentation_draws(jobs, batches),
            keys=keys,
            all_samples=self._passes(jobs),
            run=inputs.run,
        )

    def _batches(self, jobs: Jobs) -> list[Indices]:
        """Return the mini-batches [K_i, B_i] of each job."""
        devices = np.array([device for device, _ in jobs], dtype=np.int64)
        indices = np.array([index for _, index in jobs], dtype=np.int64)
        steps = self._task.workload.steps(devices, indices).astype(int).tolist()
        batches = []
        for (device, index), count in zip(jobs, steps, strict=True):
            generator = partial(self._task.streams.generator, "batches", device, index)
            batches.append(mini_batches(self._task.parts[device], self._task.training, generator, count))
        return self._normalisable(batches)

    def _passes(self, jobs: Jobs) -> list[Indices]:
        """Return one pass over all samples of each job's device; an empty list if no hook needs their gradient."""
        if not self._task.algorithm.needs_gradient:
            return []
        passes = [one_pass(self._task.parts[device], self._task.training) for device, _ in jobs]
        return self._normalisable(passes)

    def _normalisable(self, batches: list[Indices]) -> list[Indices]:
        """Return the same batches; with batch normalisation none of them has a single sample."""
        if self._network.couples_samples:
            return [paired(batch) for batch in batches]
        return batches

    def _augmentation_draws(self, jobs: Jobs, batches: list[Indices]) -> list[Ints] | None:
        """Return the crop and the flip of each sample, as `augmentation_draws` does; None without augmentation."""
        if self._augmentation is None:
            return None
        draws = []
        for (device, index), batch in zip(jobs, batches, strict=True):
            rng = self._task.streams.generator("augmentation", device, index)
            draws.append(augmentation_draws(batch.shape, self._augmentation, rng))
        return draws

    def _dropout_keys(self, jobs: Jobs) -> Tensor:
        """Return 63 random bits for each job: all that fit into torch's signed integers."""
        # one key a job; each step, layer and position derives its own bits from it
        keys = []
        for device, index in jobs:
            rng = self._task.streams.generator("dropout", device, index)
            keys.append(int(rng.integers(2**63)))
        return torch.tensor(keys)
