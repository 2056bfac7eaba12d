"""An example for each key of a scenario: a part of a scenario file that validates."""

from collections.abc import Iterator, Mapping, Sequence
from copy import deepcopy
from functools import cache
from pathlib import Path
from typing import Any

from pydantic.fields import FieldInfo

from edgefl.core.catalogue import Member
from edgefl.core.distributions import Constant
from edgefl.core.key_notes import with_short_numbers
from edgefl.scenario.key_index import catalogue_of, joined, keys_of_sections
from edgefl.scenario.yaml_reader import on_one_line, parse

FILE = Path(__file__).with_name("key_examples.yaml")


def example_of_key(key: str) -> str:
    """Return YAML that uses a key of a section, given its dotted name, and the other keys that it needs."""
    for content in examples():
        if key in _keys_in(content, ""):
            return as_yaml(content)
    holder = key.rpartition(".")[0]
    for content in examples():
        if "." in holder and holder in _keys_in(content, ""):
            return as_yaml(_with_default(content, key))
    value = default_value(keys_of_sections()[key].field)
    for part in reversed(key.split(".")):
        value = {part: value}
    return as_yaml(value)


@cache
def examples() -> Sequence[Mapping[str, Any]]:
    """Return the examples of the file, each a part of a scenario."""
    content, _ = parse(FILE.read_text(encoding="utf-8"))
    return tuple(content)


def as_yaml(content: Mapping[str, Any]) -> str:
    """Return a part of a scenario as YAML with a line for each section."""
    return "\n".join(f"{key}: {with_short_numbers(on_one_line(value))}" for key, value in content.items())


def _keys_in(value: Any, place: str) -> Iterator[str]:
    """Yield the dotted names of all keys in a value, without numbers of list entries."""
    if isinstance(value, list):
        for item in value:
            yield from _keys_in(item, place)
    if isinstance(value, dict):
        for name, inner in value.items():
            key = joined(place, name)
            yield key
            yield from _keys_in(inner, key)


def _with_default(content: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    """Return an example that contains the section of a key, with the key added to it."""
    *sections, leaf = key.split(".")
    content = deepcopy(content)
    inner: Any = content
    for section in sections:
        inner = inner[section]
    inner[leaf] = default_value(keys_of_sections()[key].field)
    return content


def default_value(field: FieldInfo) -> Any:
    """Return the default of a key as YAML has it; a member by its name."""
    value = field.get_default(call_default_factory=True)
    catalogue = catalogue_of(field)
    if isinstance(value, Constant):
        return value.value
    if isinstance(value, Member) and catalogue is not None:
        return catalogue.name_of(value)
    return value
