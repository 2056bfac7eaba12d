"""Worker threads for local training on CPUs: one single-threaded worker a core.

Clients are independent, so cores are better used by training different clients than by splitting one client's small
matrix products; and as every product is computed by one thread, results do not depend on the number of workers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import TypeVar

import torch

A = TypeVar("A")
B = TypeVar("B")


class Workers:
    """Maps a function over chunks of work, in order: on threads for a CPU, inline for a GPU (which is parallel itself).

    Args:
        device: the training device.
        count: number of threads; torch's own number where not given (cores, or OMP_NUM_THREADS).
    """

    def __init__(self, device: str, count: int | None = None) -> None:
        self.count = (count or torch.get_num_threads()) if device == "cpu" else 1
        self._pool = ThreadPoolExecutor(self.count, "edgefl-worker") if self.count > 1 else None

    def map(self, function: Callable[[A], B], items: Iterable[A]) -> list[B]:
        """The results in the order of the items; the first exception is raised."""
        if self._pool is None:
            return [function(item) for item in items]
        return list(self._pool.map(function, items))

    def close(self) -> None:
        """Let the threads go; work that has not begun is dropped."""
        if self._pool is not None:
            self._pool.shutdown(cancel_futures=True)


@contextmanager
def one_thread_each() -> Iterator[None]:
    """Within, torch computes every operation in the thread that asks for it."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)
