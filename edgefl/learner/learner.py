"""The learner: takes jobs while the clock runs, trains them in one call when the first result is needed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from edgefl.algorithms import Algorithm, Updates
from edgefl.datasets import Data
from edgefl.errors import RunError
from edgefl.learner.batched import BatchedEngine
from edgefl.learner.batches import mini_batches
from edgefl.learner.engine import Engine
from edgefl.learner.network import Network
from edgefl.learner.serial import SerialEngine
from edgefl.learner.solver import Solver
from edgefl.learner.workers import Workers, one_thread_each
from edgefl.models import Model
from edgefl.scenario import Training
from edgefl.streams import Streams

EVALUATION_SAMPLES = 2_500  # a chunk of evaluation
SMALL_PARAMETERS = 100_000  # below, batching clients saves more than it costs on a CPU: see docs/benchmarks.md


@dataclass(frozen=True)
class Job:
    """One device's training in one round: its result depends on nothing else."""

    device: int
    index: int  # of the round, from 0
    start: Tensor  # [d] the model that the device received
    received: Mapping[str, Tensor]  # other vectors that it received


@dataclass(frozen=True)
class Evaluation:
    """The global model on the test set."""

    loss: float
    accuracy: float | None  # None where samples have no labels
    extra: Mapping[str, float | None]  # of the scalar problem


class Learner:
    """Trains and evaluates; holds the data on the training device and the pending jobs.

    Raises:
        InputError: the model does not fit the data, or the initial parameters do not fit the model.
    """

    def __init__(
        self,
        model: Model,
        algorithm: Algorithm,
        training: Training,
        data: Data,
        parts: Sequence[npt.NDArray[np.int64]],
        streams: Streams,
        device: str,
    ) -> None:
        dtype = torch.float64 if data.dtype == "float64" else torch.float32
        self.model, self.training, self.data, self.parts, self.streams = model, training, data, parts, streams
        self.initial = initial_parameters(model, data, streams).to(device, dtype)
        self._algorithm = algorithm
        self._network = Network(_module(model, data, streams).to(device, dtype))
        self._train = _on_device(data, data.train_x, data.train_y, device, dtype)
        self._test = _on_device(data, data.test_x, data.test_y, device, dtype)
        solver = Solver(algorithm, training)
        engine = choose_engine(training.engine, device, len(self.initial))
        self._engine = engine(self._network, model, solver, *self._train)
        self._workers = Workers(device)
        self._pending: list[Job] = []

    def submit(self, job: Job) -> None:
        """Take a job; nothing is computed yet."""
        self._pending.append(job)

    def collect(self) -> tuple[Updates, float]:
        """Train all pending jobs; their updates in the order of device ids, and the mean training loss by samples.

        Raises:
            RunError: a training loss or a model is no longer a finite number.
        """
        jobs = sorted(self._pending, key=lambda job: job.device)
        self._pending = []
        batches = [self._batches(job) for job in jobs]
        order = sorted(range(len(jobs)), key=lambda i: -len(batches[i]))
        width = self._engine.width()
        chunks = [order[i : i + width] for i in range(0, len(order), width)]
        with one_thread_each():
            results = self._workers.map(
                lambda chunk: self._train_chunk([jobs[i] for i in chunk], [batches[i] for i in chunk]), chunks
            )
        back = torch.tensor(np.argsort(order), device=self.initial.device)
        vectors = {name: torch.cat([upload[name] for upload, _ in results])[back] for name in results[0][0]}
        losses = torch.cat([loss for _, loss in results])[back]
        _check_finite(jobs, losses, vectors)
        samples = np.array([len(self.parts[job.device]) for job in jobs])
        updates = Updates(vectors, np.array([job.device for job in jobs]), samples)
        return updates, float(np.average(losses.cpu().numpy(), weights=samples))

    def _batches(self, job: Job) -> npt.NDArray[np.int64]:
        rng = self.streams.generator("batches", job.device, job.index)
        return mini_batches(self.parts[job.device], self.training, rng)

    def _train_chunk(self, jobs: list[Job], batches: list[npt.NDArray[np.int64]]) -> tuple[dict[str, Tensor], Tensor]:
        start = torch.stack([job.start for job in jobs])
        rates = [[self.training.lr * self.training.lr_schedule.factor(job.index)] for job in jobs]
        received = {name: torch.stack([job.received[name] for job in jobs]) for name in jobs[0].received}
        return self._engine.train(start, start.new_tensor(rates), received, batches)

    def aggregate(self, server: Mapping[str, Tensor], updates: Updates) -> dict[str, Tensor]:
        """The server's next state, as the algorithm says; bit by bit the same on any number of cores."""
        with one_thread_each():
            return self._algorithm.aggregate(server, updates)

    def evaluate(self, w: Tensor) -> Evaluation:
        """The model w [d] on the test set."""
        outputs = self._outputs(w, self._test[0])
        loss = float(self.model.sample_losses(outputs, self._test[1]).mean())
        accuracy = float(_correct(outputs, self._test[1]).double().mean()) if self.data.classes else None
        if self.data.dtype != "float64":
            return Evaluation(loss, accuracy, {})
        x, optimum = float(w[0]), self.data.optimum
        distance = None if optimum is None else abs(x - optimum)
        return Evaluation(loss, accuracy, {"parameter": x, "distance_to_optimum": distance})

    def device_accuracies(self, w: Tensor) -> npt.NDArray[np.float64] | None:
        """Accuracy [devices] of the model w [d] on each device's own training samples; None without labels."""
        if not self.data.classes:
            return None
        correct = _correct(self._outputs(w, self._train[0]), self._train[1]).cpu().numpy()
        return np.array([correct[part].mean() for part in self.parts])

    def _outputs(self, w: Tensor, x: Tensor) -> Tensor:
        parameters = self._network.views(w)
        with one_thread_each():
            return torch.cat(
                self._workers.map(lambda part: self._forward(parameters, part), torch.split(x, EVALUATION_SAMPLES))
            )

    def _forward(self, parameters: Sequence[Tensor], x: Tensor) -> Tensor:
        with torch.no_grad():  # a thread's own setting
            return self._network.forward(parameters, x)

    def close(self) -> None:
        """Let the worker threads go."""
        self._workers.close()


def choose_engine(name: str, device: str, parameters: int) -> type[Engine]:
    """The engine behind `training.engine`; auto batches clients on a GPU, and small models on a CPU."""
    if name == "auto":
        name = "batched" if device != "cpu" or parameters <= SMALL_PARAMETERS else "serial"
    engines: dict[str, type[Engine]] = {"batched": BatchedEngine, "serial": SerialEngine}
    return engines[name]


def initial_parameters(model: Model, data: Data, streams: Streams) -> Tensor:
    """The flat initial model [d] as the scenario's `model.init` says.

    Raises:
        InputError: the file does not hold a vector of that length.
    """
    count, init = model.parameters(data.shape, data.classes), model.init
    if init.kind == "default":
        module = _module(model, data, streams)
        return torch.cat([parameter.detach().flatten() for parameter in module.parameters()])
    return torch.from_numpy(init.vector(count))


def _module(model: Model, data: Data, streams: Streams) -> torch.nn.Module:
    """The network with its layers' own initialisation, drawn from the stream "init"."""
    with torch.random.fork_rng(devices=[]):  # layers draw from torch's generator: it is lent a keyed state
        torch.default_generator.manual_seed(int(streams.generator("init").integers(2**63)))
        return model.module(data.shape, data.classes)


def _on_device(
    data: Data, x: npt.NDArray[np.generic], y: npt.NDArray[np.int64], device: str, dtype: torch.dtype
) -> tuple[Tensor, Tensor]:
    """Standardised samples and labels."""
    samples = torch.from_numpy(x).to(device, dtype)
    return (samples - data.mean) / data.std, torch.from_numpy(y).to(device)


def _correct(outputs: Tensor, targets: Tensor) -> Tensor:
    return outputs.argmax(dim=-1) == targets


def _check_finite(jobs: list[Job], losses: Tensor, vectors: Mapping[str, Tensor]) -> None:
    """Stop at the first number that is none."""
    good = torch.isfinite(losses)
    for vector in vectors.values():
        good &= torch.isfinite(vector).flatten(1).all(dim=1)
    if not bool(good.all()):
        job = jobs[int((~good).nonzero()[0])]
        raise RunError(
            f"round {job.index + 1}: device {job.device}: local training diverged (NaN or infinite); "
            "the likely cause is a learning rate that is too high: lower training.lr or set training.clip_norm"
        )
