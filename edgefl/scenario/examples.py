"""An example for each key of a scenario: a part of a scenario file that validates."""

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from edgefl.core.catalogue import Member
from edgefl.core.distributions import Constant
from edgefl.core.key_notes import with_short_numbers
from edgefl.scenario.key_index import catalogue_of, keys_of_sections
from edgefl.scenario.yaml_reader import on_one_line, parse

FILE = Path(__file__).with_name("key_examples.yaml")


def example_of_key(key: str) -> str:
    """Return YAML that uses a key of a section, given its dotted name, and the other keys that it needs."""
    if key in _file()["whole"]:
        return as_yaml(_file()["whole"][key])
    holder = key
    value = _value(key)
    while value is None and "." in holder:  # such as a key inside a list of mappings
        holder = holder.rpartition(".")[0]
        value = _value(holder)
    content: dict[str, Any] = {}
    parts = holder.split(".")
    for length in range(1, len(parts) + 1):
        content = _merged(content, _file()["needs"].get(".".join(parts[:length]), {}))
    for part in reversed(parts):
        value = {part: value}
    return as_yaml(_merged(content, value))


def as_yaml(content: Mapping[str, Any]) -> str:
    """Return a part of a scenario as YAML with a line for each section."""
    return "\n".join(f"{key}: {with_short_numbers(on_one_line(value))}" for key, value in content.items())


@cache
def _file() -> Mapping[str, Any]:
    content, _ = parse(FILE.read_text(encoding="utf-8"))
    return dict(content)


def _value(key: str) -> Any:
    """Return the value of a key in its example; None if it has none of its own."""
    if key in _file()["values"]:
        return _file()["values"][key]
    field = keys_of_sections()[key].field
    if field.is_required() or field.default_factory_takes_validated_data:
        return None
    default = field.get_default(call_default_factory=True)
    catalogue = catalogue_of(field)
    if isinstance(default, Constant):
        return default.value
    if isinstance(default, Member) and catalogue is not None:
        return catalogue.name_of(default)
    if isinstance(default, BaseModel) or default in (None, ()):
        return None
    return list(default) if isinstance(default, tuple) else default


def _merged(below: Mapping[str, Any], above: Mapping[str, Any]) -> dict[str, Any]:
    """Return both mappings as one; values of `above` win."""
    merged = dict(below)
    for key, value in above.items():
        if isinstance(value, Mapping) and isinstance(merged.get(key), Mapping):
            merged[key] = _merged(merged[key], value)
        else:
            merged[key] = value
    return merged
