"""Steps of local training that are recorded once for each shape of a cohort, and then replayed as a whole.

On a GPU a step of a small model is a hundred kernels, and each takes longer to launch than to compute; a recorded
step is launched in one go. A record knows the memory that it works in, and every number that the host computed when it
was made. So a cohort is copied into the memory of its shape's record, with the numbers that differ between cohorts
(such as learning rates), and solvers whose steps depend on a number that the host counts are never recorded. A replay
gives the same bytes as the step itself, so a run goes on without records where one fails.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass
from threading import Lock

from torch import Tensor

from edgefl.learning.algorithms import LocalContext, RunInfo
from edgefl.learning.learner.engines.local_training import LocalTraining
from edgefl.learning.learner.engines.samples import Samples
from edgefl.learning.learner.engines.stacked_batches import StackedBatches, StepInputs
from edgefl.learning.learner.kernels.gradients import References
from edgefl.learning.learner.memory import is_out_of_memory

log = logging.getLogger("edgefl")

MOST = 8  # records that are kept, as each has memory of its own
WORTH_STEPS = 4  # a record is made only for a cohort with so many full steps: making it takes about as long as two

Replay = Callable[[], None]
Training = Callable[[LocalContext, References | None, Tensor], LocalTraining]
"""Takes what the hooks see, models to compare with and statistics as received; returns the training of a cohort."""
Recorder = Callable[[Callable[[], None]], Replay]
"""Records what a function does, and returns a function that does the same again in the same memory."""


@dataclass(frozen=True)
class CohortTensors:
    """Everything that a step of a cohort reads besides its mini-batches."""

    local: LocalContext
    references: References | None
    statistics: Tensor  # [C, b] of batch normalisation, as received

    def tensors(self) -> list[Tensor]:
        """Return the tensors in a fixed order."""
        found = []

        def note(tensor: Tensor) -> Tensor:
            found.append(tensor)
            return tensor

        self.local.each(note)
        if self.references is not None:
            found += self.references.models.values()
        return [*found, self.statistics]

    def copied(self) -> CohortTensors:
        """Return a copy in new memory; what all clients share stays a single row."""
        local = self.local.each(_copied)
        statistics = _copied(self.statistics)
        references = None
        if self.references is not None:
            models = {name: _copied(model) for name, model in self.references.models.items()}
            references = References(models, statistics, local.received)
        return CohortTensors(local, references, statistics)

    def load(self, other: CohortTensors) -> None:
        """Take the values of a cohort with the same shape."""
        for own, value in zip(self.tensors(), other.tensors(), strict=True):
            _row_or_all(own).copy_(_row_or_all(value))


@dataclass(frozen=True)
class Shape:
    """The key of a recorded step: cohorts with the same key differ only in the values in their memory."""

    tensors: tuple[tuple[tuple[int, ...], bool], ...]  # the size of each, and whether all clients share one row
    inputs: tuple[tuple[int, ...], ...]  # of a full step
    run: RunInfo


@dataclass(frozen=True)
class RecordedStep:
    """A recorded step with the memory that it works in."""

    shape: Shape
    training: LocalTraining
    tensors: CohortTensors
    inputs: StepInputs
    run: Replay

    def load(self, tensors: CohortTensors) -> None:
        """Begin the training of another cohort of this shape."""
        self.tensors.load(tensors)
        self.training.begin(tensors.local, tensors.statistics)

    def replay(self, inputs: StepInputs) -> None:
        """Take a step with all clients."""
        for own, value in zip(self.inputs.tensors(), inputs.tensors(), strict=True):
            own.copy_(value)
        self.run()


class Recording:
    """Whether the steps of a run are recorded: on all of its devices, until a step on one of them cannot be."""

    def __init__(self) -> None:
        self.is_on = True
        self._lock = Lock()  # of the threads of several GPUs

    def end(self, error: Exception) -> None:
        """Record nothing more, and say so once."""
        with self._lock:
            if not self.is_on:
                return
            self.is_on = False
        text = "training.graphs: a local step cannot be recorded (%s): training goes on without, and takes longer"
        log.warning(text, str(error).partition("\n")[0])


class StepGraphs:
    """The records of a device; `record` makes one, as long as `recording` is on."""

    def __init__(self, record: Recorder, samples: Samples, recording: Recording) -> None:
        self._record = record
        self._samples = samples
        self._recording = recording
        self._steps: list[RecordedStep] = []  # the one that was used last comes last

    def recorded(
        self,
        begun: Training,
        local: LocalContext,
        references: References | None,
        statistics: Tensor,
        batches: StackedBatches,
    ) -> RecordedStep | None:
        """Return the record of a cohort's shape with its memory filled; None if there is none.

        Making one is not always worth it, and no longer tried once a step of the run did what a record cannot hold.
        `begun` returns the training of the cohort before its first step; a record works on copies of the cohort's
        tensors.
        """
        if not self._recording.is_on:
            self._steps.clear()  # and their memory
            return None
        if batches.full_steps() < WORTH_STEPS:
            return None
        tensors = CohortTensors(local, references, statistics)
        full = next(step for step in range(batches.steps) if batches.is_full(step))
        inputs = batches.inputs(full, slice(0, batches.clients))
        shape = _shape(tensors, inputs)
        step = next((known for known in self._steps if known.shape == shape), None)
        if step is None:
            del self._steps[: max(0, len(self._steps) - MOST + 1)]  # before the new one takes its memory
            try:
                step = self._made(begun, shape, tensors.copied(), inputs.copied())
            except RuntimeError as error:
                if is_out_of_memory(error):
                    raise
                self._recording.end(error)
                return None
        else:
            self._steps.remove(step)
        self._steps.append(step)
        step.load(tensors)
        return step

    def _made(self, begun: Training, shape: Shape, tensors: CohortTensors, inputs: StepInputs) -> RecordedStep:
        training = begun(tensors.local, tensors.references, tensors.statistics)
        all_clients = slice(0, len(tensors.local.start))

        def take() -> None:
            # the number of the step means nothing: a solver that asks for it is not recorded
            training.step([inputs.mini_batch(all_clients, self._samples)], all_clients.stop, 1)

        return RecordedStep(shape, training, tensors, inputs, self._record(take))


def _shape(tensors: CohortTensors, inputs: StepInputs) -> Shape:
    of_cohort = tuple((tuple(tensor.shape), _is_shared(tensor)) for tensor in tensors.tensors())
    return Shape(of_cohort, tuple(tuple(tensor.shape) for tensor in inputs.tensors()), tensors.local.run)


def _is_shared(tensor: Tensor) -> bool:
    """Return True if all clients have the same memory, such as that of a model that all of them received."""
    return len(tensor) > 1 and tensor.stride(0) == 0


def _row_or_all(tensor: Tensor) -> Tensor:
    if _is_shared(tensor):
        return tensor[:1]
    return tensor


def _copied(tensor: Tensor) -> Tensor:
    return _row_or_all(tensor).clone().expand(tensor.shape)
