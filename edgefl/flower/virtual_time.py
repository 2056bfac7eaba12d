"""The app's clock: `time.sleep`, `time.time` and `time.monotonic` go by virtual time while a ServerApp runs."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from flwr.serverapp.strategy import strategy_utils

EPOCH_S = 946_684_800.0  # virtual time 0 is midnight of 2000-01-01 UTC, so that an app's dates are plausible


class AppClock:
    """Gives the ServerApp virtual time, and everybody else, ClientApps among them, that of this machine.

    A ServerApp that polls its grid and sleeps in between, or waits until `time.time()` has passed a limit, would wait
    for real otherwise, and its virtual clock would stand still.
    """

    def __init__(self) -> None:
        self.now_s: Callable[[], float] = lambda: 0.0  # virtual time, once the emulation has begun
        self.pass_s: Callable[[float], None] = lambda _seconds: None  # lets virtual time pass
        self._real = (time.sleep, time.time, time.monotonic)
        self._thread = threading.get_ident()
        self._is_real = 0  # depth of blocks that have this machine's time

    @contextmanager
    def real(self) -> Iterator[None]:
        """Give this machine's time to a block, such as a ClientApp's."""
        self._is_real += 1
        try:
            yield
        finally:
            self._is_real -= 1

    @contextmanager
    def installed(self) -> Iterator[None]:
        """Replace the functions of `time`, also for modules that import them by name within the block."""
        patched: list[tuple[Any, str, Callable[..., Any], Callable[..., Any]]] = [
            (time, "sleep", self._real[0], self._sleep),
            (time, "time", self._real[1], self._time),
            (time, "monotonic", self._real[2], self._monotonic),
            (strategy_utils, "sleep", self._real[0], self._sleep),  # waits there for nodes to connect
        ]
        for holder, name, _, virtual in patched:
            setattr(holder, name, virtual)
        try:
            yield
        finally:
            for holder, name, real, _ in patched:
                setattr(holder, name, real)

    @property
    def _is_virtual(self) -> bool:
        return not self._is_real and threading.get_ident() == self._thread

    def _sleep(self, seconds: float) -> None:
        if not self._is_virtual:
            self._real[0](seconds)
        elif seconds > 0:
            self.pass_s(seconds)
        else:
            self._real[0](seconds)  # which knows what to say of a negative time, or of NaN

    def _time(self) -> float:
        if self._is_virtual:
            return EPOCH_S + self.now_s()
        return self._real[1]()

    def _monotonic(self) -> float:
        if self._is_virtual:
            return self.now_s()
        return self._real[2]()
