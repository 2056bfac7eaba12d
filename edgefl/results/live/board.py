"""The board: the current content of the live page, for requests that wait for newer content."""

from collections.abc import Iterator
from contextlib import contextmanager
from threading import Condition
from time import monotonic
from typing import NamedTuple


class Shown(NamedTuple):
    """The content of the live page from one change to the next."""

    version: int  # grows from 1
    page: bytes  # the whole page, for a browser that opens it
    state: bytes  # its changing parts, as JSON, for a browser that has it open


class Board:
    """Holds the current content of the page, and knows whether it is being viewed; threads may share it."""

    def __init__(self, first: Shown) -> None:
        self._changed = Condition()
        self._shown = first
        self._open = 0  # requests that are being answered
        self._last_asked_s: float | None = None  # when the last request came or was answered
        self._newest_fetched = 0  # the newest version that a request has received

    @property
    def shown(self) -> Shown:
        """The content of the page now."""
        return self._shown

    def post(self, shown: Shown) -> None:
        """Replace what the page shows."""
        with self._changed:
            self._shown = shown
            self._changed.notify_all()

    def newer(self, version: int, patience_s: float) -> Shown | None:
        """Return content newer than a version as soon as it is posted; None if none is posted in time."""
        with self._changed:
            if self._changed.wait_for(lambda: self._shown.version > version, patience_s):
                self._newest_fetched = self._shown.version
                return self._shown
            return None

    @property
    def is_fetched(self) -> bool:
        """True if an open page has fetched the present content."""
        with self._changed:
            return self._newest_fetched == self._shown.version

    @contextmanager
    def answering(self) -> Iterator[None]:
        """Note that a request is being answered."""
        with self._changed:
            self._open += 1
        try:
            yield
        finally:
            with self._changed:
                self._open -= 1
                self._last_asked_s = monotonic()

    def asked_within(self, seconds: float) -> bool:
        """Return whether a request waits, or one has been answered within the last seconds."""
        with self._changed:
            if self._open:
                return True
            return self._last_asked_s is not None and monotonic() - self._last_asked_s < seconds
