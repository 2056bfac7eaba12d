"""The training of a round: its clients go to the workers in cohorts, and their results are put together again."""

import logging
from collections.abc import Sequence
from concurrent.futures import Future
from dataclasses import replace
from threading import Lock

import numpy as np
import torch
from torch import Tensor

from edgefl.core.arrays import Rows
from edgefl.core.errors import DivergedError
from edgefl.learning.algorithms import RunInfo
from edgefl.learning.learner.calls import Workers
from edgefl.learning.learner.client_inputs import ClientInputs, rounded_rates
from edgefl.learning.learner.engines.engine import Trained
from edgefl.learning.learner.jobs import Job, JobKey, stacked
from edgefl.learning.learner.memory import is_out_of_memory
from edgefl.learning.learner.plans.plan import Plan
from edgefl.learning.learner.states.store import StateStore

MESSAGE_BYTES = 2**28  # of models that a message brings back: its uploads, two or three each, fit into shared memory

log = logging.getLogger("edgefl")

Message = list[Rows]  # cohorts, each the numbers of its jobs, that a worker trains one after another


class RoundTraining:
    """Trains the `jobs` of a round, and keeps the results in their order.

    A cohort is trained together, and if it is small, it stays in the processor's cache for all its steps. A message to
    a worker carries several cohorts, as each message costs time; each worker gets so many `messages`, or more if models
    are large.
    """

    def __init__(
        self, jobs: Sequence[Job], workers: Workers, store: StateStore | None, run: RunInfo, messages: int = 2
    ) -> None:
        self.jobs = jobs
        self.uploads: dict[str, Tensor] = {}  # [C, ...] each, in the order of the jobs
        self.outcome: dict[str, Tensor] = {}  # losses [C] and statistics [C, b], in the same order
        self._workers = workers
        self._store = store
        self._run = run
        self._messages = messages
        self._ids = np.array([job.device for job in jobs])
        self._lock = Lock()  # messages are packed and results taken in one thread for each worker

    def train(self, order: Rows, plan: Plan) -> Plan:
        """Train all jobs; return the plan that worked, narrower than `plan` if memory ran out.

        The `order` of the jobs has the longest first, and similar ones next to each other.
        """
        # Messages are waited for in their order; the cohorts of one that failed are made narrower and queued again,
        # while the others go on.
        waiting = self._submit(cohorts(order, min(plan.width, self._share(order))), plan)
        try:
            while waiting:
                message, future = waiting.pop(0)
                if _fitted(future):
                    continue
                widest = max(len(cohort) for cohort in message)
                if widest == 1:
                    future.result()  # nothing is narrower than a single client: raises the error
                if widest <= plan.width:  # wider ones were on their way when others had failed already
                    plan = replace(plan, width=-(-widest // 2))
                    log.warning("out of memory with %d clients at once: continuing with %d", widest, plan.width)
                narrower = [part for cohort in message for part in cohorts(cohort, plan.width)]
                waiting += self._submit(narrower, plan)
        finally:
            for _, future in waiting:  # of a round that has failed or was interrupted
                future.cancel()
        return plan

    def check_finite(self, where: str | None) -> None:
        """Check that all losses and uploads are finite; raise a `DivergedError` with the round `where` if not.

        Raises:
            DivergedError: a loss or an upload of a device is not finite.
        """
        good = torch.isfinite(self.outcome["losses"])
        for vector in self.uploads.values():
            # one pass over the data: a single number that is not finite spoils the sum of its vector
            good &= torch.isfinite(vector.flatten(1).sum(dim=1))
        if bool(good.all()):
            return
        job = self.jobs[int((~good).nonzero()[0])]
        where = where or f"round {job.index + 1}"
        raise DivergedError(
            f"{where}: device {job.device}: local training diverged (NaN or infinite)",
            "the likely cause is a learning rate that is too high: lower training.lr or set training.clip_norm",
        )

    def _share(self, order: Rows) -> int:
        """Return the largest number of clients in a cohort, so that each of several GPUs gets its share.

        On CPUs cohorts must not depend on the number of workers, as results would, too, by rounding.
        """
        if self.jobs[0].start.device.type == "cpu":
            return len(order)
        return -(-len(order) // len(self._workers))

    def _submit(self, parts: list[Rows], plan: Plan) -> list[tuple[Message, Future[None]]]:
        """Send cohorts to the workers in a few messages, dealt out like cards, so that each has long and short ones."""
        # A round of large models in two messages would not fit: it would be pickled, and copied again and again.
        models_bytes = sum(len(cohort) for cohort in parts) * self.jobs[0].start.nbytes
        count = max(self._messages * len(self._workers), -(-models_bytes // MESSAGE_BYTES))
        count = min(len(parts), count)
        messages = [parts[first::count] for first in range(count)]
        return [(message, self._send(message, plan)) for message in messages]

    def _send(self, message: Message, plan: Plan) -> Future[None]:
        rows = np.concatenate(message)
        keys = [[self._key(row) for row in cohort] for cohort in message]

        # called when a worker is free: the inputs of all messages together might not fit into the memory
        def arguments() -> tuple[Plan, list[list[JobKey]], ClientInputs]:
            return plan, keys, self._inputs(rows)

        def take(trained: Trained) -> None:
            self._take(rows, trained)

        return self._workers.submit("train", arguments, take)

    def _key(self, row: int) -> JobKey:
        job = self.jobs[row]
        return JobKey(job.device, job.index, job.samples)

    def _inputs(self, rows: Rows) -> ClientInputs:
        jobs = [self.jobs[row] for row in rows]
        start = stacked([job.start for job in jobs])
        return ClientInputs(
            start=start,
            received={name: stacked([job.received[name] for job in jobs]) for name in jobs[0].received},
            state=self._state(rows),
            statistics=stacked([job.statistics for job in jobs]),
            lr=rounded_rates([job.own_lr for job in jobs], start.dtype),
            run=self._run,
        )

    def _state(self, rows: Rows) -> dict[str, Tensor]:
        if self._store is None:
            return {}
        with self._lock:
            return self._store.gather(self._ids[rows])

    def _take(self, rows: Rows, trained: Trained) -> None:
        with self._lock:
            for name, part in trained.uploads.items():
                self._put(self.uploads, name, rows, part)
            self._put(self.outcome, "losses", rows, trained.losses)
            self._put(self.outcome, "statistics", rows, trained.statistics)
            # last: if memory has run out above, the clients will start again from the states that are still here
            if self._store is not None:
                self._store.scatter(self._ids[rows], trained.state)

    def _put(self, table: dict[str, Tensor], name: str, rows: Rows, part: Tensor) -> None:
        device = self.jobs[0].start.device
        if name not in table:  # only the first result says which sizes and types the algorithm's uploads have
            table[name] = torch.empty((len(self.jobs), *part.shape[1:]), dtype=part.dtype, device=device)
        table[name].index_copy_(0, torch.from_numpy(rows).to(device), part.to(device))


def _fitted(future: Future[None]) -> bool:
    """Wait; return False if memory ran out."""
    try:
        future.result()
    except (RuntimeError, MemoryError) as error:
        if not is_out_of_memory(error):
            raise
        return False
    return True


def cohorts(order: Rows, width: int) -> list[Rows]:
    """Divide jobs into cohorts of at most `width`, of nearly equal sizes, whatever the number of workers."""
    return np.array_split(order, -(-len(order) // width))
