"""A fact about a scenario."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from edgefl.scenario.sections import Sections


@dataclass(frozen=True)
class Fact:
    """A question about a scenario, which rules ask by calling it, and the sentence that says that the answer is yes."""

    said: str
    holds: Callable[[Sections], bool]
    calls_hooks: bool = False  # rules ask it last: a trial round tells better what a hook raises

    def __call__(self, scenario: Sections) -> bool:
        """Return whether the sentence is true of a scenario."""
        return self.holds(scenario)


def attribute(name: str) -> Callable[[Sections], Any]:
    """Return a function with an attribute such as server.policy.splits_model; None where a part of its name is None."""
    parts = name.split(".")

    def value(scenario: Sections) -> Any:
        owner: Any = scenario
        for part in parts:
            if owner is None:
                break
            owner = getattr(owner, part)
        return owner

    return value


def is_true(name: str, said: str) -> Fact:
    """Return the fact that an attribute is true."""
    found = attribute(name)
    return Fact(said, lambda scenario: bool(found(scenario)))


def is_false(name: str, said: str) -> Fact:
    """Return the fact that an attribute is false."""
    found = attribute(name)
    return Fact(said, lambda scenario: not found(scenario))


def is_given(name: str, said: str) -> Fact:
    """Return the fact that an attribute is not None."""
    found = attribute(name)
    return Fact(said, lambda scenario: found(scenario) is not None)


def is_missing(name: str, said: str) -> Fact:
    """Return the fact that an attribute is None."""
    found = attribute(name)
    return Fact(said, lambda scenario: found(scenario) is None)


def equals(name: str, value: Any, said: str) -> Fact:
    """Return the fact that an attribute has a value."""
    found = attribute(name)
    return Fact(said, lambda scenario: bool(found(scenario) == value))


def differs(name: str, value: Any, said: str) -> Fact:
    """Return the fact that an attribute does not have a value."""
    found = attribute(name)
    return Fact(said, lambda scenario: bool(found(scenario) != value))


def both(said: str, facts: Sequence[Fact]) -> Fact:
    """Return the fact that all of several facts hold."""
    return Fact(said, lambda scenario: all(fact(scenario) for fact in facts))


def either(said: str, facts: Sequence[Fact]) -> Fact:
    """Return the fact that one of several facts holds."""
    return Fact(said, lambda scenario: any(fact(scenario) for fact in facts))
