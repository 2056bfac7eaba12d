"""Errors of an algorithm's hooks, with the file and the line of the hook."""

import inspect
from pathlib import Path

from edgefl.core.errors import RunError
from edgefl.core.plugin_import import frames_of, shown_file
from edgefl.core.plugins import is_outside, path_of

HOUSE = Path(__file__).parents[2]  # the folder of this package


class HookError(RunError):
    """A hook has failed or returned a wrong value; the text names the hook and its file and line."""


def place(member: object, method: str) -> str:
    """Return "file:line" of a method; of the member's class if the method is inherited from edgefl."""
    function = getattr(type(member), method)
    code = getattr(getattr(function, "fget", function), "__code__", None)
    if code is not None and not is_ours(code.co_filename):
        return f"{shown_file(code.co_filename)}:{code.co_firstlineno}"
    for cls in type(member).__mro__:
        path = _file_of(cls)
        if path is not None and is_outside(cls) and not cls.__module__.startswith("pydantic"):
            return f"{shown_file(path)}:{_line_of(cls)}"
    return path_of(type(member))  # of edgefl, or made in an interactive session


def place_of_error(member: object, error: BaseException) -> str | None:
    """Return "file:line" of the innermost call in a file of the member's author; None if there is none."""
    own_files = {_file_of(cls) for cls in type(member).__mro__}
    found = None
    for file, line, _ in frames_of(error.__traceback__):
        is_authors = file in own_files or (Path(file).is_absolute() and "site-packages" not in file)
        if is_authors and not is_ours(file):
            found = f"{shown_file(file)}:{line}"
    return found


def is_ours(path: str) -> bool:
    """Return whether a file belongs to edgefl."""
    return Path(path).is_relative_to(HOUSE)


def _file_of(cls: type) -> str | None:
    try:
        return inspect.getsourcefile(cls)
    except (OSError, TypeError):
        return None  # made in an interactive session


def _line_of(cls: type) -> int:
    try:
        return inspect.getsourcelines(cls)[1]
    except (OSError, TypeError):
        return 1


def first_line(error: BaseException) -> str:
    """Return the first line of an error's text."""
    return str(error).partition("\n")[0]
