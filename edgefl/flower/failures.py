"""Finds the line of an app's own code that has raised an exception."""

from __future__ import annotations

import traceback
from pathlib import Path


def fault_in_app(error: BaseException, folder: Path) -> str:
    """Return a line about an exception: file and line of the app's own code that has raised it, and what it says.

    Args:
        error: the exception.
        folder: the app's folder.
    """
    what = type(error).__name__
    text = str(error).strip()
    if text:
        what = f"{what}: {text.splitlines()[0]}"
    if isinstance(error, SyntaxError) and error.filename is not None:
        return f"{error.filename}:{error.lineno}: {type(error).__name__}: {error.msg}"
    # The innermost line of the app counts, whatever it has called.
    for frame in reversed(traceback.extract_tb(error.__traceback__)):
        if Path(frame.filename).resolve().is_relative_to(folder):
            return f"{frame.filename}:{frame.lineno}: {what}"
    return f"{folder}: {what}"
