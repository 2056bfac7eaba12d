"""How a member is checked: by a table of properties: each calls its methods and says what must hold.

A method is called three times on copies of its arguments, so that every call also shows whether it changes them,
returns the same again, and leaves the global generators alone. A property ends at its first fault; the others are still
checked.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, NoReturn

import yaml

from edgefl.core import global_draws
from edgefl.core.errors import InputError, RunError
from edgefl.core.plugins import BrokenRule
from edgefl.learning.algorithms.hook_errors import first_line, place, place_of_error
from edgefl.testing.report import Check, Report
from edgefl.testing.values import Numbers, copied, fingerprint, kind

RETURNS = "returns"
ARGUMENTS = "arguments"
REPEATABLE = "repeatable"


class Blamed(Exception):  # noqa: N818 - the name says what has happened
    """A fault has been noted, and what would follow tells nothing more."""


@dataclass(frozen=True)
class Property:
    """What must hold for members of a kind."""

    name: str  # the check in the report under which its faults stand
    holds: Callable[..., object]  # called with the `Calls` and the arguments of a case; it notes a fault, or returns
    meaning: str = ""  # what is true if there is no fault; properties of one name share the first's
    cases: Iterable[tuple[Any, ...]] = ((),)  # arguments that it must hold for


def accepts(given: str, *args: Any) -> Property:
    """Return the property that a member's own `check` takes what it is checked with."""

    def holds(calls: Calls) -> None:
        reason = calls.subject.check(*args)
        calls.require("check", not reason, f"refuses {given} ({reason}): check it with other keys")

    return Property(RETURNS, holds)


def skipped(name: str, reason: str) -> Property:
    """Return a property that is not checked."""
    return Property(name, lambda _: None, f"not checked: {reason}")


class Calls:
    """Calls the methods of a member, and reports what they return and what they do to their surroundings.

    A method of this class that notes a fault ends the property with `Blamed`; only `note` goes on.

    Args:
        member: the class, or an instance.
        keys: the keys of an instance that is made of the class.
        base: the base class of the member's kind.
        noun: the kind, as messages name it.

    Raises:
        TypeError: the member is of another kind, or keys are given with an instance.
    """

    def __init__(self, member: Any, keys: dict[str, Any], base: type, noun: str) -> None:
        self.subject = made(member, keys, base, noun)
        self.report = Report(f"{type(self.subject).__module__}:{type(self.subject).__qualname__}")
        self.report.check(RETURNS, "methods return what they must")
        self.report.check(ARGUMENTS, "methods leave their arguments as they are")
        self.report.check(
            REPEATABLE, "the same arguments give the same values, whatever was called before; no global generator"
        )
        self.current: Check = self.report.check(RETURNS)  # the check of the property that is looked at

    def check(self, *properties: Property) -> None:
        """Check properties, if nothing has been wrong before."""
        if self.report.ok:
            for each in properties:
                self._check(each)

    def finished(self) -> Report:
        """Return the report after the checks that all members have.

        Raises:
            ConformanceError: there is a fault.
        """
        self._check(Property("keys", _keys_survive_a_file, "YAML keys make the same member again when they are read"))
        self._check(Property("described", _is_described, "the docstring's first line is what edgefl list prints"))
        return self.report.raise_faults()

    def on(self, other: Any) -> Calls:
        """Return calls of another object's methods, such as a track's, in the same report."""
        calls = copy.copy(self)
        calls.subject = other
        return calls

    def of(self, method: str, *args: Any, **options: Any) -> Any:
        """Return what a method returns."""
        # What a member keeps to itself must not matter: a copy from before the call has to return the same.
        members = [self.subject, *_fresh(self.subject)]
        given = copied(args)
        drawn = global_draws.states()
        try:
            value = getattr(self.subject, method)(*given, **options)
        except Exception as error:
            where = place_of_error(self.subject, error) or place(self.subject, method)
            name = f"{type(self.subject).__name__}.{method}"
            text = f"{where}: {name} raised {type(error).__name__}: {first_line(error)}"
            self.report.check(RETURNS).fault(text)
            raise Blamed from error
        if fingerprint(given) != fingerprint(args):
            text = "changes its arguments in place, which others still use: work on copies (x.copy(), x.clone())"
            self.note(ARGUMENTS, method, text)
        moved = global_draws.moved(drawn)
        for name in moved:
            self.note(REPEATABLE, method, f"draws from {name}: {global_draws.REMEDY}")
        for member in members:
            again = getattr(member, method)(*copied(args), **options)
            if not moved and fingerprint(again) != fingerprint(value):
                text = "returns other values when it is called again with the same arguments"
                remedy = "keep nothing between calls, and draw from the streams or the generator that is given"
                self.note(REPEATABLE, method, f"{text}: {remedy}")
        return value

    def array(self, method: str, wanted: Numbers, *args: Any, **options: Any) -> Any:
        """Return the array that a method returns."""
        value = self.of(method, *args, **options)
        self.numbers(method, value, wanted)
        return value

    def numbers(self, method: str, value: Any, wanted: Numbers, name: str = "") -> None:
        """Note it if a method has not returned certain numbers, or not as the part `name` of its value."""
        part = f" as {name}" if name else ""
        self.returned(method, wanted.describe(value), f"{kind(value)}{part}, expected {wanted}")

    def require(self, method: str, condition: object, text: str) -> None:
        """Note a fault of a method if a condition does not hold."""
        if not condition:
            self.note(self.current.name, method, text)
            raise Blamed

    def returned(self, method: str, condition: object, text: str) -> None:
        """Note that a method has returned what it must not, if a condition does not hold."""
        if not condition:
            self.note(RETURNS, method, f"returned {text}")
            raise Blamed

    def fault(self, text: str) -> NoReturn:
        """Note a fault that belongs to no method."""
        self.current.fault(text)
        raise Blamed

    def note(self, check: str, method: str, text: str) -> None:
        """Note a fault of a method, with its file and line."""
        name = f"{type(self.subject).__name__}.{method}"
        self.report.check(check).fault(f"{place(self.subject, method)}: {name} {text}")

    def _check(self, each: Property) -> None:
        self.current = self.report.check(each.name, each.meaning)
        try:
            for case in each.cases:
                each.holds(self, *case)
        except Blamed:
            return
        except BrokenRule as error:
            self.report.check(RETURNS).fault(str(error))
        except (InputError, RunError) as error:
            self.current.fault(str(error))
        except Exception as error:  # noqa: BLE001 - an author's code may raise anything, and each check is to be reported
            where = place_of_error(self.subject, error) or type(self.subject).__name__
            self.current.fault(f"{where}: ends with {type(error).__name__}: {first_line(error)}")


def made(member: Any, keys: dict[str, Any], base: type, noun: str) -> Any:
    """Return a member from its class and keys, or from an instance.

    Raises:
        TypeError: the member is of another kind, or keys are given with an instance.
    """
    if isinstance(member, type) and issubclass(member, base):
        return member.model_validate(keys)  # type: ignore[attr-defined]
    if not isinstance(member, base):
        raise TypeError(f"expected {noun} (a subclass of {base.__module__}.{base.__qualname__}), got {member!r}")
    if keys:
        raise TypeError(f"give the keys {', '.join(keys)} to the class: check the class with keys, or an instance")
    return member


def _fresh(member: Any) -> list[Any]:
    """Return a copy of a member as it is now; none of one that holds a generator or a file."""
    try:
        return [copy.deepcopy(member)]
    except TypeError:
        return []


def _is_described(calls: Calls) -> None:
    cls = type(calls.subject)
    if not (cls.__doc__ or "").strip():
        calls.fault(f"{cls.__name__}: has no docstring: write what it is and where it comes from in one line")


def _keys_survive_a_file(calls: Calls) -> None:
    member = calls.subject
    again = type(member).model_validate(yaml.safe_load(yaml.safe_dump(member.model_dump(mode="json"))))
    for key, value in member:
        found = getattr(again, key)
        if found != value and not str(found) == str(value) == "nan":
            text = f"{value!r} is read as {found!r}: give the key a type that says how it is written"
            calls.fault(f"{type(member).__name__}.{key}: {text}")
