"""Forks this process, which has imported edgefl, for the processes of a sweep: a new one would import it for seconds.

Not for tests of how such processes start, or end with their parent.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from multiprocessing.connection import Connection
from multiprocessing.context import ForkContext, ForkProcess
from typing import Any
from unittest.mock import patch

from edgefl.runs.pool import Pool


def forked_pools() -> Any:
    """Return a patch that lasts while it is entered or started."""
    usual = Pool.__init__

    def begin(pool: Pool, *arguments: Any, **options: Any) -> None:
        usual(pool, *arguments, **options)
        pool._context = _Forks()

    return patch.object(Pool, "__init__", begin)


class _Forks(ForkContext):
    """Makes the processes of one pool."""

    def __init__(self) -> None:
        self._ours: list[Connection] = []

    def Pipe(self) -> tuple[Connection, Connection]:  # noqa: N802 - a name of Python's
        ours, theirs = super().Pipe()
        self._ours.append(ours)
        return ours, theirs

    def Process(self, target: Callable[..., None], args: tuple[Any, ...]) -> ForkProcess:  # noqa: N802 - the same
        return ForkProcess(target=self._run, args=(target, args))

    def _run(self, target: Callable[..., None], arguments: tuple[Any, ...]) -> None:
        for end in self._ours:
            end.close()  # or this process would not notice that the sweep has closed it
        torch = sys.modules.get("torch")
        if torch is not None:
            torch.set_num_threads(1)  # threads of OpenMP that the sweep has started are not here
        target(*arguments)
