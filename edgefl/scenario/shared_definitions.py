"""Repeated parts of a JSON Schema as definitions, under ``$defs``, to which the schema refers."""

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
    counts: Counter[str] = Counter()
    names: dict[str, str] = {}  # of shared parts, by their text
    shared: dict[str, Schema] = {}

    def count(_name: str, part: Schema) -> Schema:
        counts[_text(part)] += 1
        return _with_parts(part, count)

    def refer(name: str, part: Schema) -> Schema:
        text = _text(part)
        changed = _with_parts(part, refer)
        if counts[text] == 1 or len(text) < SHORTEST:
            return changed
        if text not in names:
            names[text] = _free(name, {*definitions, *shared})
            shared[names[text]] = _body(changed)
        own = {key: part[key] for key in OF_A_KEY if key in part}
        return {**own, "$ref": REFERENCE + names[text]}

    for part in (root, *definitions.values()):
        _with_parts(part, count)
    whole = _with_parts(root, refer)
    definitions = {name: _with_parts(part, refer) for name, part in definitions.items()}
    root.clear()
    root.update(whole)
    root["$defs"] = definitions | shared


def _body(part: Schema) -> Schema:
    return {key: value for key, value in part.items() if key not in OF_A_KEY}


def _text(part: Schema) -> str:
    return json.dumps(_body(part), sort_keys=True)


def _free(name: str, taken: set[str]) -> str:
    """Return the name, with a number at its end if it is taken."""
    free = name
    number = 1
    while free in taken:
        number += 1
        free = f"{name}_{number}"
    return free


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
    properties = part.get("properties", {})
    kind = properties.get("kind", {}).get("const")
    return str(kind or next(iter(properties), part.get("type", "choice")))
