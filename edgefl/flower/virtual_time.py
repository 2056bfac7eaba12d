"""The app's clock: `time.sleep`, `time.time` and `time.monotonic` follow virtual time while a ServerApp runs."""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from unittest.mock import patch

from flwr.serverapp.strategy import strategy_utils

EPOCH_S = 946_684_800.0  # virtual time 0 is midnight of 2000-01-01 UTC, so that an app's dates are plausible


class AppClock:
    """Gives the ServerApp virtual time, and all other code, such as ClientApps, the time of this machine.

    Otherwise a ServerApp that sleeps, or waits until `time.time()` has passed a limit, would wait in real time while
    its virtual clock stood still.
    """

    def __init__(self) -> None:
        self.now_s: Callable[[], float] = lambda: 0.0  # virtual time, once the emulation has begun
        self.pass_s: Callable[[float], None] = lambda _seconds: None  # lets virtual time pass
        self._real_sleep = time.sleep
        self._real_time = time.time
        self._real_monotonic = time.monotonic
        self._thread = threading.get_ident()
        self._real_blocks = 0  # depth of blocks that have this machine's time

    @contextmanager
    def real(self) -> Iterator[None]:
        """Give this machine's time to a block, such as a ClientApp's."""
        self._real_blocks += 1
        try:
            yield
        finally:
            self._real_blocks -= 1

    @contextmanager
    def installed(self) -> Iterator[None]:
        """Replace the functions of `time`, also for modules that import them by name within the block."""
        clock = patch.multiple(time, sleep=self._sleep, time=self._time, monotonic=self._monotonic)
        # Strategies wait for nodes with a `sleep` that they have imported before.
        with clock, patch.object(strategy_utils, "sleep", self._sleep):
            yield

    @property
    def _is_virtual(self) -> bool:
        return not self._real_blocks and threading.get_ident() == self._thread

    def _sleep(self, seconds: float) -> None:
        if self._is_virtual and seconds > 0:
            self.pass_s(seconds)
        else:
            self._real_sleep(seconds)  # which also refuses a negative time and NaN

    def _time(self) -> float:
        return EPOCH_S + self.now_s() if self._is_virtual else self._real_time()

    def _monotonic(self) -> float:
        return self.now_s() if self._is_virtual else self._real_monotonic()
