"""Exceptions that end a run early, with messages written for the user."""

from __future__ import annotations

import traceback
from collections.abc import Callable


class OneLine(Exception):  # noqa: N818 - the base of errors whose text says all that a user needs
    """An error that a notebook shows as its text, without the calls that led to it."""

    def _render_traceback_(self) -> list[str]:
        """Return the lines that IPython shows."""
        return [f"{type(self).__name__}: {line}" for line in str(self).splitlines()]


class InputError(OneLine):
    """The input is wrong: nothing was run, nothing was written; the command line exits with 2.

    Args:
        faults: one finished line each, such as ``a.yaml:3: radio.bandwidth_hz: must be > 0, got 0``; or another
            InputError, whose lines are taken.
    """

    def __init__(self, *faults: str | InputError) -> None:
        lines: list[str] = []
        for fault in faults:
            # Libraries that pass errors between processes, such as Gymnasium, often raise `type(error)(error)`.
            if isinstance(fault, InputError):
                lines.extend(fault.faults)
            else:
                lines.append(fault)
        super().__init__("\n".join(lines))
        self.faults: tuple[str, ...] = tuple(lines)

    def reword(self, words: Callable[[str], str]) -> None:
        """Put each line into other words, for users who have not called edgefl by its command line."""
        self.faults = tuple(words(line) for line in self.faults)
        self.args = ("\n".join(self.faults),)


class Unavailable(InputError):  # noqa: N818 - the name says what is wrong
    """The data are not on this machine, or reading them would take long."""


class Taken(InputError):  # noqa: N818 - the name says what is wrong
    """Another process is already working in the folder."""


class RunError(OneLine):
    """The run had to stop early: finished rounds are on disk; the command line exits with 1."""


class DivergedError(RunError):
    """Learning has diverged: a loss, an update or the global model is not finite.

    Args:
        what: what diverged and where, such as ``round 8: device 17: local training diverged (NaN or infinite)``; or
            another DivergedError, which is copied.
        remedy: the likely cause, and the keys to change.
    """

    def __init__(self, what: str | DivergedError, remedy: str = "") -> None:
        self.what: str
        self.remedy: str
        if isinstance(what, DivergedError):
            self.what = what.what
            self.remedy = what.remedy
        else:
            self.what = what
            self.remedy = remedy
        super().__init__(f"{self.what}; {self.remedy}")

    def __reduce__(self) -> tuple[type[DivergedError], tuple[str, str]]:  # it may come from another process
        return DivergedError, (self.what, self.remedy)


def trail(error: BaseException) -> str:
    """Return the tracebacks of an error and of all its causes, including those hidden from users."""
    parts: list[str] = []
    current: BaseException | None = error
    while current is not None:
        parts.append("".join(traceback.format_exception(current, chain=False)))
        # `raise ... from None` hides the context from Python's own traceback, but keeps it.
        current = current.__cause__ or current.__context__
    return "which came from:\n".join(parts)
