"""Calls of a member's methods: each is made three times, and must always return the same."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping
from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np

from edgefl.core import global_draws
from edgefl.learning.algorithms.hook_errors import first_line, place, place_of_error
from edgefl.testing.report import Blamed, Check, Report


class Calls:
    """Calls the methods of members, and notes what they do to their arguments and to the global global_draws.

    Args:
        report: gets three checks.
    """

    def __init__(self, report: Report) -> None:
        self.returns = report.begin("returns", "methods return what they must")
        self.arguments = report.begin("arguments", "methods leave their arguments as they are")
        self.repeatable = report.begin(
            "repeatable", "the same arguments give the same values, whatever was called before; no global generator"
        )

    def of(self, member: Any, method: str, *args: Any, **options: Any) -> Any:
        """Return what a method returns.

        Raises:
            Blamed: it has raised an exception, which is noted.
        """
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
            self.note(self.repeatable, member, method, f"draws from {name}: {global_draws.REMEDY}")
        if fingerprint(given) != fingerprint(args):
            text = "changes its arguments in place, which others still use: work on copies (x.copy())"
            self.note(self.arguments, member, method, text)
        for other in members:
            again = getattr(other, method)(*copy.deepcopy(args), **options)
            if fingerprint(again) != fingerprint(value):
                text = "returns other values when it is called again with the same arguments"
                remedy = "keep nothing between calls, and draw from the streams or the generator that is given"
                self.note(self.repeatable, member, method, f"{text}: {remedy}")
        return value

    def wrong(self, member: Any, method: str, text: str) -> None:
        """Note that a method returned what it must not."""
        self.note(self.returns, member, method, text)

    @staticmethod
    def note(check: Check, member: Any, method: str, text: str) -> None:
        """Note a fault of a method, with its file and line."""
        check.fault(f"{place(member, method)}: {type(member).__name__}.{method} {text}")


def _fresh(member: Any) -> list[Any]:
    """Return a copy of a member as it is now, if it can be copied: what it keeps to itself must not matter."""
    try:
        return [copy.deepcopy(member)]
    except TypeError:
        return []  # it holds a generator or a file


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
