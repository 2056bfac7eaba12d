"""Processes that work off tasks one after another; one that dies takes nothing with it but its task."""

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
from typing import Any, NamedTuple

from edgefl.core.errors import Taken
from edgefl.core.machine import available_bytes

LET_GO_S = 300.0  # in which what is left of a lost process lets go of its files
LOOK_EVERY_S = 0.5
HEADROOM = 1.2  # of memory that a further process needs, over what the largest has taken


class Died(Exception):  # noqa: N818 - the name says what happened
    """The process of a task has ended without an answer."""


class Answer(NamedTuple):
    """What has become of a task."""

    number: int
    value: Any  # an exception where it failed


class Pool:
    """At most so many processes at once, and no more than the memory has room for.

    Args:
        work: called with each task, in a process; must be importable from there.
        count: processes.
        settings: environment variables of each process.
    """

    def __init__(self, work: Callable[[Any], Any], count: int, settings: Callable[[int], dict[str, str]]) -> None:
        self._work, self._count, self._settings = work, count, settings
        self._context = multiprocessing.get_context("spawn")
        self._idle: list[_Process] = []
        self._busy: dict[Connection, _Process] = {}
        self._most_bytes = 0  # that any process has taken

    @property
    def room(self) -> bool:
        """Whether another task can begin now."""
        if self._idle:
            return True
        if len(self._busy) >= self._count:
            return False
        return not self._busy or available_bytes() > HEADROOM * self._most_bytes

    def begin(self, number: int, task: Any) -> None:
        """Have a task worked off; there must be room."""
        process = self._idle.pop() if self._idle else self._started()
        try:
            process.connection.send(task)
        except OSError:  # it was killed while it waited
            process.end()
            return self.begin(number, task)
        process.number = number
        self._busy[process.connection] = process
        return None

    def _started(self) -> _Process:
        used = {process.place for process in (*self._busy.values(), *self._idle)}
        place = next(number for number in range(self._count) if number not in used)
        ours, theirs = self._context.Pipe()
        process = self._context.Process(target=_serve, args=(theirs, self._work, self._settings(place)))
        process.start()
        theirs.close()
        return _Process(process, ours, place)

    def answers(self) -> Iterator[Answer]:
        """Wait for the next tasks that end."""
        for connection in wait(list(self._busy)):
            assert isinstance(connection, Connection)  # noqa: S101 - of our own
            process = self._busy.pop(connection)
            try:
                value, taken_bytes = connection.recv()
                self._most_bytes = max(self._most_bytes, taken_bytes)
                self._idle.append(process)
            except (EOFError, OSError):
                value = Died(process.ended())
            yield Answer(process.number, value)

    @property
    def busy(self) -> bool:
        """Whether any task is under way."""
        return bool(self._busy)

    def close(self) -> None:
        """End all processes; those that are at work end their task as an interrupt would."""
        for process in (*self._busy.values(), *self._idle):
            process.end()
        self._busy, self._idle = {}, []


@dataclass
class _Process:
    """One of them."""

    process: Any
    connection: Connection
    place: int
    number: int = -1

    def ended(self) -> str:
        """Why it has."""
        self.process.join()
        code = self.process.exitcode
        if code is not None and code < 0:
            hint = "; was the memory too small?" if -code == signal.SIGKILL else ""
            return f"its process was killed by {signal.Signals(-code).name}{hint}"
        return f"its process ended with exit code {code}"

    def end(self) -> None:
        self.connection.close()
        self.process.join(10)
        if self.process.is_alive():
            self.process.kill()
            self.process.join()


def _serve(connection: Connection, work: Callable[[Any], Any], settings: dict[str, str]) -> None:
    """A process's life, which is no longer than its parent's."""
    os.environ.update(settings)
    import resource

    threading.Thread(target=_outlive_nobody, args=(os.getppid(),), daemon=True).start()
    with suppress(EOFError, KeyboardInterrupt, BrokenPipeError):
        while True:
            value = answered(work, connection.recv())
            taken = sum(resource.getrusage(who).ru_maxrss for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
            connection.send((value, taken * 1024))


def _outlive_nobody(parent: int) -> None:
    """End when the parent has been killed, lest a folder be held that is to be resumed."""
    while os.getppid() == parent:
        time.sleep(LOOK_EVERY_S)
    os._exit(1)


def answered(work: Callable[[Any], Any], task: Any) -> Any:
    """Work off a task; an exception is an answer, and what a process that was lost still holds is waited for."""
    until = time.monotonic() + LET_GO_S
    while True:
        try:
            return work(task)
        except Taken as error:
            if time.monotonic() > until:
                return error
        except Exception as error:  # noqa: BLE001 - the one who asked decides what to make of it
            return error
        time.sleep(LOOK_EVERY_S)
