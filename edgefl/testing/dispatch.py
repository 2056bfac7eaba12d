"""The kinds of members, and the check of any member by its kind."""

from collections.abc import Callable
from importlib import import_module
from typing import Any

from edgefl.core.words import words_of
from edgefl.testing.report import Report

KINDS: dict[str, tuple[str, str]] = words_of(__file__, "kinds.yaml")


def check_of(kind: str) -> Callable[..., Report]:
    """Return the check of a kind; only now is its module imported, as some need torch."""
    module, _ = KINDS[kind]
    found: Callable[..., Report] = getattr(import_module(f"edgefl.testing.{module}"), f"check_{kind}")
    return found


def check(member: Any, **keys: Any) -> Report:
    """Check a member of any kind, a class or an instance, and return the report.

    Args:
        member: what to check.
        keys: the keyword arguments of the check of its kind.

    Raises:
        TypeError: there is no check for it.
        ConformanceError: something is wrong.
    """
    cls = member if isinstance(member, type) else type(member)
    return check_of(_kind(cls))(member, **keys)


def _kind(cls: type) -> str:
    for kind, (_, path) in KINDS.items():
        module, _, name = path.partition(":")
        if issubclass(cls, getattr(import_module(module), name)):
            return kind
    # A torch module has none of our base classes; its own shows what it is without importing torch.
    if any(base.__module__.startswith("torch.nn") for base in cls.__mro__):
        return "model"
    raise TypeError(f"there is no check for {cls.__qualname__}; checks are for: {', '.join(KINDS)}")
