"""The task of a learner: the model, the algorithm, and the data of each device."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import torch

from edgefl.core.arrays import Floats, Indices, Ints
from edgefl.core.streams import Streams
from edgefl.learning.algorithms import Algorithm, RunInfo
from edgefl.learning.algorithms.properties import takes_same_steps
from edgefl.learning.concepts import Concepts
from edgefl.learning.data_section import Augmentation
from edgefl.learning.datasets import Data
from edgefl.learning.models import Model
from edgefl.learning.partitions.base import joined, part_sizes
from edgefl.learning.redivision import Redivision
from edgefl.learning.report_section import ReportSection
from edgefl.learning.training_section import Training
from edgefl.learning.workload import Workload, local_steps


@dataclass(frozen=True)
class LearningTask:
    """Everything that a scenario says about learning; it stays the same throughout a run."""

    model: Model
    algorithm: Algorithm
    training: Training
    data: Data
    parts: Sequence[Indices]  # [devices] training samples that each device holds
    streams: Streams
    augmentation: Augmentation | None = None  # random crops and flips of the training samples
    cut: int | None = None  # parameters of the front in split learning, see Solver
    report: ReportSection = field(default_factory=ReportSection)  # which models and contributions are wanted
    test_parts: Sequence[Indices] | None = None  # [devices] test samples of each device, if the test set is divided
    validation: Indices | None = None  # [n] training samples that no device holds, to choose models by, if any
    redivision: Redivision | None = None  # divides the samples of a round's participants; None: they keep theirs
    concepts: Concepts | None = None  # the data after each change of `data.drift`; None: they do not change
    participants: float | None = None  # expected number of participants of a round; None: not known

    @cached_property
    def sizes(self) -> Ints:
        """Training samples [devices] that each device holds."""
        return part_sizes(self.parts)

    @cached_property
    def workload(self) -> Workload:
        """The steps that each device takes in each round."""
        same_steps = takes_same_steps(self.algorithm)
        return Workload(self.training, self.sizes, self.streams, same_steps=same_steps)

    @property
    def stored(self) -> Data:
        """The samples of all concepts, one concept after another; `data` has those of the first."""
        return self.data if self.concepts is None else self.concepts.stored

    @property
    def sample_weights(self) -> Floats | None:
        """The weight [n] of each stored training sample in its mini-batch's mean loss; None: all alike."""
        given = self.stored.weight
        of_classes = self.model.loss.sample_weights(self.stored.train_y)
        if given is None or of_classes is None:
            return of_classes if given is None else given
        return given * of_classes

    @property
    def dtype(self) -> torch.dtype:
        """The type of parameters and samples: single precision, unless the data ask for double."""
        if self.data.dtype == "float64":
            return torch.float64
        return torch.float32

    def run_info(self, ids: Ints | None = None) -> RunInfo:
        """Return the facts that all rounds share, over devices `ids` [n], or over all devices."""
        sizes = self.sizes
        parts = self.parts
        devices: tuple[int, ...] = ()
        if ids is not None:
            sizes = sizes[ids]
            devices = tuple(ids.tolist())
            parts = [parts[device] for device in devices]
        samples_of_mean_device = -(-sizes.sum() // len(parts))  # rounded up
        (steps,) = local_steps(np.array([samples_of_mean_device]), *self.training.work)
        return RunInfo(
            population=len(parts),
            participants=len(parts),
            lr=self.training.lr,
            steps=float(steps),
            momentum=self.training.momentum,
            nesterov=self.training.nesterov,
            labels=tuple(self._samples_by_class(self.data.train_y[joined(parts)]).tolist()),
            test_labels=tuple(self._samples_by_class(self.data.test_y).tolist()),
            samples=float(sizes.mean()),
            work=self.training.work,
            devices=devices,
            seed=self.streams.seed,
        )

    def validation_of(self, classes: Sequence[int] | None) -> Indices:
        """Return the samples [n] of the validation set, or those of some classes."""
        if self.validation is None:
            return np.empty(0, dtype=np.int64)
        if classes is None:
            return self.validation
        return self.validation[np.isin(self.data.train_y[self.validation], classes)]

    def class_counts(self, parts: Sequence[Indices]) -> Ints:
        """Return the number of training samples of each class in each of `parts` [C]: [C, classes]."""
        if not self.data.one_class_each:
            return np.zeros((len(parts), 0), dtype=np.int64)
        labels = self.stored.train_y
        return np.array([np.bincount(labels[part], minlength=self.data.classes) for part in parts])

    def _samples_by_class(self, labels: Ints) -> Ints:
        # labels of regression cannot be counted, and those of data without labels are 0 throughout
        if not self.data.one_class_each:
            return np.zeros(0, dtype=np.int64)
        return np.bincount(labels, minlength=self.data.classes)
