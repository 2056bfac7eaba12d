"""Compiles loops by numba, and logs when it does: the first run after an installation takes seconds longer.

Imported only if numba is installed.
"""

import logging
from collections.abc import Callable
from typing import Any

from numba import njit
from numba.core import event

log = logging.getLogger(__name__)


class _Listener(event.Listener):
    """Logs once a process that a loop is compiled; reading one from the cache does not count."""

    def __init__(self) -> None:
        self._said = False

    def on_start(self, event: Any) -> None:
        """See numba."""
        module = event.data["dispatcher"].py_func.__module__
        if module.startswith("channel.") and not self._said:
            self._said = True
            log.info("compiling the loops of the radio channel, once after an installation: this takes some seconds")

    def on_end(self, event: Any) -> None:
        """See numba."""


event.register("numba:compile", _Listener())  # type: ignore[no-untyped-call]


def compiled(function: Callable[..., Any], types: str | None = None) -> Callable[..., Any]:
    """Return a function compiled by numba, from its cache on disk if it was compiled before.

    With `types`, a signature of numba, it is compiled now, and for no other types.
    """
    # Python's error model would check every division; the loops never divide by zero.
    kernel: Callable[..., Any] = njit(types, cache=True, error_model="numpy")(function)
    return kernel
