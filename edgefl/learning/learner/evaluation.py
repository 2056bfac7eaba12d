"""Models on the test set, and on each device's own samples: in the background, shared among the workers."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import Literal, TypeVar

import numpy as np
import numpy.typing as npt
from torch import Tensor

from edgefl.core.arrays import Floats
from edgefl.learning.datasets import Data
from edgefl.learning.learner.ranking import ranking
from edgefl.learning.learner.workers import Workers

T = TypeVar("T")
Tested = tuple[float, int, npt.NDArray[np.floating]]  # sum of losses, how many are right, scores where they are ranked
EVALUATION_SAMPLES = 2_500  # what one worker tests at a time


@dataclass(frozen=True)
class Evaluation:
    """A model on the test set."""

    loss: float
    accuracy: float | None  # None where samples have no labels
    extra: Mapping[str, float | None]  # of the scalar problem, or of a ranking


class Pending:
    """An evaluation that is under way in the background."""

    def __init__(self, parts: Sequence[Future[Tested]], finish: Callable[[Sequence[Tested]], Evaluation]) -> None:
        self._parts, self._finish = parts, finish

    def done(self) -> bool:
        """Whether `result` would not have to wait."""
        return all(part.done() for part in self._parts)

    def result(self) -> Evaluation:
        """Wait for it."""
        return self._finish([part.result() for part in self._parts])


class Evaluator:
    """Has models looked at.

    Args:
        workers: where.
        data: the samples.
        own: whether a device's own samples are training or test samples.
        parts: [devices] which ones they are.
    """

    def __init__(
        self, workers: Workers, data: Data, own: Literal["train", "test"], parts: Sequence[npt.NDArray[np.int64]]
    ) -> None:
        self._workers, self._data, self._parts, self._own = workers, data, parts, own

    def evaluate(self, w: Tensor, statistics: Tensor, classes: tuple[int, ...] | None = None) -> Pending:
        """The model w [d] on the test set, or on its samples of some classes, in the background."""
        data, total = self._data, len(self._data.test_y)
        count = total if classes is None else int(np.isin(data.test_y, classes).sum())

        def take(result: Sequence[Tensor]) -> Tested:
            loss, hits, scores = result
            return float(loss), int(hits), scores.cpu().numpy().copy()

        def finish(tested: Sequence[Tested]) -> Evaluation:
            losses, hits, scores = zip(*tested, strict=True)
            extra = self._ranked(np.concatenate(scores)) if data.ranked else self._scalar(w)
            return Evaluation(sum(losses) / count, sum(hits) / count if data.classes else None, extra)

        return Pending(self._over(total, "test", (w, statistics), take, data.ranked, classes), finish)

    def accuracies(self, w: Tensor, statistics: Tensor) -> Floats | None:
        """Accuracy of the model w [d] on each device's own samples, of those that have any; None without labels."""
        if not self._data.classes or not any(map(len, self._parts)):
            return None
        count = len(self._data.train_y if self._own == "train" else self._data.test_y)
        parts = self._over(count, "hits", (w, statistics), lambda hits: hits.cpu().numpy().copy(), self._own)
        correct = np.concatenate([part.result() for part in parts])
        return np.array([correct[part].mean() for part in self._parts if len(part)])

    def _over(
        self, count: int, method: str, model: tuple[Tensor, Tensor], take: Callable[..., T], *how: object
    ) -> list[Future[T]]:
        """Call a method of the trainers on `count` samples, a part of them at a time."""
        edges = [*range(0, count, EVALUATION_SAMPLES), count]
        calls = [partial(_same, (*model, begin, end, *how)) for begin, end in pairwise(edges)]
        return [self._workers.submit(method, call, take) for call in calls]

    def _ranked(self, scores: npt.NDArray[np.floating]) -> dict[str, float | None]:
        """The columns of a ranking: each owner's test samples among themselves."""
        if self._data.test_owner is None:
            raise ValueError("samples without owners cannot be ranked")
        return {**ranking(scores, self._data.test_y == 1, self._data.test_owner)}

    def _scalar(self, w: Tensor) -> dict[str, float | None]:
        """The scalar problem's columns."""
        if self._data.dtype != "float64":
            return {}
        x, optimum = float(w[0]), self._data.optimum
        return {"parameter": x, "distance_to_optimum": None if optimum is None else abs(x - optimum)}


def _same(value: T) -> T:
    return value
