"""One collected round: its clients in chunks on the workers, their results put together again."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, replace
from threading import Lock

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from edgefl.learner.engine import Trained
from edgefl.learner.memory import is_out_of_memory
from edgefl.learner.plan import Plan
from edgefl.learner.store import StateStore
from edgefl.learner.trainer import Vectors
from edgefl.learner.workers import Workers

Ids = npt.NDArray[np.int64]
BALANCE = 4  # on CPUs the number of chunks is a multiple of this, so that 2 or 4 workers end together

log = logging.getLogger("edgefl")


@dataclass(frozen=True)
class Job:
    """One device's training in one round: its result depends on nothing else."""

    device: int
    index: int  # of the round, from 0
    start: Tensor  # [d] the model that the device received
    received: Mapping[str, Tensor]  # other vectors that it received
    statistics: Tensor  # [b] of batch normalisation, as received


class Round:
    """Trains jobs.

    Args:
        jobs: in the order in which results are wanted.
        workers: where.
        store: the clients' states, if they keep any.
    """

    def __init__(self, jobs: Sequence[Job], workers: Workers, store: StateStore | None) -> None:
        self.jobs, self._workers, self._store = jobs, workers, store
        self._ids = np.array([job.device for job in jobs])
        self.uploads: dict[str, Tensor] = {}  # [C, ...] each, in the order of the jobs, as what follows
        self.outcome: dict[str, Tensor] = {}  # losses and statistics
        self._lock = Lock()

    def train(self, chunks: Sequence[Ids], plan: Plan) -> Plan:
        """Train the jobs of all chunks; the plan with which it went, narrower than before where memory ran out.

        Args:
            chunks: numbers of the jobs that are trained together.
            plan: how.
        """
        waiting = [(chunk, self._submit(chunk, plan)) for chunk in chunks]
        while waiting:
            chunk, future = waiting.pop(0)
            try:
                future.result()
                continue
            except (RuntimeError, MemoryError) as error:
                if len(chunk) == 1 or not is_out_of_memory(error):
                    raise
            half = -(-len(chunk) // 2)
            if half < plan.width:
                log.warning("out of memory with %d clients at once: going on with %d", len(chunk), half)
                plan = replace(plan, width=half)
            waiting += [(part, self._submit(part, plan)) for part in (chunk[:half], chunk[half:])]
        return plan

    def _submit(self, rows: Ids, plan: Plan) -> Future[None]:
        jobs = [self.jobs[row] for row in rows]
        keys = [(job.device, job.index) for job in jobs]

        def arguments() -> tuple[Plan, list[tuple[int, int]], Vectors]:
            names = jobs[0].received
            received = {name: _stacked([job.received[name] for job in jobs]) for name in names}
            start, statistics = (_stacked([getattr(job, name) for job in jobs]) for name in ("start", "statistics"))
            return plan, keys, Vectors(start, received, self._state(rows), statistics)

        return self._workers.submit("train", arguments, lambda trained: self._take(rows, trained))

    def _state(self, rows: Ids) -> dict[str, Tensor]:
        if self._store is None:
            return {}
        with self._lock:
            return self._store.gather(self._ids[rows])

    def _take(self, rows: Ids, trained: Trained) -> None:
        """Copy a chunk's results to their places."""
        with self._lock:
            if self._store is not None:
                self._store.scatter(self._ids[rows], trained.state)
            for name, part in trained.uploads.items():
                self._put(self.uploads, name, rows, part)
            self._put(self.outcome, "losses", rows, trained.losses)
            self._put(self.outcome, "statistics", rows, trained.statistics)

    def _put(self, table: dict[str, Tensor], name: str, rows: Ids, part: Tensor) -> None:
        if name not in table:
            home = self.jobs[0].start.device
            table[name] = torch.empty((len(self.jobs), *part.shape[1:]), dtype=part.dtype, device=home)
        for row, value in zip(rows.tolist(), part.unbind(), strict=True):
            table[name][row].copy_(value)


def chunks(order: Ids, width: int, *, balanced: bool) -> list[Ids]:
    """Jobs in chunks of at most `width`, of nearly equal sizes."""
    count = -(-len(order) // width)
    if balanced:
        count = min(len(order), -(-count // BALANCE) * BALANCE)
    return np.array_split(order, count)


def _stacked(vectors: Sequence[Tensor]) -> Tensor:
    """[C, d]; a single row where all are the same object, as in a synchronous round."""
    return vectors[0][None] if all(vector is vectors[0] for vector in vectors) else torch.stack(list(vectors))
