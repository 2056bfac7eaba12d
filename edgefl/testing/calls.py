"""Calls of a member's methods: each is made three times, and must always return the same."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager
from dataclasses import fields, is_dataclass
from typing import Any, Generic, NoReturn, TypeVar

import numpy as np

from edgefl.core import global_draws
from edgefl.learning.algorithms.hook_errors import first_line, place, place_of_error
from edgefl.testing.report import Blamed, Check, Report, finished, made, noting

M = TypeVar("M")
Other = TypeVar("Other")


class Calls(Generic[M]):
    """Calls the methods of a member, and reports what they return and what they do to their surroundings.

    Args:
        member: the class, or an instance.
        keys: the keys of an instance that is made of the class.
        base: the base class of the member's kind.
        noun: the kind, as messages name it.

    Raises:
        TypeError: the member is of another kind, or keys are given with an instance.
    """

    def __init__(self, member: type[M] | M, keys: dict[str, Any], base: type, noun: str) -> None:
        self.subject: M = made(member, keys, base, noun)
        self.report = Report.of(self.subject)
        self.returns = self.begin("returns", "methods return what they must")
        self.arguments = self.begin("arguments", "methods leave their arguments as they are")
        self.repeatable = self.begin(
            "repeatable", "the same arguments give the same values, whatever was called before; no global generator"
        )

    def on(self, other: Other) -> Calls[Other]:
        """Return calls of another object's methods, such as a track's, under the same checks."""
        calls: Any = copy.copy(self)
        calls.subject = other
        return calls  # type: ignore[no-any-return]

    def begin(self, name: str, meaning: str) -> Check:
        """Add a check that has found nothing yet."""
        return self.report.begin(name, meaning)

    def noting(self, doing: str) -> AbstractContextManager[None]:
        """Turn an exception into a fault of what methods return: "`doing` ends with ..."."""
        return noting(self.returns, doing)

    def of(self, method: str, *args: Any, **options: Any) -> Any:
        """Return what a method returns.

        Raises:
            Blamed: it has raised an exception, which is noted.
        """
        member: Any = self.subject
        # What a member keeps to itself must not matter: a copy from before the call has to return the same.
        members = [member, *_fresh(member)]
        given = copy.deepcopy(args)
        drawn = global_draws.states()
        try:
            value = getattr(member, method)(*given, **options)
        except Exception as error:
            where = place_of_error(member, error) or place(member, method)
            name = f"{type(member).__name__}.{method}"
            self.returns.fault(f"{where}: {name} raised {type(error).__name__}: {first_line(error)}")
            raise Blamed from error
        for name in global_draws.moved(drawn):
            self.note(self.repeatable, method, f"draws from {name}: {global_draws.REMEDY}")
        if fingerprint(given) != fingerprint(args):
            text = "changes its arguments in place, which others still use: work on copies (x.copy())"
            self.note(self.arguments, method, text)
        for other in members:
            again = getattr(other, method)(*copy.deepcopy(args), **options)
            if fingerprint(again) != fingerprint(value):
                text = "returns other values when it is called again with the same arguments"
                remedy = "keep nothing between calls, and draw from the streams or the generator that is given"
                self.note(self.repeatable, method, f"{text}: {remedy}")
        return value

    def array(self, method: str, *args: Any, shape: tuple[int, ...], of: str = "finite numbers", **options: Any) -> Any:
        """Return the array of finite numbers of a shape that a method returns.

        Raises:
            Blamed: it returned something else, which is noted.
        """
        value = self.of(method, *args, **options)
        if not is_array(value, shape):
            self.reject(method, f"returned {kind(value)}, expected {of} {list(shape)}")
        return value

    def wrong(self, method: str, text: str) -> None:
        """Note that a method returned what it must not."""
        self.note(self.returns, method, text)

    def reject(self, method: str, text: str) -> NoReturn:
        """Note that a method returned what nothing more can be checked with.

        Raises:
            Blamed: always.
        """
        self.wrong(method, text)
        raise Blamed

    def note(self, check: Check, method: str, text: str) -> None:
        """Note a fault of a method, with its file and line."""
        check.fault(f"{place(self.subject, method)}: {type(self.subject).__name__}.{method} {text}")

    def finished(self) -> Report:
        """Return the report after the checks that all members have.

        Raises:
            ConformanceError: there is a fault.
        """
        member: Any = self.subject
        return finished(self.report, member)


def _fresh(member: Any) -> list[Any]:
    """Return a copy of a member as it is now; none of one that holds a generator or a file."""
    try:
        return [copy.deepcopy(member)]
    except TypeError:
        return []


def fingerprint(value: Any) -> Any:
    """Return something that is equal for equal values; of objects that hold no numbers to compare, their class."""
    return list(_leaves(value, ""))


def _leaves(value: Any, path: str) -> Iterator[tuple[str, Any]]:
    if isinstance(value, (np.ndarray, np.generic, float)):
        array = np.asarray(value)
        yield path, (str(array.dtype), array.shape, array.tobytes())
    elif hasattr(value, "new_tensor"):  # a torch tensor, without importing torch
        yield from _leaves(value.detach().numpy(), path)
    elif isinstance(value, Mapping):
        for name in value:
            yield from _leaves(value[name], f"{path}.{name}")
    elif isinstance(value, (tuple, list)):
        yield path, len(value)
        for place_, item in enumerate(value):
            yield from _leaves(item, f"{path}.{place_}")
    elif is_dataclass(value) and not isinstance(value, type):
        for item in fields(value):
            yield from _leaves(getattr(value, item.name), f"{path}.{item.name}")
    elif isinstance(value, (int, str, bool, bytes, type(None))):
        yield path, value
    else:
        yield path, type(value).__name__


def is_array(value: Any, shape: tuple[int, ...]) -> bool:
    """Return whether a value is a NumPy array of finite real numbers of this shape."""
    if not isinstance(value, np.ndarray) or value.shape != shape or not np.issubdtype(value.dtype, np.number):
        return False
    return bool(np.isfinite(value).all())


def kind(value: Any) -> str:
    """Return what a value is, for messages."""
    if isinstance(value, np.ndarray):
        numbers = "" if np.issubdtype(value.dtype, np.number) and np.isfinite(value).all() else ", not all finite"
        return f"an array {list(value.shape)} of {value.dtype}{numbers}"
    if value is None:
        return "None"
    return f"a {type(value).__name__}"
