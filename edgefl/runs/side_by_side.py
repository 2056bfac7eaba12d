"""Calls side by side in forked processes, which share this process's memory."""

import multiprocessing
import signal
import sys
from collections.abc import Callable, Iterator
from typing import Any

from edgefl.core.machine import cores

LEAST_S = 1.0  # of all calls, below which a second process does not pay

_calls: list[Callable[[int], Any]] = []  # in a forked process: the function


def processes(wanted: int | None, calls: int, call_s: float) -> int:
    """Return how many processes pay for a number of calls of `call_s` seconds; 1: this process makes the calls.

    The upper bound is `wanted`; None: one for each core.
    """
    # torch's threads do not survive a fork, and a pool's process must not have child processes.
    cannot_fork = "torch" in sys.modules or multiprocessing.current_process().daemon
    if cannot_fork or "fork" not in multiprocessing.get_all_start_methods():
        return 1
    if calls * call_s < LEAST_S:
        return 1
    return max(1, min(wanted or cores(), calls))


def each(call: Callable[[int], Any], count: int, workers: int) -> Iterator[Any]:
    """Yield `call(0)`, `call(1)`, ... in this order, computed by several processes; one worker is this process.

    What `call` returns must be sendable between processes; the function need not be.
    """
    if workers == 1:
        yield from map(call, range(count))
        return
    context = multiprocessing.get_context("fork")
    with context.Pool(workers, initializer=_begin, initargs=(call,)) as pool:
        yield from pool.imap(_call, range(count))


def _begin(call: Callable[[int], Any]) -> None:
    """Prepare a forked process; only the parent handles Ctrl-C, and ends its processes."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    _calls.append(call)


def _call(number: int) -> Any:
    return _calls[0](number)
