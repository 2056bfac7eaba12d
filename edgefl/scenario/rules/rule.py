"""A rule between sections: facts that exclude each other, the key to name, the reason, and what to do."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

from edgefl.core.section import KeyPath, key_path, shown
from edgefl.scenario.facts.fact import Fact
from edgefl.scenario.facts.words import Words
from edgefl.scenario.sections import Sections

OUT: Literal["(left out)"] = "(left out)"
"""The value of a key that a remedy takes out of the scenario."""

NAMED = "(the key that the rule names)"
"""Stands for that key where it depends on the scenario."""


@dataclass(frozen=True)
class Remedy:
    """Changes of a scenario after which a rule is met.

    A value is what the key becomes, or `OUT`; "{devices}" stands for that word or number of the scenario.
    """

    changes: Mapping[str, Any]  # by dotted key
    said: str = ""  # replaces the words that follow from the changes
    offered: Fact | None = None  # when the remedy is offered; None: always

    def text(self, key: str, words: Words) -> str:
        """Return what to do, in words, for a rule about `key`."""
        if self.said:
            return self.said.format_map(words)
        return " and ".join(_told(key, changed, value) for changed, value in self.valued(key, words).items())

    def valued(self, key: str, words: Words) -> dict[str, Any]:
        """Return the changed keys with their values, or `OUT`; `key` is the key that the rule names."""
        changes = {changed: _value(value, words) for changed, value in self.changes.items()}
        if NAMED in changes:
            changes[key] = changes.pop(NAMED)
        return changes


def leave_out(key: str, said: str = "", offered: Fact | None = None) -> Remedy:
    """Return the remedy that takes a key out of the scenario."""
    return Remedy({key: OUT}, said, offered)


def set_to(key: str, value: Any, said: str = "", offered: Fact | None = None) -> Remedy:
    """Return the remedy that gives a key a value."""
    return Remedy({key: value}, said, offered)


class Refusal(NamedTuple):
    """The fault of a scenario that breaks a rule, and its remedies."""

    path: KeyPath
    text: str
    remedies: list[dict[str, Any]]  # the changes of each remedy that the text names: values, or `OUT`, by dotted key


Reason = Callable[[Sections], str | None]
"""Returns why a scenario breaks a rule, if facts do not decide it; None if it does not."""


@dataclass(frozen=True)
class Rule:
    """Facts that exclude each other, and the remedies."""

    key: str  # named in the fault
    facts: tuple[Fact, ...]  # the rule is broken if all of them hold
    reason: str | Reason  # a text with names between braces; or a function that returns it
    remedies: tuple[Remedy, ...] = ()  # each is enough; none if the reason says what to do
    subkey: Callable[[Sections], str] | None = None  # below `key`, if it depends on the scenario

    def refusal(self, scenario: Sections) -> Refusal | None:
        """Return the refusal of a scenario that breaks the rule; None if it does not."""
        hooks_last = sorted(self.facts, key=lambda fact: fact.calls_hooks)
        if not all(fact(scenario) for fact in hooks_last):
            return None
        words = Words(scenario)
        reason = self.reason(scenario) if callable(self.reason) else self.reason.format_map(words)
        if reason is None:
            return None
        key = self.key
        if self.subkey is not None:
            key = f"{key}.{self.subkey(scenario)}"
        remedies = [remedy for remedy in self.remedies if remedy.offered is None or remedy.offered(scenario)]
        changes = [remedy.valued(key, words) for remedy in remedies]
        to_do = ", or ".join(remedy.text(key, words) for remedy in remedies)
        if to_do:
            reason = f"{reason}: {to_do}"
        return Refusal(key_path(key), reason, changes)


@dataclass(frozen=True)
class Feature:
    """Something that a scenario has and that excludes other features."""

    key: str  # named in the fault
    fact: Fact  # that tells it
    without: tuple[Remedy, ...] | None = None  # each ends it; None: `key` becomes `to`
    to: Any = OUT
    said: str = ""  # replaces the words for that
    subkey: Callable[[Sections], str] | None = None  # below `key`, if it depends on the scenario

    @property
    def remedies(self) -> tuple[Remedy, ...]:
        """Return what ends the feature; each remedy is enough."""
        if self.without is not None:
            return self.without
        key = self.key if self.subkey is None else NAMED
        return (Remedy({key: self.to}, self.said),)

    def excludes(self, other: "Feature", reason: str) -> Rule:
        """Return the rule that a scenario has one of two features at most; a fault names the key of this one."""
        facts = (self.fact, other.fact)
        return Rule(self.key, facts, reason, (*self.remedies, *other.remedies), self.subkey)


def _told(own: str, key: str, value: Any) -> str:
    """Return a change in words; the key `own` is "it"."""
    name = key
    if key == own:
        name = "it"
    if value == OUT:
        return f"leave {name} out"
    if not isinstance(value, str):
        value = shown(value)
    return f"set {name} to {value}"


def _value(value: Any, words: Words) -> Any:
    if isinstance(value, str) and value.startswith("{"):
        return words[value.strip("{}")]
    return value
