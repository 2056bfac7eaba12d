"""Repeated parts of a JSON Schema as definitions, under ``$defs``, to which the schema refers."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from typing import Any

Schema = dict[str, Any]

SHORTEST = 120  # characters of a part that becomes a definition
OF_A_KEY = ("description", "default")  # entries that belong to a key, and not to the shared part
REFERENCE = "#/$defs/"


def share_definitions(root: Schema) -> None:
    """Move the repeated parts of a schema to its ``$defs``, in place, without changing its meaning."""
    definitions: dict[str, Schema] = root.pop("$defs", {})
    candidates = _Candidates(set(definitions))
    whole = _with_parts(root, candidates.reference_to)
    definitions = {name: _with_parts(part, candidates.reference_to) for name, part in definitions.items()}

    # A part that occurs only once goes back to its place.
    references = _count_references([whole, *definitions.values(), *candidates.parts.values()])
    single = {name: part for name, part in candidates.parts.items() if references[name] == 1}
    repeated = {name: part for name, part in candidates.parts.items() if references[name] > 1}

    def put_back(_name: str, part: Schema) -> Schema:
        name = part.get("$ref", "").removeprefix(REFERENCE)
        if name in single:
            own = {key: value for key, value in part.items() if key != "$ref"}
            part = {**single[name], **own}
        return _with_parts(part, put_back)

    definitions |= repeated
    root.clear()
    root.update(_with_parts(whole, put_back))
    root["$defs"] = {name: _with_parts(part, put_back) for name, part in definitions.items()}


class _Candidates:
    """The parts that are long enough for a definition, each once, by name."""

    def __init__(self, taken: set[str]) -> None:
        self.parts: dict[str, Schema] = {}
        self._taken = taken
        self._names: dict[str, str] = {}  # by the text of the part

    def reference_to(self, name: str, part: Schema) -> Schema:
        """Return a reference to a part, which is entered under this name; a short part is returned unchanged."""
        part = _with_parts(part, self.reference_to)
        own = {key: part[key] for key in OF_A_KEY if key in part}
        body = {key: value for key, value in part.items() if key not in own}
        text = json.dumps(body, sort_keys=True)
        if len(text) < SHORTEST:
            return part
        if text not in self._names:
            self._names[text] = self._free(name)
            self.parts[self._names[text]] = body
        return {**own, "$ref": REFERENCE + self._names[text]}

    def _free(self, name: str) -> str:
        """Return the name, with a number at its end if it is taken."""
        free = name
        number = 1
        while free in self._taken:
            number += 1
            free = f"{name}_{number}"
        self._taken.add(free)
        return free


def _count_references(parts: list[Schema]) -> Counter[str]:
    """Return how often each definition is referred to."""
    counts: Counter[str] = Counter()

    def count(_name: str, part: Schema) -> Schema:
        if "$ref" in part:
            counts[part["$ref"].removeprefix(REFERENCE)] += 1
        return _with_parts(part, count)

    for part in parts:
        count("", part)
    return counts


def _with_parts(schema: Schema, changed: Callable[[str, Schema], Schema]) -> Schema:
    """Return a schema with each of its parts changed by a function, which gets a name for the part and the part."""
    result = dict(schema)
    for name, part in schema.get("properties", {}).items():
        result["properties"] = result["properties"] | {name: changed(name, part)}
    for key in ("anyOf", "prefixItems"):
        if key in schema:
            result[key] = [changed(_name_of(part), part) for part in schema[key]]
    for key in ("items", "additionalProperties"):
        if isinstance(schema.get(key), dict):
            result[key] = changed(_name_of(schema[key]), schema[key])
    return result


def _name_of(part: Schema) -> str:
    """Return a name for an alternative or an entry of a list: the member's, or else that of its first key."""
    properties = part.get("properties", {})
    kind = properties.get("kind", {}).get("const")
    return str(kind or next(iter(properties), part.get("type", "choice")))
