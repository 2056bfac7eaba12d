"""Cohorts: the clients of some jobs with all their random draws, a function of (seed, device, round)."""

from collections.abc import Mapping, Sequence
from functools import partial

import numpy as np
import torch
from torch import Tensor

from edgefl.core.arrays import Indices, Ints
from edgefl.learning.learner.client_inputs import ClientInputs
from edgefl.learning.learner.engines.batches import mini_batches, one_pass, paired
from edgefl.learning.learner.engines.engine import Cohort
from edgefl.learning.learner.engines.samples import Samples, augmentation_draws
from edgefl.learning.learner.jobs import JobKey
from edgefl.learning.learner.networks.flat_vectors import flatten
from edgefl.learning.learner.networks.initial import build_module
from edgefl.learning.learner.networks.module_state import trained_parameters
from edgefl.learning.learner.networks.network import Network
from edgefl.learning.learner.state_names import OWN_STATISTICS
from edgefl.learning.learner.task import LearningTask
from edgefl.learning.training_section import Training


class CohortBuilder:
    """Builds cohorts from jobs and the inputs of their clients."""

    def __init__(self, task: LearningTask, network: Network, samples: Samples) -> None:
        self._task = task
        self._network = network
        self._augmentation = samples.augmentation

    def build(self, jobs: Sequence[JobKey], inputs: ClientInputs) -> Cohort:
        """Return the cohort of some jobs, longest first; `inputs` are in their order."""
        start = inputs.start
        count = len(jobs)
        batches = self._batches(jobs)
        sizes = np.array([len(self._samples(job)) for job in jobs])
        steps = np.array([len(batch) for batch in batches])
        devices = np.array([job.device for job in jobs], dtype=np.int64)
        indices = np.array([job.index for job in jobs], dtype=np.int64)
        passes = -(-sizes // self._task.workload.batches(devices, indices, sizes))
        weights = [[size / inputs.run.samples] for size in sizes.tolist()]
        keys = None
        if self._network.random:
            keys = self._dropout_keys(jobs).to(start.device)
        # `expand` makes views: a model that all clients received stays a single row in memory
        return Cohort(
            start=start.expand(count, -1),
            lr=np.broadcast_to(inputs.lr, count),
            received={name: value.expand(count, -1) for name, value in inputs.received.items()},
            state=self._with_own_models(jobs, inputs.state),
            statistics=inputs.state.get(OWN_STATISTICS, inputs.statistics).expand(count, -1),
            weight=start.new_tensor(weights),
            index=start.new_tensor([[job.index] for job in jobs]),
            batches=batches,
            draws=self._augmentation_draws(jobs, batches),
            keys=keys,
            all_samples=self._passes(jobs),
            run=inputs.run,
            epoch_steps=start.new_tensor(passes)[:, None],
            device_id=start.new_tensor([[job.device] for job in jobs]),
            first_steps=self._task.workload.first_steps(sizes, steps).astype(np.int64),
        )

    def _with_own_models(self, jobs: Sequence[JobKey], state: Mapping[str, Tensor]) -> Mapping[str, Tensor]:
        """Return the devices' states [C, ...] with the random models that some have at first, see `own_models`."""
        completed = dict(state)
        for name, flag in self._task.algorithm.own_models().items():
            vectors = state[name].clone()
            for row in torch.nonzero(state[flag][:, 0] == 0)[:, 0].tolist():
                module = build_module(self._task.model, self._task.data, self._task.streams, jobs[row].device)
                vectors[row] = flatten(list(trained_parameters(module).values()), vectors[row])
            completed[name] = vectors
        return completed

    def _samples(self, job: JobKey) -> Indices:
        if job.samples is None:
            return self._task.parts[job.device]
        return job.samples

    def _training(self, job: JobKey) -> Training:
        return self._task.training.of_device(job.device, job.index)

    def _batches(self, jobs: Sequence[JobKey]) -> list[Indices]:
        devices = np.array([job.device for job in jobs], dtype=np.int64)
        indices = np.array([job.index for job in jobs], dtype=np.int64)
        sizes = np.array([len(self._samples(job)) for job in jobs], dtype=np.int64)
        steps = self._task.workload.steps(devices, indices, sizes).astype(int).tolist()
        batches = []
        for job, count in zip(jobs, steps, strict=True):
            generator = partial(self._task.streams.generator, "batches", job.device, job.index)
            batches.append(mini_batches(self._samples(job), self._training(job), generator, count))
        return self._normalisable(batches)

    def _passes(self, jobs: Sequence[JobKey]) -> list[Indices]:
        """Return one pass over all samples of each job's device; an empty list if no hook needs their gradient."""
        if not self._task.algorithm.needs_gradient:
            return []
        passes = [one_pass(self._samples(job), self._training(job)) for job in jobs]
        return self._normalisable(passes)

    def _normalisable(self, batches: list[Indices]) -> list[Indices]:
        """Return the same batches; with batch normalisation none of them has a single sample."""
        if self._network.couples_samples:
            return [paired(batch) for batch in batches]
        return batches

    def _augmentation_draws(self, jobs: Sequence[JobKey], batches: list[Indices]) -> list[Ints] | None:
        """Return the crop and the flip of each sample, as `augmentation_draws` does; None without augmentation."""
        if self._augmentation is None:
            return None
        draws = []
        for job, batch in zip(jobs, batches, strict=True):
            rng = self._task.streams.generator("augmentation", job.device, job.index)
            draws.append(augmentation_draws(batch.shape, self._augmentation, rng))
        return draws

    def _dropout_keys(self, jobs: Sequence[JobKey]) -> Tensor:
        """Return 63 random bits for each job: all that fit into torch's signed integers."""
        # one key a job; each step, layer and position derives its own bits from it
        keys = []
        for job in jobs:
            rng = self._task.streams.generator("dropout", job.device, job.index)
            keys.append(int(rng.integers(2**63)))
        return torch.tensor(keys)
