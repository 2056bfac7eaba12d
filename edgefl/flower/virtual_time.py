"""The app's clock: the functions of `time` follow virtual time where a ServerApp's own code or Flower's calls them."""

import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import cache
from pathlib import Path
from unittest.mock import patch

from flwr.serverapp.strategy import strategy_utils

EPOCH_S = 946_684_800.0  # virtual time 0 is midnight of 2000-01-01 UTC, so that an app's dates are plausible
NS_PER_S = 1_000_000_000
LIBRARIES = ("site-packages", "dist-packages")  # an app's folder often holds its virtual environment


class AppClock:
    """Gives the code of a ServerApp virtual time, and all other code the time of this machine.

    Otherwise a ServerApp that sleeps, or waits until `time.time()` has passed a limit, would wait in real time while
    its virtual clock stood still. A library that the ServerApp uses, such as a tracker that waits for its process,
    waits for something that happens on this machine, as do other threads and ClientApps.

    Args:
        folder: the app's.
    """

    def __init__(self, folder: Path) -> None:
        self.now_s: Callable[[], float] = lambda: 0.0  # virtual time, once the emulation has begun
        self.pass_s: Callable[[float], None] = lambda _seconds: None  # lets virtual time pass
        self._folder = folder.resolve()
        self._real_sleep = time.sleep
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
        with ExitStack() as stack:
            # Strategies wait for nodes with a `sleep` that they have imported before.
            for holder in (time, strategy_utils):
                stack.enter_context(patch.object(holder, "sleep", self._sleep))
            for name, zero_s in (("time", EPOCH_S), ("monotonic", 0.0), ("perf_counter", 0.0)):
                stack.enter_context(patch.object(time, name, self._seconds(name, zero_s)))
                stack.enter_context(patch.object(time, f"{name}_ns", self._nanoseconds(f"{name}_ns", zero_s)))
            yield

    def _is_virtual(self) -> bool:
        """Return whether the code that has called the function of `time` that calls this gets virtual time."""
        if self._real_blocks or threading.get_ident() != self._thread:
            return False
        caller = sys._getframe(2)  # noqa: SLF001 - `inspect` would read the caller's source for each call
        module = str(caller.f_globals.get("__name__", ""))
        if module.partition(".")[0] == "flwr":
            return True
        return _is_of_app(caller.f_globals.get("__file__") or caller.f_code.co_filename, self._folder)

    def _sleep(self, seconds: float) -> None:
        if seconds > 0 and self._is_virtual():
            self.pass_s(seconds)
        else:
            self._real_sleep(seconds)  # which also refuses a negative time and NaN

    def _seconds(self, name: str, zero_s: float) -> Callable[[], float]:
        """Return one of the clocks of `time`, whose virtual time begins at `zero_s` [s]."""
        real: Callable[[], float] = getattr(time, name)

        def read() -> float:
            if not self._is_virtual():
                return real()
            return zero_s + self.now_s()

        return read

    def _nanoseconds(self, name: str, zero_s: float) -> Callable[[], int]:
        """Return one of the clocks of `time` that count in nanoseconds."""
        real: Callable[[], int] = getattr(time, name)

        def read_ns() -> int:
            if not self._is_virtual():
                return real()
            return round((zero_s + self.now_s()) * NS_PER_S)

        return read_ns


@cache
def _is_of_app(file: str, folder: Path) -> bool:
    """Return whether a file is the app's own: in its folder, but not in a virtual environment there."""
    for path in (Path(file), Path(file).resolve()):
        if path.is_relative_to(folder):
            return not any(part in LIBRARIES for part in path.relative_to(folder).parts)
    return False
