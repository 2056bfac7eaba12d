"""Names of a sweep's points: numbers and values, as far as they fit into the name of a folder."""

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from edgefl.records.swept_keys import LABEL, beside_label

MOST_NAME_BYTES = 100  # of a point's values in the name of its folder
FIRST = (LABEL, "algorithm", "server.policy", "server.selection")  # keys of the method lead

Assigned = Mapping[str, Any]  # dotted key -> value
_MODULE = re.compile(r"^[^:\s]+:(?=[A-Za-z_])")  # before the class of a member from outside: my_nova:MyNova


class PointNames(NamedTuple):
    """The names of a sweep's points [points], and the keys that differ between points but not in these names."""

    names: Sequence[str]
    left_out: Sequence[str]


def point_names(points: Sequence[Assigned]) -> PointNames:
    """Return a name for each point: its number, and its values, the method's first.

    Values are shortened, but never cut: a key that does not fit is left out of all names. The number makes the names
    unique.
    """
    shown = beside_label(points)
    order = [key for key in FIRST if key in shown] + [key for key in shown if key not in FIRST]
    keys = list(dict.fromkeys(key for point in points for key in point))
    parts = {key: _parts(key, _shortest(key, keys), points) for key in order}
    columns: list[Sequence[str]] = []
    left_out = []
    for key in order:
        texts = _joined([*columns, parts[key]], len(points))
        if all(len(text.encode()) <= MOST_NAME_BYTES for text in texts):
            columns.append(parts[key])
        else:
            left_out.append(key)
    width = len(str(len(points)))
    names = [
        f"{number:0{width}d}-{text}".removesuffix("-") for number, text in enumerate(_joined(columns, len(points)), 1)
    ]
    return PointNames(names, left_out)


def _joined(columns: Sequence[Sequence[str]], count: int) -> list[str]:
    """Return the parts of each point [points] as one text."""
    texts = []
    for place in range(count):
        parts = [column[place] for column in columns if column[place]]
        texts.append(_safe(",".join(parts)))
    return texts


def _parts(key: str, short: str, points: Sequence[Assigned]) -> list[str]:
    """Return ``key=value`` for each point [points], an empty text for points without the key."""
    values = [point[key] for point in points if key in point]
    texts = _value_texts(values)
    parts = []
    for point in points:
        if key not in point:
            parts.append("")
        elif key == LABEL:
            parts.append(texts[_written(point[key])])
        else:
            parts.append(f"{short}={texts[_written(point[key])]}")
    return parts


def _value_texts(values: Sequence[Any]) -> dict[str, str]:
    """Return the texts of a key's values, by the values as JSON: short ones, unless two values would look alike."""
    whole = {_written(value): short_text(value) for value in values}
    # Blocks of one kind are told apart by the keys that differ between them.
    by_kind: dict[str, list[Mapping[str, Any]]] = {}
    for value in values:
        if isinstance(value, Mapping) and "kind" in value:
            by_kind.setdefault(str(value["kind"]), []).append(value)
        elif isinstance(value, str):
            by_kind.setdefault(value, []).append({})
    short = {}
    for value in values:
        told = value
        if isinstance(value, Mapping) and "kind" in value:
            same = by_kind[str(value["kind"])]
            differing = {name for name in value if len({_written(other.get(name)) for other in same}) > 1}
            told = {name: item for name, item in value.items() if name == "kind" or name in differing}
        short[_written(value)] = _MODULE.sub("", short_text(told))
    if len(set(map(_safe, short.values()))) == len(short):
        return short
    return whole


def _written(value: Any) -> str:
    return json.dumps(value, default=str, sort_keys=True)


def _safe(text: str) -> str:
    return re.sub(r"[^\w.,=+-]", "_", text)


def _shortest(key: str, keys: Sequence[str]) -> str:
    """Return the shortest ending of a dotted key that no other key has."""
    parts = key.split(".")
    for count in range(1, len(parts)):
        tail = ".".join(parts[-count:])
        if sum(other == tail or other.endswith(f".{tail}") for other in keys) == 1:
            return tail
    return key


def short_text(value: Any) -> str:
    """Return a value as short text."""
    if isinstance(value, Mapping):
        pieces = [f"{key}{short_text(item)}" for key, item in value.items() if key != "kind"]
        if "kind" in value:
            pieces.insert(0, str(value["kind"]))
        return "-".join(pieces)
    if isinstance(value, (list, tuple)):
        return "-".join(short_text(item) for item in value)
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        if abs(value) < 1e5:
            return f"{value:g}"
        return f"{value:.6g}".replace("e+0", "e").replace("e+", "e")
    return str(value)
