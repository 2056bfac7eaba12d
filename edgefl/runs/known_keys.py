"""What distinguishes the scenario.yaml of a folder from a scenario, by the keys that the versions behind both know.

A version may know keys that an earlier one did not. A file without such a key is that of the same scenario if the key
has its default now. Of a key that only the other version knows, nothing can be said but its name.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from edgefl.core.errors import InputError
from edgefl.core.section import KeyPath, Section, dotted, shown
from edgefl.scenario import Scenario, dump, without
from edgefl.scenario.yaml_reader import parse


class _Absent:
    """Stands for the value of a key that is not there."""

    def __repr__(self) -> str:
        return "nothing"


ABSENT = _Absent()


class Difference(NamedTuple):
    """A key whose values differ."""

    key: KeyPath
    before: Any
    now: Any
    is_unknown: bool = False  # a key that this version does not know

    @property
    def name(self) -> str:
        """The dotted key."""
        return dotted(self.key)

    def __str__(self) -> str:
        return f"with {self._quoted(self.before)} in place of {self._quoted(self.now)}"

    def _quoted(self, value: Any) -> str:
        if value is ABSENT:
            return "nothing"
        return f"'{self.name}: {shown(value)}'"


def differences(before: dict[str, Any], scenario: Scenario) -> list[Difference]:
    """Return what distinguishes an earlier scenario from this one, in the order of its keys.

    Args:
        before: the content of the earlier one's scenario.yaml.
        scenario: this one.
    """
    now, _ = parse(dump(scenario))  # as a file has it
    found = list(_differences(before, now, scenario, ()))
    missing = [difference for difference in found if difference.before is ABSENT]
    if missing and not _have_defaults(missing, scenario):
        missing = [difference for difference in missing if _have_defaults([difference], scenario)]
    return [difference for difference in found if difference not in missing]


def _differences(before: Any, now: Any, part: Any, key: KeyPath) -> Iterator[Difference]:
    """Yield the differences below a key.

    Args:
        before: the earlier content there.
        now: this scenario's.
        part: of this scenario, what it is the content of.
        key: where.
    """
    if isinstance(before, dict) and isinstance(now, dict) and _names_all(part, now):
        for name in {**now, **before}:
            below = (*key, name)
            if name not in now:
                yield Difference(below, before[name], ABSENT, is_unknown=name not in _keys(part))
            elif name not in before:
                yield Difference(below, ABSENT, now[name])
            else:
                yield from _differences(before[name], now[name], _at(part, name), below)
    elif isinstance(before, list) and isinstance(part, tuple | list) and len(before) == len(part):
        for index, values in enumerate(zip(before, now, part, strict=True)):
            yield from _differences(*values, (*key, index))
    elif before != now:
        yield Difference(key, before, now)


def _names_all(part: Any, content: dict[str, Any]) -> bool:
    """Return whether all that is written of a part are its keys; users choose the keys of other mappings."""
    return isinstance(part, Section) and content.keys() <= _keys(part)


def _keys(part: Section) -> set[str]:
    """Return the keys that may be written of a section."""
    keys = {"kind", *part.keys()}
    if part.inlined:
        keys |= set(getattr(part, part.inlined).keys())
    return keys


def _at(part: Section, name: str) -> Any:
    """Return what a section has under a key."""
    if part.inlined and name not in type(part).model_fields:
        part = getattr(part, part.inlined)
    return getattr(part, name, None)


def _have_defaults(missing: Sequence[Difference], scenario: Scenario) -> bool:
    """Return whether keys have the values in a scenario that they have where they are not written."""
    try:
        return dump(without(scenario, [difference.key for difference in missing])) == dump(scenario)
    except InputError:  # a key that is required, or an object that only Python has
        return False
