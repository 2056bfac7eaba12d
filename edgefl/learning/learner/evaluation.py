"""Tests of models in the background, divided among the workers."""

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from edgefl.core.arrays import Floats, Ids, Indices, Ints
from edgefl.learning.algorithms import Updates
from edgefl.learning.datasets.base import counted_labels
from edgefl.learning.learner.calls import CallResult, Workers, as_is
from edgefl.learning.learner.ranking import ranking
from edgefl.learning.learner.task import LearningTask
from edgefl.learning.measures import ModelOutputs

GRADIENT_SAMPLES = 5_000  # samples that a worker takes at once; sums must not depend on the number of workers
EVALUATION_SAMPLES = 2_500  # tested by one worker at a time


class Tested(NamedTuple):
    """The result of testing a model on some samples."""

    loss_sum: float
    hits: int  # labels that are predicted right
    labels: int  # labels that count: one of each sample, or those of its tokens or pixels
    scores: npt.NDArray[np.floating] = np.empty(0)  # [samples], empty unless they are ranked

    @property
    def accuracy(self) -> float:
        """The share of the labels that are predicted right; 0 if none counts."""
        return self.hits / max(self.labels, 1)

    @property
    def mean_loss(self) -> float:
        """The mean loss of the labels; 0 if none counts."""
        return self.loss_sum / max(self.labels, 1)


class Around(NamedTuple):
    """Three models around a device's local training, tested on some of its samples."""

    device: int
    samples: int
    tested: tuple[Tested, Tested, Tested]  # the received model, that of its training, the next global one


class OutputsPart(NamedTuple):
    """Outputs of a model for some samples."""

    outputs: npt.NDArray[np.floating]  # [n, k], or [n, ..., k] of several labels
    predicted: npt.NDArray[np.int64]  # [n] or [n, ...] classes, empty if samples have none


@dataclass(frozen=True)
class Evaluation:
    """The result of testing a model on the test set."""

    loss: float
    accuracy: float | None  # None if samples have no labels
    extra: Mapping[str, float | None]  # more columns, of the scalar problem or of a ranking


class Pending:
    """An evaluation in the background."""

    def __init__(
        self,
        parts: Sequence[Future[Tested]],
        finish: Callable[[Sequence[Tested]], Evaluation],
        on_training: Sequence[Future[Tested]] | None = None,
    ) -> None:
        self._parts = parts
        self._finish = finish
        self._on_training = on_training  # tests on devices' training samples, if wanted

    def done(self) -> bool:
        """Return True if `result` would not have to wait."""
        return all(part.done() for part in (*self._parts, *(self._on_training or ())))

    def result(self) -> Evaluation:
        """Wait for the evaluation and return it."""
        evaluation = self._finish([part.result() for part in self._parts])
        if self._on_training is None:
            return evaluation
        tested = [part.result() for part in self._on_training]
        labels = sum(part.labels for part in tested)
        accuracy = None
        if labels:
            accuracy = sum(part.hits for part in tested) / labels
        return replace(evaluation, extra={**evaluation.extra, "train_accuracy": accuracy})


class Evaluator:
    """Tests models on the workers."""

    def __init__(self, workers: Workers, task: LearningTask) -> None:
        self._workers = workers
        self._data = task.data
        self._streams = task.streams
        self._strict_auc = task.report.strict_auc
        # a device's own samples are test samples if the test set is divided, otherwise its training samples
        self._train_parts = task.parts
        self._own_set = "train"
        self._own_parts = task.parts
        if task.test_parts is not None:
            self._own_set = "test"
            self._own_parts = task.test_parts
        self._stored = task.stored
        self._concepts = task.concepts
        self._changes = 0  # of the data so far
        self.change(0)

    def change(self, changes: int) -> None:
        """Test from now on with the samples that devices have after so many changes of their data (`data.drift`)."""
        if self._concepts is None:
            return
        self._changes = changes
        self._train_parts = self._concepts.parts(changes)
        test_parts = self._concepts.test_parts(changes)
        self._own_parts = self._train_parts if test_parts is None else test_parts

    def evaluate(
        self, w: Tensor, statistics: Tensor, classes: tuple[int, ...] | None = None, devices: Ids | None = None
    ) -> Pending:
        """Evaluate the model w [d] on the test set, or on its samples of some classes, in the background.

        With `devices` [n], its accuracy on their training samples is measured, too.
        """
        data = self._data

        def finish(parts: Sequence[Tested]) -> Evaluation:
            means = self._means(parts)
            if data.ranked:
                return replace(means, extra=self._ranked(np.concatenate([part.scores for part in parts])))
            return replace(means, extra=self._scalar(w))

        if self._concepts is None:
            parts = self._in_parts(len(data.test_y), "test", (w, statistics), _tested, data.ranked, classes)
        else:
            tested = self._concepts.tested(self._changes)
            if classes is not None:
                tested = tested[np.isin(self._stored.test_y[tested], classes)]
            parts = self._test_some(w, statistics, tested, "test")
        if devices is None:
            return Pending(parts, finish)
        return Pending(parts, finish, self._on_training_samples(w, statistics, devices))

    def evaluate_held_out(self, w: Tensor, statistics: Tensor, rows: Indices) -> Pending:
        """Evaluate the model w [d] on training samples `rows` [n] that no device holds, in the background."""
        if self._concepts is not None:
            rows = self._concepts.held_out(rows, self._changes)
        return Pending(self._test_some(w, statistics, rows, "train"), self._means)

    def evaluate_own(self, models: Sequence[tuple[Tensor, Tensor]]) -> Pending:
        """Evaluate the model and statistics of each device [devices] on its own samples, in the background."""
        return Pending(self._own_tests(models), self._means)

    def own_accuracies(self, models: Sequence[tuple[Tensor, Tensor]]) -> Floats | None:
        """Return what `accuracies` does, of the model and statistics of each device [devices]."""
        if not self._data.classes:
            return None
        tested = [part.result() for part in self._own_tests(models)]
        return np.array([part.accuracy for part in tested])

    def _own_tests(self, models: Sequence[tuple[Tensor, Tensor]]) -> list[Future[Tested]]:
        return [
            self._test_rows(w, statistics, torch.from_numpy(rows), self._own_set)
            for (w, statistics), rows in zip(models, self._own_parts, strict=True)
            if len(rows)
        ]

    def _means(self, parts: Sequence[Tested]) -> Evaluation:
        counted = sum(part.labels for part in parts)
        loss = sum(part.loss_sum for part in parts) / counted
        accuracy = None
        if self._data.classes:
            accuracy = sum(part.hits for part in parts) / counted
        return Evaluation(loss, accuracy, {})

    def _on_training_samples(self, w: Tensor, statistics: Tensor, devices: Ids) -> list[Future[Tested]]:
        if not len(devices):
            return []
        parts = torch.split(self._rows(devices), EVALUATION_SAMPLES)
        return [self._test_rows(w, statistics, part) for part in parts]

    def _rows(self, devices: Ids) -> Tensor:
        return torch.from_numpy(np.concatenate([self._train_parts[device] for device in devices.tolist()]))

    def _test_some(self, w: Tensor, statistics: Tensor, rows: Indices, which: str) -> list[Future[Tested]]:
        chunks = torch.split(torch.from_numpy(rows), EVALUATION_SAMPLES)
        return [self._test_rows(w, statistics, chunk, which) for chunk in chunks]

    def _test_rows(self, w: Tensor, statistics: Tensor, rows: Tensor, which: str = "train") -> Future[Tested]:
        def take(result: tuple[Tensor, Tensor, Tensor]) -> Tested:
            loss_sum, hits, labels = result
            return Tested(float(loss_sum), int(hits), int(labels))

        return self._workers.submit("test_rows", partial(as_is, (w, statistics, rows, which)), take)

    def outputs(self, w: Tensor, statistics: Tensor) -> ModelOutputs:
        """Return the outputs of the model w [d] for each test sample."""
        outputs = self._all_outputs(w, statistics, "test")
        if self._concepts is None:
            return outputs
        return outputs.only(self._concepts.tested(self._changes))

    def _all_outputs(self, w: Tensor, statistics: Tensor, which: str) -> ModelOutputs:
        """Return the outputs of the model w [d] for each sample of a set, `test` or `train`, in all concepts."""
        labels = self._stored.test_y
        if which == "train":
            labels = self._stored.train_y
        pending = self._in_parts(len(labels), "outputs", (w, statistics), _both_copied, which)
        parts = [part.result() for part in pending]
        outputs = np.concatenate([part.outputs for part in parts])
        predicted = None
        if self._data.classes:
            predicted = np.concatenate([part.predicted for part in parts])
        return ModelOutputs(outputs, labels, predicted)

    def own_outputs(self, w: Tensor, statistics: Tensor) -> tuple[ModelOutputs, Sequence[Indices]]:
        """Return outputs of the model w [d], and the places in them of each device's samples [devices]."""
        return self._all_outputs(w, statistics, self._own_set), self._own_parts

    def accuracies(self, w: Tensor, statistics: Tensor) -> Floats | None:
        """Return the accuracy of the model w [d] on the samples of each device that has any; None without classes.

        It is the share of a device's labels that are predicted right, or 0 if none counts.
        """
        if not self._data.classes or not any(len(part) for part in self._own_parts):
            return None
        count = len(self._stored.train_y)
        if self._own_set == "test":
            count = len(self._stored.test_y)
        pending = self._in_parts(count, "hits", (w, statistics), _hits_copied, self._own_set)
        tested = [part.result() for part in pending]
        hits, labels = (np.concatenate(values) for values in zip(*tested, strict=True))
        own = [part for part in self._own_parts if len(part)]
        return np.array([hits[part].sum() / max(labels[part].sum(), 1) for part in own])

    def losses(self, w: Tensor, statistics: Tensor, ids: Ids, samples: Ints, index: int) -> Floats:
        """Return the mean loss [n] of the model w [d] on training samples of each of the devices [n].

        At most `samples` [n] of a device's samples are tested, drawn again in each round `index`.
        """
        pending = []
        for device, count in zip(ids.tolist(), samples.tolist(), strict=True):
            rows = torch.from_numpy(self._some_samples(device, count, index))
            pending.append(self._test_rows(w, statistics, rows))
        return np.array([tested.result().mean_loss for tested in pending])

    def around(
        self, updates: Updates, devices: Ids, after: Tensor, statistics: Tensor, *, own: bool
    ) -> Sequence[Around]:
        """Return three models tested on each participant's training samples, or on its `own` samples of tests, if any.

        The models are the one that it received, the one that its training made (received model plus uploaded move),
        and the next global model `after` [d].
        """
        parts = self._own_parts if own else self._train_parts
        which = self._own_set if own else "train"
        found = []
        for row, device in enumerate(devices.tolist()):
            if not len(parts[device]):
                continue
            start = after if updates.starts is None else updates.starts[row]
            moved_statistics = statistics if updates.statistics is None else updates.statistics[row]
            samples = torch.from_numpy(parts[device])
            local = start + updates.vectors["delta"][row]
            models = [(start, statistics), (local, moved_statistics), (after, statistics)]
            received, trained, latest = (self._test_rows(*model, samples, which) for model in models)
            found.append(Around(device, len(samples), (received.result(), trained.result(), latest.result())))
        return found

    def squared_gradient_norm(self, w: Tensor, statistics: Tensor, ids: Ids) -> float:
        """Return `|grad F(w)|^2` of the mean loss F over all labels of the training samples of devices `ids` [n].

        F has no regularisers, no terms of the algorithm, no dropout and no augmentation.
        """
        rows = self._rows(ids)
        arguments = [partial(as_is, (w, statistics, some)) for some in torch.split(rows, GRADIENT_SAMPLES)]
        pending = [self._workers.submit("gradient", each, Tensor.clone) for each in arguments]
        gradient = torch.stack([part.result().to(w.device) for part in pending]).sum(dim=0)
        labels = len(rows)
        counted = counted_labels(self._stored.train_y[rows.numpy()])
        if counted is not None:
            labels = max(int(counted.sum()), 1)
        return float(((gradient / labels) ** 2).sum())

    def _some_samples(self, device: int, count: int, index: int) -> Indices:
        part = self._train_parts[device]
        if count >= len(part):
            return part
        rng = self._streams.generator("poll", device, index)
        return rng.choice(part, count, replace=False)

    def _in_parts(
        self,
        count: int,
        method: str,
        model: tuple[Tensor, Tensor],
        take: Callable[..., CallResult],
        *args: object,
    ) -> list[Future[CallResult]]:
        """Call a method of the trainers for `count` samples, a part of them at a time."""
        # the parts do not depend on the number of workers, so neither do the sums over them
        edges = [*range(0, count, EVALUATION_SAMPLES), count]
        futures = []
        for begin, end in pairwise(edges):
            arguments = partial(as_is, (*model, begin, end, *args))
            futures.append(self._workers.submit(method, arguments, take))
        return futures

    def _ranked(self, scores: npt.NDArray[np.floating]) -> dict[str, float | None]:
        """Return the columns of a ranking: each owner's test samples are ranked among themselves."""
        if self._data.test_owner is None:
            raise ValueError("samples without owners cannot be ranked")
        positive = self._data.test_y == 1
        return {**ranking(scores, positive, self._data.test_owner, strict_auc=self._strict_auc)}

    def _scalar(self, w: Tensor) -> dict[str, float | None]:
        if self._data.dtype != "float64":
            return {}
        x = float(w[0])
        distance = None
        if self._data.optimum is not None:
            distance = abs(x - self._data.optimum)
        return {"parameter": x, "distance_to_optimum": distance}


def _tested(result: tuple[Tensor, Tensor, Tensor, Tensor]) -> Tested:
    loss_sum, hits, labels, scores = result
    # a copy, as the worker's next message overwrites the memory
    return Tested(float(loss_sum), int(hits), int(labels), _copied(scores))


def _hits_copied(result: tuple[Tensor, Tensor]) -> tuple[Ints, Ints]:
    hits, labels = result
    return _copied(hits), _copied(labels)


def _both_copied(result: tuple[Tensor, Tensor]) -> OutputsPart:
    outputs, predicted = result
    return OutputsPart(_copied(outputs), _copied(predicted))


def _copied(values: Tensor) -> npt.NDArray[Any]:
    return values.cpu().numpy().copy()
