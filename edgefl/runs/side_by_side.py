"""Calls side by side in forked processes, which have all that this process has in memory."""

from __future__ import annotations

import multiprocessing
import signal
import sys
from collections.abc import Callable, Iterator
from typing import Any

from edgefl.core.machine import cores

LEAST_S = 1.0  # calls that take less in all are not worth a second process

_calls: list[Callable[[int], Any]] = []  # in a forked process: what it is to call


def processes(wanted: int | None, calls: int, call_s: float) -> int:
    """Return how many processes are worth their start for a number of calls; 1: this process makes them itself.

    Args:
        wanted: at most so many; None: one for each core.
        calls: how many calls there are.
        call_s: how long one takes [s of wall-clock].
    """
    # torch's threads do not survive a fork, and a process of a pool must not have processes of its own.
    cannot_fork = "torch" in sys.modules or multiprocessing.current_process().daemon
    if cannot_fork or "fork" not in multiprocessing.get_all_start_methods():
        return 1
    if calls * call_s < LEAST_S:
        return 1
    return max(1, min(wanted or cores(), calls))


def each(call: Callable[[int], Any], count: int, workers: int) -> Iterator[Any]:
    """Yield `call(0)`, `call(1)`, ... in this order, computed by a number of processes.

    Args:
        call: returns something that can be sent between processes; it need not be sendable itself.
        count: how many calls there are.
        workers: how many processes; 1: this one.
    """
    if workers == 1:
        yield from map(call, range(count))
        return
    context = multiprocessing.get_context("fork")
    with context.Pool(workers, initializer=_begin, initargs=(call,)) as pool:
        yield from pool.imap(_call, range(count))


def _begin(call: Callable[[int], Any]) -> None:
    """Prepare a forked process; the parent alone answers to Ctrl-C, and ends its processes."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    _calls.append(call)


def _call(number: int) -> Any:
    return _calls[0](number)
