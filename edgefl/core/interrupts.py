"""Ctrl-C and SIGTERM in the programs of edgefl itself: the first one interrupts, none destroys what is being written.

Python raises `KeyboardInterrupt` at any place, at every signal. A terminal, GNU `timeout` and batch systems may send
two within milliseconds, the second of which would hit the run while it writes what it has. Nothing of this holds before
`listen` is called: programs that use edgefl as a library have handlers of their own.
"""

from __future__ import annotations

import signal
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

REPEATED_S = 2.0  # within this time after the first signal further ones count as the same
REDELIVERY_S = 0.01  # after which an interrupt is raised again that has been lost
STOPPING = (signal.SIGINT, signal.SIGTERM)


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
        """Interrupt the program, or note that it is to be interrupted: the handler of the signals."""
        now_s = time.monotonic()
        if self._first_s is None:
            self._first_s = now_s
            if self._depth:
                self._waiting = True
                return
        elif now_s - self._first_s < REPEATED_S:
            return
        # Whoever asks again later does not want to wait any longer.
        raise KeyboardInterrupt

    def redeliver(self, lost: sys.UnraisableHookArgs) -> None:
        """Raise again an interrupt that Python has had to drop: a replacement of `sys.unraisablehook`.

        Python cannot raise out of a function that C code has called, such as a callback of numba's compiler, nor out of
        a destructor. It prints the exception there, and goes on.
        """
        if lost.exc_type is not KeyboardInterrupt:
            sys.__unraisablehook__(lost)
            return
        self._first_s = None
        # Not from here: the C code that has called the function must have returned.
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
    """From now on let Ctrl-C and SIGTERM end what runs in this process by a single `KeyboardInterrupt`.

    Only programs of edgefl itself call this, once, in their main thread; elsewhere it does nothing.
    """
    if threading.current_thread() is not threading.main_thread():
        return
    _listener.reset()
    sys.unraisablehook = _listener.redeliver
    for number in STOPPING:
        ignored = signal.getsignal(number) == signal.SIG_IGN
        if number == signal.SIGINT and ignored:  # a background job of a shell: Ctrl-C is not meant for it
            continue
        signal.signal(number, _listener)


@contextmanager
def deferred() -> Iterator[None]:
    """Let a first signal wait until the block has ended, so that what is written there is written whole.

    The interrupt is raised after the block, unless the block raises something itself. Without `listen` nothing changes.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    with _listener.deferred():
        yield


@contextmanager
def blocked() -> Iterator[None]:
    """Keep both signals away from processes that are started in the block, until `unblock` is called there."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, STOPPING)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def ignore() -> None:
    """Ignore both signals from now on: the parent decides what happens to this process."""
    for number in STOPPING:
        signal.signal(number, signal.SIG_IGN)
    unblock()


def unblock() -> None:
    """Let signals in that `blocked` has kept away."""
    signal.pthread_sigmask(signal.SIG_UNBLOCK, STOPPING)
