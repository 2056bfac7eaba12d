"""What a worker does: train some clients, or test a model on some samples; it holds all that never changes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from edgefl.core.arrays import Indices
from edgefl.core.streams import Streams
from edgefl.learning.algorithms import Algorithm, RunInfo
from edgefl.learning.learner.attempt import attempt
from edgefl.learning.learner.batched import BatchedEngine
from edgefl.learning.learner.batches import mini_batches, one_pass, paired
from edgefl.learning.learner.engine import Cohort, Engine, Trained, joined, shortened
from edgefl.learning.learner.gradients import VmapGradient
from edgefl.learning.learner.layers_gradient import LayersGradient
from edgefl.learning.learner.memory import is_out_of_memory
from edgefl.learning.learner.network import Network
from edgefl.learning.learner.plan import CannotBatchError, Plan, Trial
from edgefl.learning.learner.samples import Draws, Samples, augmentation_draws
from edgefl.learning.learner.serial import SerialEngine
from edgefl.learning.learner.solver import Solver
from edgefl.learning.models import Model
from edgefl.learning.training_section import Training
from edgefl.learning.workload import Workload

STATISTICS = "statistics"  # the client state that holds a device's own batch normalisation
TESTED = {"cpu": 250, "cuda": 2_500}  # samples at once: enough for matrix products, few enough for a cache


@dataclass(frozen=True)
class Vectors:
    """What some clients start from; a single row serves all of them."""

    start: Tensor  # [C or 1, d]
    received: Mapping[str, Tensor]  # [C or 1, ...] each
    state: Mapping[str, Tensor]  # [C, ...] each
    statistics: Tensor  # [C or 1, b]
    lr: Tensor  # [C or 1, 1] learning rates
    run: RunInfo  # what all rounds have in common

    def to(self, device: torch.device) -> Vectors:
        """The same on another device."""
        received, state = ({k: v.to(device) for k, v in part.items()} for part in (self.received, self.state))
        start, statistics, lr = (vector.to(device) for vector in (self.start, self.statistics, self.lr))
        return Vectors(start, received, state, statistics, lr, self.run)

    def rows(self, begin: int, end: int) -> Vectors:
        """Those of some of the clients."""

        def cut(value: Tensor) -> Tensor:
            return value if len(value) == 1 else value[begin:end]

        received, state = ({k: cut(v) for k, v in part.items()} for part in (self.received, self.state))
        return Vectors(cut(self.start), received, state, cut(self.statistics), cut(self.lr), self.run)


class Trainer:
    """Trains and tests on one device.

    Args:
        network: the module, on the device.
        model: for its loss.
        algorithm: the hooks around each step.
        training: the scenario's section.
        train: the training samples, on the device.
        test: the test samples, on the device.
        parts: [devices] which training samples each device holds.
        streams: keyed randomness.
        cut: see Solver.
    """

    def __init__(
        self,
        network: Network,
        model: Model,
        algorithm: Algorithm,
        training: Training,
        train: Samples,
        test: Samples,
        parts: Sequence[npt.NDArray[np.int64]],
        streams: Streams,
        cut: int | None = None,
    ) -> None:
        self.network, self.model, self.training = network, model, training
        self.samples = {"train": train, "test": test}
        self.parts, self.streams, self.device = parts, streams, train.y.device
        self.algorithm, self.solver = algorithm, Solver(algorithm, training, cut)
        fits = LayersGradient.fits(network, model)
        self._layers = LayersGradient(network, model, algorithm) if fits else None  # also the faster way to test
        self._workload = Workload(training, np.array([len(part) for part in parts]), streams)
        self._mean_size = float(np.mean([len(part) for part in parts]))

    def engine(self, plan: Plan) -> Engine:
        """The engine of a plan."""
        args = self.network, self.model, self.solver, self.samples["train"]
        if plan.engine == "serial":
            return SerialEngine(*args)
        if plan.kernel == "layers":
            return BatchedEngine(*args, LayersGradient(self.network, self.model, self.algorithm))
        bfloat16 = self.training.precision == "bfloat16"
        return BatchedEngine(*args, VmapGradient(self.network, self.model, self.algorithm, bfloat16=bfloat16))

    def train(self, plan: Plan, cohorts: Sequence[Sequence[tuple[int, int]]], vectors: Vectors) -> Trained:
        """Train cohorts of clients, given as (device, round index), each longest first."""
        engine, parts, begin, vectors = self.engine(plan), [], 0, vectors.to(self.device)
        for jobs in cohorts:
            part = vectors.rows(begin, begin + len(jobs))
            trained = engine.train(self._cohort(jobs, part))
            if STATISTICS in part.state:
                trained = replace(trained, state={**trained.state, STATISTICS: trained.statistics})
            parts.append(trained)
            begin += len(jobs)
        return parts[0] if len(parts) == 1 else joined(parts)

    def attempt(self, plan: Plan, vectors: Vectors) -> Trial:
        """Try a plan on a few steps of devices with as many samples as most; twice, as the first time warms up.

        Raises:
            MemoryError: the clients do not fit into the memory together.
            CannotBatchError: torch.func.vmap refuses the module.
        """
        sizes = np.array([len(part) for part in self.parts])
        nearest = np.argsort(np.abs(sizes - np.median(sizes)), kind="stable")
        state = {name: value.expand(plan.width, -1) for name, value in vectors.state.items()}
        jobs = [(int(device), 0) for device in np.sort(np.resize(nearest, plan.width))]
        cohort = self._cohort(sorted(jobs, key=lambda job: -sizes[job[0]]), replace(vectors, state=state))
        engine, place = self.engine(plan), str(vectors.start.device)
        try:
            return attempt(
                lambda steps: engine.train(shortened(cohort, steps)), plan.width, place, len(cohort.batches[0])
            )
        except (RuntimeError, MemoryError) as error:
            if is_out_of_memory(error):
                raise MemoryError(str(plan)) from None
            if plan.kernel == "vmap" and isinstance(error, RuntimeError):
                raise CannotBatchError(str(error).partition("\n")[0]) from None
            raise

    def _cohort(self, jobs: Sequence[tuple[int, int]], vectors: Vectors) -> Cohort:
        training, count, start = self.training, len(jobs), vectors.start
        weights = [[len(self.parts[device]) / self._mean_size] for device, _ in jobs]
        steps = self._workload.steps(*np.array(jobs, dtype=np.int64).T).astype(int).tolist()
        batches = [
            mini_batches(self.parts[device], training, partial(self.streams.generator, "batches", device, index), taken)
            for (device, index), taken in zip(jobs, steps, strict=True)
        ]
        whole = []
        if self.algorithm.needs_gradient():
            whole = [one_pass(self.parts[device], training) for device, _ in jobs]
        if self.network.couples_samples:
            batches, whole = ([paired(batch) for batch in each] for each in (batches, whole))
        return Cohort(
            start=start.expand(count, -1),
            lr=vectors.lr.expand(count, -1),
            received={name: value.expand(count, -1) for name, value in vectors.received.items()},
            state=vectors.state,
            statistics=vectors.state.get(STATISTICS, vectors.statistics).expand(count, -1),
            weight=start.new_tensor(weights),
            index=start.new_tensor([[index] for _, index in jobs]),
            batches=batches,
            draws=self._draws(jobs, batches),
            keys=self._keys(jobs).to(start.device) if self.network.random else None,
            whole=whole,
            run=vectors.run,
        )

    def _draws(self, jobs: Sequence[tuple[int, int]], batches: list[Indices]) -> list[Draws] | None:
        """Where each sample is cropped and whether it is mirrored."""
        augmentation = self.samples["train"].augmentation
        if augmentation is None:
            return None
        return [
            augmentation_draws(batch.shape, augmentation, self.streams.generator("augmentation", device, index))
            for (device, index), batch in zip(jobs, batches, strict=True)
        ]

    def _keys(self, jobs: Sequence[tuple[int, int]]) -> Tensor:
        """63 random bits for each job."""
        return torch.tensor([int(self.streams.generator("dropout", *job).integers(2**63)) for job in jobs])

    def test(
        self,
        w: Tensor,
        statistics: Tensor,
        begin: int,
        end: int,
        ranked: bool,  # noqa: FBT001
        classes: tuple[int, ...] | None = None,
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Sum of the losses of test samples [begin, end), how many are classified correctly, scores if ranked.

        With `classes` only samples of these count, but for scores.
        """
        samples = self.samples["test"]
        outputs, y = self._outputs(w, statistics, samples, begin, end), samples.y[begin:end]
        losses, right = self.model.sample_losses(outputs, y).double(), self.model.predicted(outputs) == y
        scores = self.model.scores(outputs) if ranked else losses.new_empty(0)
        if classes is not None:
            counts = torch.isin(y, y.new_tensor(classes))
            losses, right = losses[counts], right[counts]
        return losses.sum(), right.sum(), scores

    def hits(self, w: Tensor, statistics: Tensor, begin: int, end: int, own: str) -> Tensor:
        """Whether each of the samples [begin, end) of the training or the test set is classified correctly."""
        samples = self.samples[own]
        return self.model.predicted(self._outputs(w, statistics, samples, begin, end)) == samples.y[begin:end]

    def loss(self, w: Tensor, statistics: Tensor, rows: Tensor) -> Tensor:
        """Mean loss of the training samples `rows` [n]."""
        w, statistics, samples = w.to(self.device), statistics.to(self.device), self.samples["train"]
        total = w.new_zeros((), dtype=torch.float64)
        with torch.no_grad():
            for some in torch.split(rows.to(self.device), TESTED[w.device.type]):
                outputs = self._forward(w, statistics, samples.batch(some))
                total += self.model.sample_losses(outputs, samples.labels(some)).double().sum()
        return total / len(rows)

    def _outputs(self, w: Tensor, statistics: Tensor, samples: Samples, begin: int, end: int) -> Tensor:
        w, statistics = w.to(self.device), statistics.to(self.device)
        edges = [*range(begin, end, TESTED[w.device.type]), end]
        with torch.no_grad():
            return torch.cat([self._forward(w, statistics, samples.part(*edge)) for edge in pairwise(edges)])

    def _forward(self, w: Tensor, statistics: Tensor, x: Tensor) -> Tensor:
        if self._layers is not None:
            return self._layers.outputs(w, x)
        return self.network.test(self.network.parameters.views(w), self.network.statistics.views(statistics), x)
