"""The guard that a program needs around a sweep: its processes import the program, which must not sweep again."""

import multiprocessing
import os
import sys
from pathlib import Path

from edgefl.core.errors import InputError
from edgefl.core.files import read_bytes

GUARD = 'if __name__ == "__main__":'
EXIT_NO_GUARD = 78  # of a process that came to the sweep while it imported the program
_WORDS = ("__name__", "parent_process")  # a program has one of them if it tells a process that imports it


class MissingGuardError(InputError, SystemExit):
    """The program has no guard.

    As it is a `SystemExit`, too, a program that does not catch it ends with this one line and without a traceback.
    """

    def __init__(self, program: str) -> None:
        text = "the processes of its runs import this program, so call it below the line"
        super().__init__(f"{program}: edgefl.sweep: {text} {GUARD}")
        self.code = str(self)


def check_guard() -> None:
    """Check that the program has a guard; end a process that has come here while it imported the program.

    Raises:
        MissingGuardError: it has none; nothing was run.
    """
    if getattr(multiprocessing.current_process(), "_inheriting", False):  # Python's own sign of such a process
        os._exit(EXIT_NO_GUARD)
    program = program_path()
    if program is None:
        return
    try:
        text = read_bytes(program).decode(errors="replace")
    except OSError:
        return  # a frozen program, or one in an archive
    if not any(word in text for word in _WORDS):
        raise MissingGuardError(program.name)


def program_path() -> Path | None:
    """Return the file that new processes of Python import as the main program; None in a notebook or a shell."""
    file = getattr(sys.modules["__main__"], "__file__", None)
    if file is None:
        return None
    return Path(file)
