"""The batched engine, which trains clients together along a leading client axis."""

from dataclasses import dataclass
from functools import partial

import torch
from torch import Tensor

from edgefl.core.arrays import Ints
from edgefl.learning.algorithms import LocalContext
from edgefl.learning.learner.engines.batches import shares, stack
from edgefl.learning.learner.engines.engine import Cohort, Trained, TrainingEngine, first_models
from edgefl.learning.learner.engines.local_training import ClientGradients, LocalTraining, labels_of
from edgefl.learning.learner.engines.stacked_batches import StackedBatches
from edgefl.learning.learner.engines.step_graphs import RecordedStep, StepGraphs
from edgefl.learning.learner.kernels.gradients import GradientKernel, References


@dataclass(kw_only=True, eq=False)
class BatchedEngine(TrainingEngine):
    """Trains clients together; those with fewer steps leave the batch when they are done."""

    kernel: GradientKernel  # computes the gradients of several clients
    graphs: StepGraphs | None = None  # record and replay the steps of cohorts of one shape

    def train(self, cohort: Cohort) -> Trained:
        """Train all clients of the cohort; see TrainingEngine."""
        full_gradient: Tensor | float = 0.0
        if cohort.all_samples:
            full_gradient = self.gradients(cohort.one_pass())[:, : cohort.start.shape[1]]
        local = cohort.local(full_gradient, rate_on_device=self.graphs is not None)
        references = self.references(local, cohort)
        batches = self._batches(cohort)
        recorded: RecordedStep | None = None
        if self.graphs is not None:
            begun = partial(self._begun, first_steps=cohort.first_steps)
            recorded = self.graphs.recorded(begun, local, references, cohort.statistics, batches)
        if recorded is None:
            training = self._begun(local, references, cohort.statistics, cohort.first_steps)
        else:
            training = recorded.training
        all_clients = slice(0, batches.clients)
        for step in range(batches.steps):
            if recorded is not None and batches.is_full(step):
                recorded.replay(batches.inputs(step, all_clients))
            else:
                training.step(batches.mini_batches(step), batches.active(step), step + 1)
        w = training.w
        statistics = training.statistics
        if recorded is not None:  # the next cohort trains in the same memory
            w = w.clone()
            statistics = statistics.clone()
        return self.result(w, cohort, local, statistics, training.loss_sum)

    def _begun(
        self, local: LocalContext, references: References | None, statistics: Tensor, first_steps: Ints
    ) -> LocalTraining:
        return LocalTraining(
            solver=self.solver,
            kernel=self.kernel,
            layout=self.network.parameters,
            local=local,
            references=references,
            statistics=statistics,
            phases=self.phases,
            first_steps=first_steps,
        )

    def gradients(self, cohort: Cohort) -> Tensor:
        """Return the gradients [C, d] of the task's loss at the received models; batches hold each sample once."""
        w = first_models(cohort.start, cohort.state)
        statistics = cohort.statistics.clone()  # every forward pass updates them, and this one must leave no trace
        gradients = ClientGradients(self.kernel, w, statistics, None, labels_of(self.solver, cohort.local()))
        total = torch.zeros_like(w)
        weights = w.new_tensor(shares(stack(cohort.batches), self.samples.weight))
        losses = w.new_empty(len(w))
        batches = self._batches(cohort)
        for step in range(batches.steps):
            active = batches.active(step)
            gradients.compute(batches.mini_batches(step), losses)
            total[:active].addcmul_(gradients.value[:active], weights[:active, step, None])
        return total

    def _batches(self, cohort: Cohort) -> StackedBatches:
        return StackedBatches(cohort, self.samples, couples_samples=self.network.couples_samples)
