"""The workers of local training on the machines of a Ray cluster: a process for each of their processors.

What a call returns depends only on its arguments. If a machine is lost, its calls begin again on another one, and
results have the same bytes.
"""

import logging
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack
from importlib.metadata import version
from queue import Empty, SimpleQueue
from threading import Lock
from typing import Any

import torch

from edgefl.core.errors import InputError, RunError
from edgefl.core.machine import one_numpy_thread, processor
from edgefl.core.version import edgefl_version
from edgefl.learning.learner.calls import CallResult
from edgefl.learning.learner.task import LearningTask
from edgefl.learning.learner.workers.malloc import keep_memory
from edgefl.learning.learner.workers.parcels import Parcel, Parcels
from edgefl.learning.learner.workers.serving import reply
from edgefl.learning.learner.workers.setup import trainer_on_cpu

log = logging.getLogger("edgefl")

MOST_WORKERS = 4096  # threads that wait for workers; they are started as they are needed
LOOK_EVERY_S = 1.0  # how often to look for machines that have joined
BEGIN_S = 120.0  # how long a process may take to begin, which imports torch
PATIENCE_S = 300.0  # how long to wait for a machine when all are lost
VERSIONS = ("edgefl", "torch", "numpy")  # on which the bytes of results depend


class LostError(Exception):
    """The machine or the process of a worker is gone."""


class ClusterTrainer:
    """Trains and tests in a process on one of the machines."""

    def __init__(self, task: LearningTask) -> None:
        keep_memory()
        torch.set_num_threads(1)
        self._threads = ExitStack()  # as long as this process lives
        self._threads.enter_context(one_numpy_thread())
        self._trainer = trainer_on_cpu(task)

    def facts(self) -> dict[str, str]:
        """Return the facts on which the bytes of results depend: versions, and the type of the processor."""
        return facts()

    def call(self, rest: bytes, *tensors: Any) -> tuple[Any, ...]:
        """Return the parcel of the reply to a call; see `reply`."""
        parcels = Parcels()
        answer = reply(Parcel(rest, list(tensors)), self._trainer, parcels, parcels)
        return (answer.rest, *answer.tensors)


class ClusterWorker:
    """Runs calls in a process on one of the machines; `task` is Ray's reference to the task. See `Worker`."""

    def __init__(self, ray: Any, task: Any) -> None:
        self._ray = ray
        trainer = ray.remote(num_cpus=1, num_gpus=0)(ClusterTrainer)
        self._actor = trainer.remote(task)
        self._facts = self._actor.facts.remote()

    def begun(self, within_s: float = 0.0) -> bool:
        """Return whether the process has begun, when a machine has room; raises a LostError if it has ended."""
        ready, _ = self._ray.wait([self._facts], timeout=within_s)
        if ready:
            self._got(self._facts)
        return bool(ready)

    def facts(self) -> dict[str, str]:
        """Return the facts of the machine, see `ClusterTrainer.facts`; raises a LostError if the process has ended."""
        found: dict[str, str] = self._got(self._facts)
        return found

    def call(self, method: str, args: Sequence[Any], take: Callable[[Any], CallResult]) -> CallResult:
        """See Worker; raises a LostError if the machine or the process is gone."""
        parcels = Parcels()
        message = parcels.pack((method, args))
        rest, *tensors = self._got(self._actor.call.remote(message.rest, *message.tensors))
        done, result = parcels.unpack(Parcel(rest, tensors))
        if done:
            return take(result)
        raise result

    def _got(self, reference: Any) -> Any:
        try:
            return self._ray.get(reference)
        except self._ray.exceptions.RayTaskError as error:  # not one of edgefl's, which are replies
            raise RunError(f"--cluster: a machine's process failed: {str(error).strip().splitlines()[-1]}") from None
        except self._ray.exceptions.RayError as error:
            raise LostError(str(error).strip().partition("\n")[0]) from None

    def close(self) -> None:
        """See Worker."""
        self._ray.kill(self._actor)


class ClusterWorkers:
    """Runs calls on the machines of a cluster, in the background; see `Workers`.

    Each machine stores the samples once, and each processor has a worker. Machines that join later are used, too.

    Raises:
        InputError: the cluster has no processor to train on, or its machines would give other bytes.
    """

    def __init__(self, task: LearningTask, ray: Any) -> None:
        self._ray = ray
        self._task = ray.put(task)
        self._closed = False
        self._lock = Lock()  # for what follows
        self._waiting: list[ClusterWorker] = []  # workers that wait for a free processor
        self._working: list[ClusterWorker] = []
        self._looked_s = -LOOK_EVERY_S
        self._idle: SimpleQueue[ClusterWorker] = SimpleQueue()
        self._threads = ThreadPoolExecutor(MOST_WORKERS, "edgefl-cluster")
        self._facts = facts()
        self._processor: str | None = None  # of the workers; known from the first one on
        self._begin()

    def _begin(self) -> None:
        reason = "no processor is free: let a machine join it first"
        for _ in range(self._free_processors()):
            self._waiting.append(ClusterWorker(self._ray, self._task))
        for worker in list(self._waiting):
            try:
                if worker.begun(BEGIN_S):
                    self._check(worker.facts())
            except LostError as error:
                # Ray lists machines that have just been lost for some seconds more.
                reason = f"a process on one of the machines cannot begin: {error}"
                self._waiting.remove(worker)
        self._look_for_machines()
        if not self._working:
            raise InputError(f"--cluster: {reason}")

    def _free_processors(self) -> int:
        return int(self._ray.available_resources().get("CPU", 0))

    def _check(self, found: dict[str, str]) -> None:
        """Check that a machine gives the same bytes as the others, as any of them may train any device."""
        for name in VERSIONS:
            if found[name] != self._facts[name]:
                text = f"a machine has {name} {found[name]}, this one {self._facts[name]}, which may round differently"
                raise InputError(f"--cluster: {text}: install the same version on all")
        if self._processor is None:
            self._processor = found["processor"]
        if found["processor"] != self._processor:
            both = _differing_words(self._processor, found["processor"])
            raise InputError(
                f"--cluster: machines have processors that may round differently ({both}), so that results would "
                "depend on which of them is quicker: use machines of one type"
            )

    def __len__(self) -> int:
        return max(1, len(self._working))

    def submit(
        self, method: str, arguments: Callable[[], Sequence[Any]], take: Callable[[Any], CallResult]
    ) -> Future[CallResult]:
        """See Workers."""
        self._look_for_machines()
        return self._threads.submit(self._call, method, arguments, take)

    def _call(
        self, method: str, arguments: Callable[[], Sequence[Any]], take: Callable[[Any], CallResult]
    ) -> CallResult:
        while True:
            worker = self._next_idle()
            try:
                result = worker.call(method, arguments(), take)
            except LostError as error:
                self._replace(worker, error)  # its call begins again elsewhere
                continue
            except BaseException:
                self._idle.put(worker)
                raise
            self._idle.put(worker)
            return result

    def _next_idle(self) -> ClusterWorker:
        give_up_s = time.monotonic() + PATIENCE_S
        while True:
            try:
                return self._idle.get(timeout=LOOK_EVERY_S)
            except Empty:
                self._look_for_machines()
            if self._closed:
                raise RunError("--cluster: the run has ended")
            if self._working:
                give_up_s = time.monotonic() + PATIENCE_S
            if time.monotonic() > give_up_s:
                raise RunError("--cluster: all machines are lost: let one join, and continue with --resume")

    def _replace(self, lost: ClusterWorker, error: LostError) -> None:
        """Queue another process instead of a lost one; it begins when a machine has room for it."""
        with self._lock:
            if self._closed or lost not in self._working:
                return
            self._working.remove(lost)
            log.warning("a worker of the cluster is lost, and its part of the round begins again elsewhere: %s", error)
            self._waiting.append(ClusterWorker(self._ray, self._task))

    def _look_for_machines(self) -> None:
        """Use the workers that have begun, and queue more if machines have joined."""
        with self._lock:
            if self._closed or time.monotonic() < self._looked_s + LOOK_EVERY_S:
                return
            self._looked_s = time.monotonic()
            room = self._free_processors() - len(self._waiting)
            self._waiting += [ClusterWorker(self._ray, self._task) for _ in range(room)]
            for worker in list(self._waiting):
                self._try_to_use(worker)

    def _try_to_use(self, worker: ClusterWorker) -> None:
        try:
            if not worker.begun():
                return
            self._check(worker.facts())
        except LostError:
            self._waiting.remove(worker)
            return
        except InputError as error:
            self._waiting.remove(worker)
            worker.close()
            log.warning("%s; it is not used", error)
            return
        self._waiting.remove(worker)
        self._working.append(worker)
        self._idle.put(worker)

    def close(self) -> None:
        """See Workers."""
        with self._lock:
            self._closed = True
            workers = [*self._working, *self._waiting]
        self._threads.shutdown(cancel_futures=True, wait=False)
        for worker in workers:
            worker.close()


def _differing_words(one: str, other: str) -> str:
    own = [word for word in one.split() if word not in other.split()]
    others = [word for word in other.split() if word not in one.split()]
    return f"{' '.join(own) or 'nothing more'} and {' '.join(others) or 'nothing more'}"


def facts() -> dict[str, str]:
    """Return the facts of this machine on which the bytes of results depend: versions, and its processor."""
    return {
        "edgefl": edgefl_version(),
        "torch": version("torch"),
        "numpy": version("numpy"),
        "processor": " ".join(processor().values()),
    }
