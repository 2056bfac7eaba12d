"""A worker pool on this machine: processes that run tasks one after another; a dying one loses only its task."""

from __future__ import annotations

import gc
import multiprocessing
import os
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing import resource_tracker
from multiprocessing.connection import Connection, wait
from typing import Any

from edgefl.core import interrupts
from edgefl.core.machine import available_bytes, collect_rarely, peak_memory_bytes
from edgefl.runs.main_guard import EXIT_NO_GUARD, MissingGuardError, program_path
from edgefl.runs.workers import Answer, Died, answered

HEADROOM = 1.2  # free memory before another process is started, relative to the peak of any process
AHEAD_BYTES = 2**31  # free memory before a process without a task is started; with torch it needs 0.5 GB
EXIT_S = 10.0  # after which a process that should end is killed


class Pool:
    """Runs at most `count` processes together, and no more than fit into the memory; see `WorkerPool`.

    A process imports `work` and calls it with each task. With `reuse` it runs several tasks; `settings` returns its
    environment variables, given its number from 0.
    """

    def __init__(
        self, work: Callable[[Any], Any], count: int, settings: Callable[[int], dict[str, str]], *, reuse: bool = True
    ) -> None:
        self._work = work
        self._count = count
        self._settings = settings
        self._reuse = reuse
        # torch's thread pools and CUDA contexts do not survive a fork.
        self._context = multiprocessing.get_context("spawn")
        self._idle: list[_Process] = []
        self._busy: dict[Connection, _Process] = {}
        self._most_bytes = 0  # the peak memory of any process

    @property
    def room(self) -> bool:
        """Whether another task can begin now."""
        if self._idle:
            return True
        if len(self._busy) >= self._count:
            return False
        # The first process always begins, as the memory of a task is still unknown.
        return not self._busy or available_bytes() > HEADROOM * self._most_bytes

    @property
    def busy(self) -> bool:
        """Whether any task is under way."""
        return bool(self._busy)

    def begin(self, number: int, task: Any) -> None:
        """Begin a task; there must be room."""
        while True:
            process = self._idle.pop() if self._idle else self._started()
            try:
                process.connection.send(task)
                break
            except OSError:  # the idle process was killed
                process.end()
        process.number = number
        self._busy[process.connection] = process
        self._start_ahead()

    def _start_ahead(self) -> None:
        """Start a second process during the first task, so that it is ready when that ends."""
        is_first = len(self._busy) == 1 and not self._idle and not self._most_bytes
        if is_first and self._count > 1 and available_bytes() > AHEAD_BYTES:
            self._idle.append(self._started())

    def _started(self) -> _Process:
        used = {process.slot for process in (*self._busy.values(), *self._idle)}
        slot = next(number for number in range(self._count) if number not in used)
        ours, theirs = self._context.Pipe()
        process = self._context.Process(target=_serve, args=(theirs, self._work, self._settings(slot)))
        resource_tracker.ensure_running()  # otherwise `start` would do it, and unblock signals
        with interrupts.blocked():  # until the process can handle signals
            process.start()
        theirs.close()  # otherwise our end would not notice the end of the process
        return _Process(process, ours, slot)

    def answers(self) -> Iterator[Answer]:
        """Wait until at least one task ends, and return the answers of all that have ended."""
        for connection in wait(list(self._busy)):
            assert isinstance(connection, Connection)  # noqa: S101 - one of our own
            process = self._busy.pop(connection)
            try:
                value, taken_bytes = connection.recv()
                self._most_bytes = max(self._most_bytes, taken_bytes)
                if self._reuse:
                    self._idle.append(process)
                else:
                    process.end()
            except (EOFError, OSError):
                value = Died(process.cause_of_death())
                if process.process.exitcode == EXIT_NO_GUARD:
                    program = program_path()
                    raise MissingGuardError(program.name if program else "program") from None
            yield Answer(process.number, value)

    def close(self) -> None:
        """End all processes; busy ones end their task as an interrupt would."""
        for process in self._busy.values():
            process.process.terminate()  # all together, as each may take a while to write its results
        for process in self._idle:
            process.connection.close()
        for process in (*self._busy.values(), *self._idle):
            process.end()
        self._busy = {}
        self._idle = []


@dataclass
class _Process:
    """A process of the pool, with its current or last task."""

    process: Any
    connection: Connection
    slot: int  # its place in the pool, from 0, which sets its cores and its GPU
    number: int = -1  # of the task

    def cause_of_death(self) -> str:
        self.process.join()
        code = self.process.exitcode
        if code is not None and code < 0:
            hint = ""
            if -code == signal.SIGKILL:  # sent by a system without free memory
                hint = "; was there too little memory?"
            return f"its process was killed by {signal.Signals(-code).name}{hint}"
        return f"its process ended with exit code {code}"

    def end(self) -> None:
        self.connection.close()  # this ends a process that waits for a task
        self.process.join(EXIT_S)
        if self.process.is_alive():
            self.process.kill()
            self.process.join()


def _serve(connection: Connection, work: Callable[[Any], Any], settings: dict[str, str]) -> None:
    """Run tasks until the parent closes the connection or dies."""
    os.environ.update(settings)  # before torch is imported, which reads them once
    collect_rarely()
    threading.Thread(target=_end_with_parent, daemon=True).start()
    interrupts.listen()
    # OSError: the parent has closed the connection or ended.
    with suppress(EOFError, KeyboardInterrupt, OSError):
        interrupts.unblock()
        while True:
            value = answered(work, connection.recv())
            # The learner of a task may have worker processes, whose memory counts, too.
            connection.send((value, sum(peak_memory_bytes().values())))
    gc.freeze()  # a last collection would take a second with torch


def _end_with_parent() -> None:
    """End this process when its parent is killed; otherwise it would keep the lock of a folder."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        wait([parent.sentinel])
        os._exit(1)
