"""Logs that numba compiles this package's loops, as the first run after an installation takes seconds longer.

Imported only if numba is installed.
"""

import logging
from typing import Any

from numba.core import event

log = logging.getLogger(__name__)


class _Listener(event.Listener):
    """Logs once a process that a loop is compiled; one that is read from the cache is no event."""

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
