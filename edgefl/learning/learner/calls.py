"""Calls of workers, which run in the background: of this machine's processes, or of a cluster's."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import Future
from typing import Any, Protocol, TypeVar

CallResult = TypeVar("CallResult")


class Worker(Protocol):
    """Something that runs one call after another."""

    def call(self, method: str, args: Sequence[Any], take: Callable[[Any], CallResult]) -> CallResult:
        """Return what `take` makes of the method's result, whose tensors may be overwritten by the next call."""

    def hang_up(self) -> None:
        """Let it end, without waiting."""

    def close(self) -> None:
        """Wait for its end."""


class Workers(Protocol):
    """Workers that run calls in the background: of this machine, or of a cluster."""

    def __len__(self) -> int:
        """Return how many calls can run at once."""

    def submit(
        self, method: str, arguments: Callable[[], Sequence[Any]], take: Callable[[Any], CallResult]
    ) -> Future[CallResult]:
        """Have a method called by the first worker that is free.

        Args:
            method: name of the handler's method.
            arguments: makes the method's arguments, in a thread, when a worker is free.
            take: gets the method's result, in a thread; what it returns is the future's result.
        """

    def close(self) -> None:
        """End the workers; calls that have not begun are dropped."""


def as_is(value: CallResult) -> CallResult:
    """Return the value, for `submit`: arguments that are known already, or a result that needs no copy."""
    return value
