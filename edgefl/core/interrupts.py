"""Ctrl-C, SIGTERM and SIGHUP in programs of edgefl itself: the first one interrupts, none destroys a half-written file.

Python raises `KeyboardInterrupt` anywhere, at every signal. A terminal, GNU `timeout` and batch systems may send two
signals within milliseconds, and the second one would hit the run while it writes its results. Nothing changes before
`listen` is called: programs that use edgefl as a library have their own handlers.
"""

from __future__ import annotations

import signal
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

REPEATED_S = 2.0  # after the first signal: later ones within it count as the same
REDELIVERY_S = 0.01  # after which a lost interrupt is raised again
STOPPING = [signal.SIGINT, signal.SIGTERM]
if hasattr(signal, "SIGHUP"):  # when a terminal is closed; not on Windows
    STOPPING.append(signal.SIGHUP)


class _Listener:
    """Remembers the first signal, and whether it must wait."""

    def __init__(self) -> None:
        self.reset()

    def reset(self) -> None:
        """Forget all signals so far."""
        self._first_s: float | None = None  # when the first signal came
        self._depth = 0  # of `deferred` blocks
        self._waiting = False  # a signal has come within such a block

    def __call__(self, number: int, frame: FrameType | None) -> None:
        """Handle a signal: interrupt the program, now or after the `deferred` blocks."""
        now_s = time.monotonic()
        if self._first_s is None:
            self._first_s = now_s
            if self._depth:
                self._waiting = True
                return
        elif now_s - self._first_s < REPEATED_S:
            return
        # A later signal no longer waits.
        raise KeyboardInterrupt

    def redeliver(self, lost: sys.UnraisableHookArgs) -> None:
        """Raise again an interrupt that Python had to drop: a replacement of `sys.unraisablehook`.

        Python cannot raise from a destructor, or from a function that C code has called, such as a callback of numba's
        compiler. There it prints the exception and continues.
        """
        if lost.exc_type is not KeyboardInterrupt:
            sys.__unraisablehook__(lost)
            return
        self._first_s = None
        # Not now: the C code that called the function must have returned.
        main = threading.main_thread().ident
        timer = threading.Timer(REDELIVERY_S, signal.pthread_kill, (main, signal.SIGTERM))
        timer.daemon = True
        timer.start()

    @contextmanager
    def deferred(self) -> Iterator[None]:
        """See the function."""
        self._depth += 1
        try:
            yield
        finally:
            self._depth -= 1
        if self._waiting and not self._depth:
            self._waiting = False
            raise KeyboardInterrupt


_listener = _Listener()


def listen() -> None:
    """From now on let Ctrl-C, SIGTERM and SIGHUP end this program by a single `KeyboardInterrupt`.

    Only programs of edgefl itself call this, once, in their main thread; in other threads it does nothing.
    """
    if threading.current_thread() is not threading.main_thread():
        return
    _listener.reset()
    sys.unraisablehook = _listener.redeliver
    for number in STOPPING:
        ignored = signal.getsignal(number) == signal.SIG_IGN
        # Ctrl-C is not meant for a shell's background job, nor a closed terminal for what `nohup` has started.
        if number != signal.SIGTERM and ignored:
            continue
        signal.signal(number, _listener)


@contextmanager
def deferred() -> Iterator[None]:
    """Let a first signal wait until the block has ended, so that the block writes whole files.

    The interrupt is raised after the block, unless the block raises an exception. Without `listen` nothing changes.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    with _listener.deferred():
        yield


@contextmanager
def blocked() -> Iterator[None]:
    """Block the signals in processes that are started in the block, until they call `unblock`."""
    if not hasattr(signal, "pthread_sigmask"):  # on Windows, where no process inherits signals
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, STOPPING)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def ignore() -> None:
    """Ignore the signals from now on: the parent decides what happens to this process."""
    for number in STOPPING:
        signal.signal(number, signal.SIG_IGN)
    unblock()


def unblock() -> None:
    """Receive the signals that `blocked` has kept away."""
    if hasattr(signal, "pthread_sigmask"):
        signal.pthread_sigmask(signal.SIG_UNBLOCK, STOPPING)
