"""The work of a worker: it trains some clients, tries a plan, or tests a model on some samples."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from itertools import pairwise
from typing import Any, TypeVar

import numpy as np
import torch
from torch import Tensor

from edgefl.learning.algorithms import Algorithm
from edgefl.learning.algorithms.properties import has_own_labels
from edgefl.learning.algorithms.trial import watched_outside
from edgefl.learning.learner.client_inputs import ClientInputs
from edgefl.learning.learner.engines.batched import BatchedEngine
from edgefl.learning.learner.engines.cuda_graph import CudaGraphs
from edgefl.learning.learner.engines.engine import Cohort, Trained, TrainingEngine, joined, shortened
from edgefl.learning.learner.engines.samples import Samples
from edgefl.learning.learner.engines.solver import Solver, own_values
from edgefl.learning.learner.engines.step_graphs import Recorder, Recording, StepGraphs
from edgefl.learning.learner.jobs import JobKey
from edgefl.learning.learner.kernels.compared import Compared, classes_last, compared, sample_losses
from edgefl.learning.learner.kernels.gradients import GradientKernel, VmapGradient
from edgefl.learning.learner.kernels.image_layout import fastest_layout
from edgefl.learning.learner.kernels.layers_gradient import LayersGradient
from edgefl.learning.learner.memory import is_out_of_memory
from edgefl.learning.learner.networks.network import Network
from edgefl.learning.learner.plans.plan import SERIAL, CannotBatchError, Plan
from edgefl.learning.learner.state_names import OWN_STATISTICS
from edgefl.learning.learner.task import LearningTask
from edgefl.learning.learner.workers.cohort_builder import CohortBuilder
from edgefl.learning.learner.workers.gradient_check import check_gradient
from edgefl.learning.training_engines import ENGINES

E = TypeVar("E", bound=TrainingEngine)

INDEPENDENT = 4  # samples of the larger of two batches on which it is tried whether clients are independent
ROUNDING = 1e-3  # relative difference below which two engines agree in single precision
CANCELLED = 1e-6  # part of a whole vector that rounding leaves in one of its tensors, where other numbers cancel
SMALLEST = 1e-9  # difference from 0 that is rounding, too
TESTED = {"cpu": 250, "cuda": 2_500}  # samples at once: enough for matrix products, few enough for a cache


class Trainer:
    """Trains and tests on one device, which has the network and all samples.

    By default steps are recorded for `training.graphs: auto` as CUDA graphs on a GPU, and not elsewhere. All trainers
    of a run share the `recording`.
    """

    def __init__(
        self,
        *,
        task: LearningTask,
        network: Network,
        train: Samples,
        test: Samples,
        recording: Recording,
        record: Recorder | None = None,
    ) -> None:
        self.task = task
        self.network = network
        self.samples = {"train": train, "test": test}
        self.device = train.y.device
        like = torch.empty(0, dtype=task.dtype, device=self.device)
        own = own_values(task.training, network.parameters, like)
        self.solver = Solver(task.algorithm, task.training, task.cut, own)
        self._cohorts = CohortBuilder(task, network, train)
        self._layers: LayersGradient | None = None
        if LayersGradient.fits(
            network, task.model, several_labels=task.data.several_labels
        ):  # then it is also the faster way to test
            self._layers = LayersGradient(network, task.model, task.algorithm)
        if record is None and self.device.type == "cuda":
            record = CudaGraphs(self.device)
        self._graphs: StepGraphs | None = None
        # A hook that changes labels looks at the ids of devices, and a recorded step cannot wait for them.
        may_record = not self.solver.counts_steps and not has_own_labels(task.algorithm)
        if record is not None and task.training.graphs == "auto" and may_record:
            self._graphs = StepGraphs(record, train, recording)

    def engine(self, plan: Plan, algorithm: Algorithm | None = None) -> TrainingEngine:
        """Return the engine of a plan, with another algorithm than the task's if one is given."""
        solver = self.solver
        graphs = self._graphs
        if algorithm is None:
            algorithm = self.task.algorithm
        else:
            solver = Solver(algorithm, self.task.training, self.task.cut, self.solver.own)
            graphs = None  # their records call the hooks of the task's algorithm
        row = ENGINES[plan.engine]
        engine: Callable[..., TrainingEngine] = row.imported()
        if row.together:
            return self._made(engine, solver, kernel=self._kernel(plan, algorithm), graphs=graphs)
        return self._made(engine, solver)

    def _made(self, engine: Callable[..., E], solver: Solver, **more: Any) -> E:
        return engine(network=self.network, model=self.task.model, solver=solver, samples=self.samples["train"], **more)

    def _kernel(self, plan: Plan, algorithm: Algorithm) -> GradientKernel:
        model = self.task.model
        precision = self.task.training.precision
        if plan.kernel == "layers":
            return LayersGradient(self.network, model, algorithm)
        if plan.kernel == "triton":
            from edgefl.learning.learner.kernels.triton_gradient import TritonGradient  # late: no CPU needs Triton

            return TritonGradient(self.network, model, algorithm, precision)
        return VmapGradient(self.network, model, algorithm, bfloat16=precision == "bfloat16")

    def train(self, plan: Plan, cohorts: Sequence[Sequence[JobKey]], inputs: ClientInputs) -> Trained:
        """Train cohorts of clients, given by their keys, each longest first; inputs are in their order."""
        engine = self.engine(plan)
        inputs = inputs.to(self.device)
        results = []
        begin = 0
        for jobs in cohorts:
            end = begin + len(jobs)
            own_inputs = inputs.rows(begin, end)
            trained = self._trained(plan, engine, self._cohorts.build(jobs, own_inputs))
            if OWN_STATISTICS in own_inputs.state:  # the device keeps them besides sending them
                trained = replace(trained, state={**trained.state, OWN_STATISTICS: trained.statistics})
            results.append(trained)
            begin = end
        if len(results) == 1:
            return results[0]
        return joined(results)

    def _trained(self, plan: Plan, engine: TrainingEngine, cohort: Cohort) -> Trained:
        """Train a cohort; raise a `HookError` if a hook from outside edgefl fails, or makes NaN of numbers."""
        watched = watched_outside(self.task.algorithm)
        if watched is self.task.algorithm:
            return engine.train(cohort)
        try:
            trained = engine.train(cohort)
        except Exception as error:
            if not is_out_of_memory(error):
                self.engine(plan, watched).train(cohort)  # raises what a hook has done wrong before the error
            raise
        if not _is_finite(trained):
            # Training is pure, so it goes the same way again, now with an eye on each hook.
            self.engine(plan, watched).train(cohort)
        return trained

    def rehearse(self, plan: Plan, inputs: ClientInputs) -> None:
        """Take one step by a plan; raise a `CannotBatchError` if torch.func.vmap refuses the module.

        Raises:
            CannotBatchError: torch.func.vmap refuses the module.
        """
        cohort = self._typical_cohort(plan, inputs)
        with _refusals(plan):
            self.engine(plan).train(shortened(cohort, 1))
        self._check_independence(plan, inputs)
        self._check_gradient(plan, inputs)

    def _check_gradient(self, plan: Plan, inputs: ClientInputs) -> None:
        if plan.kernel != "triton":
            return
        cohort = self._cohorts.build([JobKey(int(self.task.sizes.argmax()), 0)], inputs)
        algorithm = self.task.algorithm
        found = self._made(BatchedEngine, self.solver, kernel=self._kernel(plan, algorithm))
        right = self._made(BatchedEngine, self.solver, kernel=VmapGradient(self.network, self.task.model, algorithm))
        with _refusals(plan):
            check_gradient(found, right, shortened(cohort, 1), self.task.training.precision)

    def _check_independence(self, plan: Plan, inputs: ClientInputs) -> None:
        """Check that two clients of a user's network learn together what each does by itself, on batches of two sizes.

        The smaller batch is padded with samples of weight 0: a mean over the batch would see them.
        """
        if plan.kernel != "vmap" or not self.network.own_code:
            return
        rows = np.resize(self.task.parts[int(self.task.sizes.argmax())], INDEPENDENT)
        jobs = [JobKey(0, 0, rows), JobKey(0, 0, rows[: INDEPENDENT // 2])]
        with _refusals(plan):
            state = {name: value.expand(len(jobs), -1) for name, value in inputs.state.items()}
            pair = self._cohorts.build(jobs, replace(inputs, state=state))
            together = self.engine(plan).train(shortened(pair, 1))
        serial = self.engine(SERIAL)
        alone = [serial.train(shortened(self._cohorts.build([job], inputs), 1)) for job in jobs]
        for found, right in zip(together.tensors(), joined(alone).tensors(), strict=True):
            noise = CANCELLED * _norm(right) + SMALLEST
            # Tensor by tensor: a count among the buffers, or a large layer, would hide that a small one differs.
            for part, right_part in zip(self._named_parts(found), self._named_parts(right), strict=True):
                if not _norm(part - right_part) <= ROUNDING * _norm(right_part) + noise:  # NaN fails this, too
                    raise CannotBatchError("clients that train together learn something else than each by itself")

    def _named_parts(self, vectors: Tensor) -> list[Tensor]:
        for layout in (self.network.parameters, self.network.statistics):
            if len(layout) and vectors.shape[1:] == (len(layout),):
                return layout.views(vectors)
        return [vectors]

    def _typical_cohort(self, plan: Plan, inputs: ClientInputs) -> Cohort:
        """Return a cohort of devices of typical size, which all start from the inputs of a single client."""
        sizes = self.task.sizes
        # cohorts have similar clients, and most have clients near the median
        nearest = np.argsort(np.abs(sizes - np.median(sizes)), kind="stable")
        devices = np.sort(np.resize(nearest, plan.width)).tolist()
        jobs = sorted([JobKey(device, 0) for device in devices], key=lambda job: -sizes[job.device])
        state = {name: value.expand(plan.width, -1) for name, value in inputs.state.items()}
        return self._cohorts.build(jobs, replace(inputs, state=state))

    def activations(self) -> int:
        """Return how many numbers all layers together put out for one sample."""
        return self.network.activations(self.samples["train"].part(0, 1))

    def test(
        self,
        w: Tensor,
        statistics: Tensor,
        begin: int,
        end: int,
        ranked: bool,  # noqa: FBT001
        classes: tuple[int, ...] | None = None,
    ) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """Test the model w [d] on the test samples [begin, end).

        Return the sum of the losses of labels, how many are predicted right, how many there are, and scores [samples]
        if `ranked`, else an empty tensor. With `classes` only samples of these count.
        """
        y = self.samples["test"].y[begin:end]
        parts = []
        scores = []
        for outputs, labels in self._tested(w, statistics, "test", begin, end):
            parts.append(self._compared(outputs, labels))
            if ranked:
                scores.append(self.task.model.scores(outputs))
        losses, hits, counts = (torch.cat(values) for values in zip(*parts, strict=True))
        if classes is not None:
            wanted = torch.isin(y, y.new_tensor(classes))
            losses = losses[wanted]
            hits = hits[wanted]
            counts = counts[wanted]
        return losses.sum(), hits.sum(), counts.sum(), torch.cat([losses.new_empty(0), *scores])

    def hits(self, w: Tensor, statistics: Tensor, begin: int, end: int, which: str) -> tuple[Tensor, Tensor]:
        """Return how many labels of each of the samples [begin, end) of a set are right, and how many count [n]."""
        parts = [self._compared(*part) for part in self._tested(w, statistics, which, begin, end)]
        return torch.cat([part.hits for part in parts]), torch.cat([part.labels for part in parts])

    def outputs(self, w: Tensor, statistics: Tensor, begin: int, end: int, which: str) -> tuple[Tensor, Tensor]:
        """Return outputs [n, k] and predicted classes [n] of the samples [begin, end) of a set, `train` or `test`.

        Where samples have several labels these are [n, ..., k] and [n, ...]. Without classes the second tensor is
        empty.
        """
        outputs = torch.cat([part for part, _ in self._tested(w, statistics, which, begin, end)])
        if self.task.data.several_labels:
            outputs = classes_last(outputs, 1)
        predicted = torch.empty(0, dtype=torch.int64)
        if self.task.data.classes:
            predicted = self.task.model.predicted(outputs)
        return outputs, predicted

    def test_rows(
        self, w: Tensor, statistics: Tensor, rows: Tensor, which: str = "train"
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Return the sum of losses of samples `rows` [n] of a set, and how many of their labels are right and count."""
        w = w.to(self.device)
        statistics = statistics.to(self.device)
        samples = self.samples[which]
        loss = w.new_zeros((), dtype=torch.float64)
        hits = torch.zeros((), dtype=torch.int64, device=w.device)
        labels = torch.zeros_like(hits)
        with torch.no_grad():
            for chunk in torch.split(rows.to(self.device), TESTED[w.device.type]):
                outputs = self._forward(w, statistics, samples.batch(chunk))
                part = self._compared(outputs, samples.labels(chunk))
                loss += part.losses.sum()
                hits += part.hits.sum()
                labels += part.labels.sum()
        return loss, hits, labels

    def gradient(self, w: Tensor, statistics: Tensor, rows: Tensor) -> Tensor:
        """Return the gradient [d] of the sum of the losses of the labels of training samples `rows` [n], in double.

        The network is in evaluation mode: no dropout, and batch normalisation keeps its statistics.
        """
        leaf = w.to(self.device).detach().requires_grad_()
        parameters = self.network.parameters.views(leaf)
        buffers = self.network.statistics.views(statistics.to(self.device))
        samples = self.samples["train"]
        total = torch.zeros_like(leaf, dtype=torch.float64)
        for chunk in torch.split(rows.to(self.device), TESTED[leaf.device.type]):
            outputs = self.network.test(parameters, buffers, samples.batch(chunk))
            losses = sample_losses(self.task.model, outputs, samples.labels(chunk))
            if samples.counted is not None:  # they are means over labels
                losses = losses * torch.from_numpy(samples.counted[chunk.cpu().numpy()]).to(losses)
            loss = losses.sum()
            total += torch.autograd.grad(loss, leaf, retain_graph=True)[0].double()
        return total

    def _tested(
        self, w: Tensor, statistics: Tensor, which: str, begin: int, end: int
    ) -> Iterator[tuple[Tensor, Tensor]]:
        """Yield the outputs and the labels of the samples [begin, end) of a set, some of them at a time."""
        samples = self.samples[which]
        w = w.to(self.device)
        statistics = statistics.to(self.device)
        edges = [*range(begin, end, TESTED[w.device.type]), end]
        for first, last in pairwise(edges):
            with torch.no_grad():
                outputs = self._forward(w, statistics, samples.part(first, last))
            yield outputs, samples.y[first:last]

    def _compared(self, outputs: Tensor, y: Tensor) -> Compared:
        with torch.no_grad():
            return compared(self.task.model, outputs, y, classes=bool(self.task.data.classes))

    def _forward(self, w: Tensor, statistics: Tensor, x: Tensor) -> Tensor:
        if self._layers is not None:  # no graph and no copies
            return self._layers.outputs(w, x)
        x = fastest_layout(x, self.task.model, self.network)
        return self.network.test(self.network.parameters.views(w), self.network.statistics.views(statistics), x)


@contextmanager
def _refusals(plan: Plan) -> Iterator[None]:
    """Turn torch's errors in a plan that cannot be used into `MemoryError` or `CannotBatchError`."""
    try:
        yield
    except Exception as error:
        # these two end the growth of cohorts, or the search in this family: all else is a fault
        if is_out_of_memory(error):
            raise MemoryError(str(plan)) from None
        by_torch = plan.kernel in {"vmap", "triton"} and isinstance(error, RuntimeError)
        # Triton has errors of its own: of its compiler, and of a GPU whose processors have less memory.
        if by_torch or type(error).__module__.partition(".")[0] == "triton":
            raise CannotBatchError(str(error).partition("\n")[0]) from None
        raise


def _is_finite(trained: Trained) -> bool:
    """Return whether all losses and uploads are finite; a single number that is not spoils the sum of its vector."""
    sums = [vector.sum() for vector in (trained.losses, *trained.uploads.values())]
    return bool(torch.stack(sums).isfinite().all())


def _norm(tensor: Tensor) -> float:
    return float(tensor.double().norm())
