"""A worker pool on this machine: processes that run one task after another; one that dies loses only its task."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from typing import Any

from edgefl.core.machine import available_bytes
from edgefl.runs.workers import LOOK_EVERY_S, Answer, Died, answered

HEADROOM = 1.2  # memory that another process needs, over what the largest has taken
EXIT_S = 10.0  # within which a process ends by itself before it is killed


class Pool:
    """At most so many processes at once, and no more than the memory has room for; see `WorkerPool`.

    Args:
        work: called with each task, in a process; must be importable from there.
        count: processes.
        settings: environment variables of each process, by its number from 0.
    """

    def __init__(self, work: Callable[[Any], Any], count: int, settings: Callable[[int], dict[str, str]]) -> None:
        self._work = work
        self._count = count
        self._settings = settings
        # A forked process would share torch's thread pools and CUDA contexts with this one, which neither survives.
        self._context = multiprocessing.get_context("spawn")
        self._idle: list[_Process] = []
        self._busy: dict[Connection, _Process] = {}
        self._most_bytes = 0  # that any process has taken

    @property
    def room(self) -> bool:
        """True if another task can begin now."""
        if self._idle:
            return True
        if len(self._busy) >= self._count:
            return False
        # The first process always begins: nobody knows yet how much it takes.
        return not self._busy or available_bytes() > HEADROOM * self._most_bytes

    @property
    def busy(self) -> bool:
        """True if any task is under way."""
        return bool(self._busy)

    def begin(self, number: int, task: Any) -> None:
        """Begin a task; there must be room."""
        while True:
            if self._idle:
                process = self._idle.pop()
            else:
                process = self._started()
            try:
                process.connection.send(task)
                break
            except OSError:  # it was killed while it was idle
                process.end()
        process.number = number
        self._busy[process.connection] = process

    def _started(self) -> _Process:
        used = {process.slot for process in (*self._busy.values(), *self._idle)}
        slot = next(number for number in range(self._count) if number not in used)
        ours, theirs = self._context.Pipe()
        process = self._context.Process(target=_serve, args=(theirs, self._work, self._settings(slot)))
        process.start()
        theirs.close()  # so that our end sees it when the process dies
        return _Process(process, ours, slot)

    def answers(self) -> Iterator[Answer]:
        """Wait until at least one task ends, and return the answers of all that have ended."""
        for connection in wait(list(self._busy)):
            assert isinstance(connection, Connection)  # noqa: S101 - one of our own
            process = self._busy.pop(connection)
            try:
                value, taken_bytes = connection.recv()
                self._most_bytes = max(self._most_bytes, taken_bytes)
                self._idle.append(process)
            except (EOFError, OSError):
                value = Died(process.cause_of_death())
            yield Answer(process.number, value)

    def close(self) -> None:
        """End all processes; those that are at work end their task as an interrupt would."""
        for process in (*self._busy.values(), *self._idle):
            process.end()
        self._busy = {}
        self._idle = []


@dataclass
class _Process:
    """A process, and the task that it runs or ran last."""

    process: Any
    connection: Connection
    slot: int  # among the processes of the pool, from 0: decides on its cores and its GPU
    number: int = -1

    def cause_of_death(self) -> str:
        self.process.join()
        code = self.process.exitcode
        if code is not None and code < 0:
            hint = ""
            if -code == signal.SIGKILL:  # the signal of a system that has run out of memory
                hint = "; was the memory too small?"
            return f"its process was killed by {signal.Signals(-code).name}{hint}"
        return f"its process ended with exit code {code}"

    def end(self) -> None:
        self.connection.close()  # which ends a process that waits for a task
        self.process.join(EXIT_S)
        if self.process.is_alive():
            self.process.kill()
            self.process.join()


def _serve(connection: Connection, work: Callable[[Any], Any], settings: dict[str, str]) -> None:
    """Run tasks until the parent closes the connection or dies."""
    os.environ.update(settings)  # before torch is imported, which reads them once
    import resource

    threading.Thread(target=_end_with_parent, args=(os.getppid(),), daemon=True).start()
    with suppress(EOFError, KeyboardInterrupt, BrokenPipeError):
        while True:
            value = answered(work, connection.recv())
            usages = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
            taken_kb = sum(usage.ru_maxrss for usage in usages)
            connection.send((value, taken_kb * 1024))


def _end_with_parent(parent: int) -> None:
    """End this process when its parent has been killed, or it would hold a folder that is to be resumed."""
    while os.getppid() == parent:
        time.sleep(LOOK_EVERY_S)
    os._exit(1)
