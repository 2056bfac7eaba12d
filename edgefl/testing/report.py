"""The report of a check: a line for each thing that was checked."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import yaml

from edgefl.core.catalogue import Member
from edgefl.core.errors import InputError, RunError

NAME_WIDTH = 22  # columns of a check's name


@dataclass
class Check:
    """One thing that was checked."""

    name: str
    meaning: str  # what is true if there are no faults
    faults: list[str] = field(default_factory=list)  # a sentence each: what is wrong, and how to correct it

    def fault(self, text: str) -> None:
        """Note a fault, once."""
        if text not in self.faults:
            self.faults.append(text)


@dataclass
class Report:
    """The findings about a member; `str` has one line a check, and one for each fault."""

    subject: str  # what was checked
    checks: list[Check] = field(default_factory=list)

    @classmethod
    def of(cls, subject: object) -> Report:
        """Return a report without checks about a member, named by its class."""
        return cls(f"{type(subject).__module__}:{type(subject).__qualname__}")

    @property
    def ok(self) -> bool:
        """Return whether nothing is wrong."""
        return not self.faults

    @property
    def faults(self) -> list[str]:
        """Return all faults, check by check."""
        return [fault for check in self.checks for fault in check.faults]

    def begin(self, name: str, meaning: str) -> Check:
        """Add a check that has found nothing yet."""
        check = Check(name, meaning)
        self.checks.append(check)
        return check

    def raise_faults(self) -> Report:
        """Return the report.

        Raises:
            ConformanceError: there is a fault.
        """
        if not self.ok:
            raise ConformanceError(self)
        return self

    def __str__(self) -> str:
        wrong = sum(bool(check.faults) for check in self.checks)
        verdict = f"{wrong} of {len(self.checks)} checks failed" if wrong else f"all {len(self.checks)} checks passed"
        lines = [f"{self.subject}: {verdict}"]
        for check in self.checks:
            if not check.faults:
                lines.append(f"  ok     {check.name:<{NAME_WIDTH}} {check.meaning}")
            lines += [f"  WRONG  {check.name:<{NAME_WIDTH}} {fault}" for fault in check.faults]
        return "\n".join(lines)


class ConformanceError(AssertionError):
    """A member does not do what edgefl expects of its kind; the text is the whole report.

    Args:
        report: what was found.
    """

    def __init__(self, report: Report) -> None:
        super().__init__(str(report))
        self.report = report


class Blamed(Exception):  # noqa: N818 - the name says what has happened
    """A fault has been noted, and the checks that would follow tell nothing more."""


@contextmanager
def noting(check: Check, doing: str) -> Iterator[None]:
    """Turn an exception into a fault of the check: "`doing` ends with ..."."""
    try:
        yield
    except Blamed:
        return
    except (InputError, RunError) as error:
        check.fault(str(error))
    except Exception as error:  # noqa: BLE001 - an author's code may raise anything, and each check is to be reported
        check.fault(f"{doing} ends with {type(error).__name__}: {str(error).partition(chr(10))[0]}")


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


def finished(report: Report, member: Member) -> Report:
    """Return the report after the checks that all members have: keys that survive a file, and a docstring.

    Raises:
        ConformanceError: there is a fault.
    """
    keys = report.begin("keys", "YAML keys make the same member again when they are read")
    described = report.begin("described", "the docstring's first line is what edgefl list prints")
    cls = type(member)
    if not (cls.__doc__ or "").strip():
        text = "has no docstring: write what it is and where it comes from in one line"
        described.fault(f"{cls.__name__}: {text}")
    try:
        written = yaml.safe_load(yaml.safe_dump(member.model_dump(mode="json")))
        again = cls.model_validate(written)
    except Exception as error:  # noqa: BLE001 - whatever it is, the keys do not survive
        keys.fault(f"{cls.__name__}: writing and reading its keys ends with {type(error).__name__}: {error}")
        return report.raise_faults()
    for key, value in member:
        found = getattr(again, key)
        both_nan = isinstance(value, float) and isinstance(found, float) and math.isnan(value) and math.isnan(found)
        if found != value and not both_nan:
            text = f"{value!r} is read as {found!r}: give the key a type that says how it is written"
            keys.fault(f"{cls.__name__}.{key}: {text}")
    return report.raise_faults()
