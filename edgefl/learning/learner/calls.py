"""Calls of workers in the background, on this machine or on a cluster."""

from collections.abc import Callable, Sequence
from concurrent.futures import Future
from typing import Any, Protocol, TypeVar

CallResult = TypeVar("CallResult")


class Worker(Protocol):
    """Something that runs one call after another."""

    def call(self, method: str, args: Sequence[Any], take: Callable[[Any], CallResult]) -> CallResult:
        """Return what `take` makes of the method's result, whose tensors the next call may overwrite."""

    def hang_up(self) -> None:
        """Tell it to end, without waiting."""

    def close(self) -> None:
        """Wait for its end."""


class Workers(Protocol):
    """Workers that run calls in the background."""

    def __len__(self) -> int:
        """Return how many calls can run at once."""

    def submit(
        self, method: str, arguments: Callable[[], Sequence[Any]], take: Callable[[Any], CallResult]
    ) -> Future[CallResult]:
        """Have the first free worker call a method of its handler; return what `take` makes of the result.

        A thread runs `arguments`, which makes the method's arguments, when a worker is free, and `take` afterwards.
        """

    def close(self) -> None:
        """End the workers; calls that have not begun are dropped."""


def as_is(value: CallResult) -> CallResult:
    """Return the value, for `submit`: known arguments, or a result that needs no copy."""
    return value
