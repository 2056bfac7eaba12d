"""The workers of local training: a single-threaded process on each CPU core, or a thread for each GPU.

Clients are independent, so training different clients uses cores better than splitting one client's small matrix
products. Threads would wait for the interpreter's lock between two small products. One thread computes each product, so
results do not depend on the number of workers.
"""

import logging
import multiprocessing
import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from queue import SimpleQueue
from typing import Any

import torch

from edgefl.learning.learner.calls import CallResult, Worker
from edgefl.learning.learner.workers.fork_trial import gradients_survive_fork
from edgefl.learning.learner.workers.gpu import on_device
from edgefl.learning.learner.workers.malloc import keep_memory
from edgefl.learning.learner.workers.worker_processes import ForkedWorker

log = logging.getLogger("edgefl")


class InlineWorker:
    """Runs calls in this process: for GPUs, which are parallel themselves, and for systems without fork."""

    def __init__(self, handler: object, device: str = "cpu") -> None:
        self.handler = handler
        self._device = torch.device(device)

    def call(self, method: str, args: Sequence[Any], take: Callable[[Any], CallResult]) -> CallResult:
        """See Worker."""
        with on_device(self._device):
            return take(getattr(self.handler, method)(*args))

    def hang_up(self) -> None:
        """Do nothing: there is no process to end."""

    def close(self) -> None:
        """Do nothing: there is no process to end."""


class TrainingWorkers:
    """Runs calls on workers of this machine, in the background; see `Workers`.

    There is a handler for each of torch's `devices`, or one that all processes share; without processes it runs in this
    one.
    """

    def __init__(self, handlers: Sequence[object], processes: int, *, devices: Sequence[str] | None = None) -> None:
        self._workers: list[Worker] = []
        if processes:
            self._workers += _in_processes(handlers[0], processes)
        else:
            places = devices or ["cpu"] * len(handlers)
            self._workers += [InlineWorker(*each) for each in zip(handlers, places, strict=True)]
        self._idle: SimpleQueue[Worker] = SimpleQueue()
        for worker in self._workers:
            self._idle.put(worker)
        # A thread for each worker only packs, waits for the worker and unpacks. More threads of torch would wait on
        # the cores that the workers need.
        self._threads = ThreadPoolExecutor(len(self._workers), "edgefl-worker", torch.set_num_threads, (1,))

    def __len__(self) -> int:
        return len(self._workers)

    def submit(
        self, method: str, arguments: Callable[[], Sequence[Any]], take: Callable[[Any], CallResult]
    ) -> Future[CallResult]:
        """See Workers."""
        return self._threads.submit(self._call, method, arguments, take)

    def _call(
        self, method: str, arguments: Callable[[], Sequence[Any]], take: Callable[[Any], CallResult]
    ) -> CallResult:
        worker = self._idle.get()
        try:
            return worker.call(method, arguments(), take)
        finally:
            self._idle.put(worker)

    def close(self) -> None:
        """See Workers."""
        self._threads.shutdown(cancel_futures=True, wait=False)
        for worker in self._workers:  # all at once: the end of a process takes long
            worker.hang_up()
        for worker in self._workers:
            worker.close()


def cores() -> int:
    """Return the number of worker processes for the CPU: torch's number of threads (cores, or OMP_NUM_THREADS)."""
    # a daemonic process may have no children: it trains in its own process
    if not hasattr(os, "fork") or multiprocessing.current_process().daemon:
        return 0
    return torch.get_num_threads()


def _in_processes(handler: object, count: int) -> list[Worker]:
    """Return workers in forked processes; where torch would refuse gradients there, this process is the only one."""
    if gradients_survive_fork():
        return [ForkedWorker(handler) for _ in range(count)]
    log.warning(
        "training uses a single process: this program has used a GPU, or torch's exporters or compilers, after which "
        "torch computes no gradients in forked processes. Results are the same, and take longer; a new program uses all"
    )
    keep_memory()  # this process trains, after all
    return [InlineWorker(handler)]


@contextmanager
def one_thread_each() -> Iterator[None]:
    """Let torch compute every operation in the calling thread, as long as the context lasts."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)
