"""Worker pools run tasks side by side: in processes of this machine (`pool`), or on a cluster (`cluster`)."""

import time
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple, Protocol

from edgefl.core.errors import Taken

RELEASE_S = 300.0  # the longest that the processes of a lost machine may keep their files locked
POLL_EVERY_S = 0.5


class Died(Exception):  # noqa: N818 - the name says what happened
    """The process of a task ended without an answer."""


class Answer(NamedTuple):
    """The outcome of a task."""

    number: int  # as given to `begin`
    value: Any  # an exception if the task failed


class WorkerPool(Protocol):
    """Processes or machines that run tasks; each task ends with one answer."""

    @property
    def room(self) -> bool:
        """Whether another task can begin now."""

    @property
    def busy(self) -> bool:
        """Whether any task is under way."""

    def begin(self, number: int, task: Any) -> None:
        """Begin a task; there must be room."""

    def answers(self) -> Iterator[Answer]:
        """Wait until at least one task ends, and return the answers of all that have ended."""

    def close(self) -> None:
        """End running tasks as an interrupt would."""


def answered(work: Callable[[Any], Any], task: Any) -> Any:
    """Return the result of `work` for a task, or the exception that it raises.

    A locked folder is tried again for some minutes, as an earlier attempt on a lost machine may still hold the lock.
    """
    give_up_s = time.monotonic() + RELEASE_S
    while True:
        try:
            return work(task)
        except Taken as error:
            if time.monotonic() > give_up_s:
                return error
        except Exception as error:  # noqa: BLE001 - the caller handles it
            return error
        time.sleep(POLL_EVERY_S)
