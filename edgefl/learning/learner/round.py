"""One collected round: its clients in cohorts on the workers, their results put together again."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, replace
from threading import Lock

import numpy as np
import torch
from torch import Tensor

from edgefl.core.arrays import Ids
from edgefl.core.errors import RunError
from edgefl.learning.algorithms import RunInfo
from edgefl.learning.learner.engine import Trained
from edgefl.learning.learner.memory import is_out_of_memory
from edgefl.learning.learner.plan import Plan
from edgefl.learning.learner.store import StateStore
from edgefl.learning.learner.trainer import Vectors
from edgefl.learning.learner.workers import Workers

MESSAGES = 2  # to each worker in a round: few, as each costs time, but so that all end together

log = logging.getLogger("edgefl")


@dataclass(frozen=True)
class Job:
    """One device's training in one round: its result depends on nothing else."""

    device: int
    index: int  # of the round, from 0
    start: Tensor  # [d] the model that the device received
    received: Mapping[str, Tensor]  # other vectors that it received
    statistics: Tensor  # [b] of batch normalisation, as received
    lr: float  # learning rate


class Round:
    """Trains jobs.

    Args:
        jobs: in the order in which results are wanted.
        workers: where.
        store: the clients' states, if they keep any.
        run: what all rounds have in common.
    """

    def __init__(self, jobs: Sequence[Job], workers: Workers, store: StateStore | None, run: RunInfo) -> None:
        self.jobs, self._workers, self._store, self._run = jobs, workers, store, run
        self._ids = np.array([job.device for job in jobs])
        self.uploads: dict[str, Tensor] = {}  # [C, ...] each, in the order of the jobs, as what follows
        self.outcome: dict[str, Tensor] = {}  # losses and statistics
        self._lock = Lock()

    def train(self, order: Ids, plan: Plan) -> Plan:
        """Train all jobs; the plan with which it went, narrower than before where memory ran out.

        Args:
            order: numbers of the jobs, alike ones side by side, longest first.
            plan: how.
        """
        waiting = self._submit(cohorts(order, min(plan.width, self._share(order))), plan)
        try:
            while waiting:
                mine, future = waiting.pop(0)
                if _fitted(future):
                    continue
                widest = max(len(cohort) for cohort in mine)
                if widest == 1:
                    future.result()
                if widest <= plan.width:  # wider ones were on their way when others had failed already
                    plan = replace(plan, width=-(-widest // 2))
                    log.warning("out of memory with %d clients at once: going on with %d", widest, plan.width)
                waiting += self._submit([part for cohort in mine for part in cohorts(cohort, plan.width)], plan)
        finally:
            for _, future in waiting:  # of a round that has failed or was interrupted
                future.cancel()
        return plan

    def check_finite(self, where: str | None) -> None:
        """Whether what has been trained is of use; `where` is the round, as a message names it.

        Raises:
            RunError: a loss or an upload of a device is no finite number.
        """
        good = torch.isfinite(self.outcome["losses"])
        for vector in self.uploads.values():
            good &= torch.isfinite(vector.flatten(1).sum(dim=1))  # one pass: a number that is none spoils its sum
        if bool(good.all()):
            return
        job = self.jobs[int((~good).nonzero()[0])]
        raise RunError(
            f"{where or f'round {job.index + 1}'}: device {job.device}: local training diverged (NaN or infinite); "
            "the likely cause is a learning rate that is too high: lower training.lr or set training.clip_norm"
        )

    def _share(self, order: Ids) -> int:
        """On several GPUs each gets its share; on CPUs cohorts must not depend on the number of workers."""
        on_cpu = self.jobs[0].start.device.type == "cpu"
        return len(order) if on_cpu else -(-len(order) // len(self._workers))

    def _submit(self, parts: list[Ids], plan: Plan) -> list[tuple[list[Ids], Future[None]]]:
        """Hand cohorts to the workers in a few messages; each gets long ones and short ones."""
        count = min(len(parts), MESSAGES * len(self._workers))
        messages = [parts[first::count] for first in range(count)]
        return [(message, self._send(message, plan)) for message in messages]

    def _send(self, message: list[Ids], plan: Plan) -> Future[None]:
        rows = np.concatenate(message)
        jobs = [self.jobs[row] for row in rows]
        keys = [[(self.jobs[row].device, self.jobs[row].index) for row in cohort] for cohort in message]

        def arguments() -> tuple[Plan, list[list[tuple[int, int]]], Vectors]:
            received = {name: stacked([job.received[name] for job in jobs]) for name in jobs[0].received}
            start, statistics = (stacked([getattr(job, name) for job in jobs]) for name in ("start", "statistics"))
            lr = start.new_tensor([[job.lr] for job in jobs])
            return plan, keys, Vectors(start, received, self._state(rows), statistics, lr, self._run)

        return self._workers.submit("train", arguments, lambda trained: self._take(rows, trained))

    def _state(self, rows: Ids) -> dict[str, Tensor]:
        if self._store is None:
            return {}
        with self._lock:
            return self._store.gather(self._ids[rows])

    def _take(self, rows: Ids, trained: Trained) -> None:
        """Copy a message's results to their places."""
        with self._lock:
            for name, part in trained.uploads.items():
                self._put(self.uploads, name, rows, part)
            self._put(self.outcome, "losses", rows, trained.losses)
            self._put(self.outcome, "statistics", rows, trained.statistics)
            if self._store is not None:  # last: where memory ran out above, the clients will start from here again
                self._store.scatter(self._ids[rows], trained.state)

    def _put(self, table: dict[str, Tensor], name: str, rows: Ids, part: Tensor) -> None:
        home = self.jobs[0].start.device
        if name not in table:
            table[name] = torch.empty((len(self.jobs), *part.shape[1:]), dtype=part.dtype, device=home)
        table[name].index_copy_(0, torch.from_numpy(rows).to(home), part.to(home))


def _fitted(future: Future[None]) -> bool:
    """Wait; whether memory was enough."""
    try:
        future.result()
    except (RuntimeError, MemoryError) as error:
        if not is_out_of_memory(error):
            raise
        return False
    return True


def cohorts(order: Ids, width: int) -> list[Ids]:
    """Jobs in groups of at most `width`, of nearly equal sizes; whatever the number of workers."""
    return np.array_split(order, -(-len(order) // width))


def stacked(vectors: Sequence[Tensor]) -> Tensor:
    """[C, d]; a single row where all are the same object, as in a synchronous round."""
    return vectors[0][None] if all(vector is vectors[0] for vector in vectors) else torch.stack(list(vectors))
