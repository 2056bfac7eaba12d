"""Rounds of real learning on a small plain problem, by the learner of a run, without a server or a world."""

import copy
import io
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from edgefl.core.arrays import Ids
from edgefl.core.streams import Streams
from edgefl.learning.algorithms import Algorithm, Updates
from edgefl.learning.algorithms.contracts import AWAITED
from edgefl.learning.datasets import Data
from edgefl.learning.datasets.base import IGNORED
from edgefl.learning.learner import Learner, LearningTask
from edgefl.learning.learner.plans.plan import SERIAL, Plan
from edgefl.learning.models import Model
from edgefl.learning.models.fcn import Fcn
from edgefl.learning.training_section import Training

SIZES = (7, 20, 13, 32, 1, 25)  # samples of each device, one of them with a single sample
FEATURES = 5
CLASSES = 3
SEED = 17
ALL = (0, 1, 2, 3, 4, 5)
SCHEDULE = (ALL, (1,), (0, 3, 4), (1, 2, 5))  # all, one of many, and some that were absent in between
MODEL = Fcn(hidden=(4,))
TRAINING = Training(local_epochs=2, batch_size=8, lr=0.05)
TOGETHER = Plan("batched", "layers", 4)  # four at once: a cohort of six is divided

Dtype = Literal["float32", "float64"]


@dataclass(frozen=True)
class Round:
    """The outcome of a round."""

    updates: Updates
    server: Mapping[str, Any]  # the next state
    loss: float  # mean training loss


def problem(
    dtype: Dtype,
    sizes: Sequence[int],
    shape: tuple[int, ...] = (FEATURES,),
    classes: int = CLASSES,
    labels: tuple[int, ...] = (),
    vocabulary: int | None = None,
) -> Data:
    """Return samples of overlapping classes; a linear classifier separates most of them.

    With `labels` each of a sample's tokens or pixels, in this shape, has a class, and the first one does not count.
    With a `vocabulary` samples are rows of ids below it; most follow from the class.
    """
    rng = np.random.default_rng(SEED)
    count = sum(sizes)
    axes = len(labels)
    by_place = shape[len(shape) - axes :] == labels  # each place in a sample follows the class of its own label
    places: tuple[int, ...] = ()
    if by_place:
        places = labels
    y = rng.integers(0, classes, (count + 30, *places))
    centres = rng.normal(size=(classes, *shape[: len(shape) - len(places)]))
    noise = rng.normal(size=(count + 30, *shape))
    clean = np.moveaxis(centres[y], range(1, 1 + len(places)), range(-len(places), 0))
    x = (clean + noise).astype(dtype)
    if vocabulary is not None:
        of_class = np.broadcast_to(y.reshape(len(y), *(1,) * (len(shape) - len(places)), *places), x.shape)
        x = np.where(noise > -1, of_class, rng.integers(0, vocabulary, x.shape)) % vocabulary
    if labels:
        y = np.broadcast_to(y.reshape(len(y), *(1,) * (axes - len(places)), *places), (len(y), *labels)).copy()
        y.reshape(len(y), -1)[:, 0] = IGNORED
    return Data(x[:count], y[:count], x[count:], y[count:], classes, dtype=dtype)


class Rounds:
    """The learner of a run, and the server's state.

    Args:
        algorithm: the algorithm.
        dtype: of all vectors.
        plan: how devices are trained.
        sizes: [devices] samples of each device.
        model: the model; a small network if None.
        data: as many samples as `sizes` say; a plain problem if None.
        minimal: leave out of uploads what the server can derive.
    """

    def __init__(
        self,
        *,
        algorithm: Algorithm,
        dtype: Dtype = "float64",
        plan: Plan = SERIAL,
        sizes: Sequence[int] = SIZES,
        model: Model | None = None,
        data: Data | None = None,
        minimal: bool = False,
    ) -> None:
        self.algorithm = algorithm
        task = LearningTask(
            model=model or MODEL,
            algorithm=algorithm,
            training=TRAINING.model_copy(update={"minimal_uploads": minimal}),
            data=data or problem(dtype, sizes),
            parts=np.split(np.arange(sum(sizes)), np.cumsum(sizes)[:-1]),
            streams=Streams(SEED),
        )
        self.learner = Learner(task=task, device="cpu", plan=plan, processes=0)
        self.index = 0
        self.server: Mapping[str, Any] = self.learner.begin(len(SCHEDULE), 3.0, (1.0,) * len(sizes))
        self._awaited: Ids = np.empty(0, dtype=np.int64)
        self._await(self._awaited)

    def round(self, devices: Sequence[int]) -> Round:
        """Play a round of these devices, and return its outcome."""
        w = self.algorithm.broadcast(self.server)
        received = self.algorithm.downlink(self.server)
        for device in devices:
            self.learner.submit(device, self.index, w, received)
        updates, loss = self.learner.collect()
        return self._end(replace(updates, staleness=np.zeros(len(devices), dtype=np.int64)), loss)

    def play(self, schedule: Sequence[Sequence[int]] = SCHEDULE) -> list[Round]:
        """Play the rounds of a schedule, and one without updates if the algorithm learns from stored updates."""
        rounds = [self.round(devices) for devices in schedule]
        if self.algorithm.replays:
            rounds.append(self._end(self.learner.empty_updates(self.server, self.index, 0.05), 0.0))
        return rounds

    def depart(self, ids: Sequence[int], *, forget: bool) -> None:
        """Let devices leave and lose their states."""
        self.server = self.learner.depart(np.array(ids), self.server, forget=forget)

    def save(self) -> bytes:
        """Return all state, as a run saves it."""
        file = io.BytesIO()
        self.learner.save(file, {"state": dict(self.server), "index": self.index, AWAITED: self._awaited})
        return file.getvalue()

    def restore(self, saved: bytes) -> None:
        """Restore the state that `save` has written."""
        values = self.learner.restore(io.BytesIO(saved))
        self.server = values["state"]
        self.index = values["index"]
        self._awaited = values[AWAITED]

    def _end(self, updates: Updates, loss: float) -> Round:
        server = self.learner.aggregate(self.server, updates)
        self.algorithm.trace(server, updates)
        if len(updates.ids):
            self.algorithm.contributors(server, updates)
        self.server = server
        self.index += 1
        self._await(updates.ids)
        return Round(updates, server, loss)

    def _await(self, received: Ids) -> None:
        population = len(self.learner.task.parts)
        rng = np.random.default_rng(self.index)
        self._awaited = self.algorithm.awaited(self._awaited, received, population, rng)
        if len(self._awaited):
            self.server = {**self.server, AWAITED: self._awaited}


@contextmanager
def rounds(algorithm: Algorithm, **keys: Any) -> Iterator[Rounds]:
    """Give rounds of an algorithm, and close their learner at the end."""
    # A copy for each run, as in separate processes: state that a hook hides in the instance does not reach other runs.
    made = Rounds(algorithm=copy.deepcopy(algorithm), **keys)
    try:
        yield made
    finally:
        made.learner.close()
