"""Errors of an algorithm's hooks, with the file and the line of the hook."""

from edgefl.core.errors import RunError
from edgefl.core.plugins import method_place, place_within


class HookError(RunError):
    """A hook has failed or returned a wrong value; the text names the hook and its file and line."""


def place(member: object, method: str) -> str:
    """Return "file:line" of a method; of the member's class if the method is inherited from edgefl."""
    return method_place(type(member), method)


def place_of_error(member: object, error: BaseException) -> str | None:
    """Return "file:line" of the innermost call in a file of the member's author; None if there is none."""
    return place_within(error, type(member)).strip(" ()") or None


def raised(member: object, method: str, error: BaseException, prefix: str = "") -> str:
    """Return the line about an exception that a method has raised."""
    where = place_of_error(member, error) or place(member, method)
    return f"{where}: {prefix}{type(member).__name__}.{method} raised {type(error).__name__}: {first_line(error)}"


def first_line(error: BaseException) -> str:
    """Return the first line of an error's text."""
    return str(error).partition("\n")[0]
