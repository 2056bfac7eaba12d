"""Worker pools run tasks beside each other: in processes of this machine (`pool`), or on a cluster (`cluster`)."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple, Protocol

from edgefl.core.errors import Taken

RELEASE_S = 300.0  # within which the processes of a lost machine let go of their files
LOOK_EVERY_S = 0.5


class Died(Exception):  # noqa: N818 - the name says what happened
    """The process of a task ended without an answer."""


class Answer(NamedTuple):
    """The outcome of a task."""

    number: int
    value: Any  # an exception if the task failed


class WorkerPool(Protocol):
    """Processes or machines that run tasks, each of which ends with one answer."""

    @property
    def room(self) -> bool:
        """True if another task can begin now."""

    @property
    def busy(self) -> bool:
        """True if any task is under way."""

    def begin(self, number: int, task: Any) -> None:
        """Begin a task; there must be room."""

    def answers(self) -> Iterator[Answer]:
        """Wait until at least one task ends, and return the answers of all that have ended."""

    def close(self) -> None:
        """End what is under way as an interrupt would."""


def answered(work: Callable[[Any], Any], task: Any) -> Any:
    """Return what `work` makes of a task, or the exception that it raises.

    A process that was lost may hold the task's folder for a while, until its machine notices; that is waited for.
    """
    give_up_s = time.monotonic() + RELEASE_S
    while True:
        try:
            return work(task)
        except Taken as error:
            if time.monotonic() > give_up_s:
                return error
        except Exception as error:  # noqa: BLE001 - whoever asked decides what to make of it
            return error
        time.sleep(LOOK_EVERY_S)
