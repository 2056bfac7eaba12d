"""A scenario as plain mappings, as it stands in scenario.yaml: its values by dotted keys, and their texts."""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from edgefl.core.units import as_number, quantity, unit_ending, units_of_key

ScenarioTree = Mapping[str, Any]


def at(scenario: ScenarioTree, path: str) -> Any:
    """Return the value at a dotted path, None where any part of the path is missing."""
    value: Any = scenario
    for key in path.split("."):
        if not isinstance(value, Mapping):
            return None
        value = value.get(key)
    return value


def has_deadline(scenario: ScenarioTree) -> bool:
    """Return whether a deadline ends rounds, so that the time of a run says little about what it achieved."""
    return at(scenario, "server.deadline_s") is not None


def tree_of(values: Mapping[str, Any]) -> ScenarioTree:
    """Return values by dotted keys, such as those of a sweep's point, as nested mappings."""
    tree: dict[str, Any] = {}
    # Short keys first: `algorithm` is the block into which `algorithm.mu` is put.
    for path, value in sorted(values.items(), key=lambda item: item[0].count(".")):
        *sections, key = path.split(".")
        node = tree
        for section in sections:
            inner = node.get(section)
            if isinstance(inner, str):  # `algorithm: fedprox` is {kind: fedprox}
                inner = {"kind": inner}
            if not isinstance(inner, Mapping):
                inner = {}
            node[section] = dict(inner)
            node = node[section]
        node[key] = value
    return tree


def flatten(value: Any, path: str = "") -> Iterator[tuple[str, str]]:
    """Yield the leaves of nested mappings, each as its dotted path and its text."""
    if isinstance(value, Mapping) and value:
        for key, inner in value.items():
            yield from flatten(inner, f"{path}.{key}".removeprefix("."))
    else:
        yield path, leaf_text(value)


def leaf_text(value: Any) -> str:
    """Return a value as text; equal values have equal texts."""
    if isinstance(value, float):  # 12 digits, as the results have: 0.1 + 0.2 is 0.3
        return f"{value:.12g}"
    if isinstance(value, str):
        return value
    return json.dumps(value, default=str)


def bare(path: str) -> str:
    """Return a key without its block and without the unit in its name; of `kind` and `count` the name of the block."""
    key = path.removesuffix(".kind").removesuffix(".count").rpartition(".")[2]
    return key.removesuffix(unit_ending(key)).replace("_", " ")


def with_units(key: str, texts: Sequence[str]) -> list[str]:
    """Return the values of a key with their unit, unless rounding would make two of them look the same."""
    units = units_of_key(key)
    rounded = []
    for text in texts:
        if as_number(text) is None:  # a key may also hold a word or a distribution
            rounded.append(text)
        else:
            rounded.append(quantity(text, units))
    if len(set(rounded)) < len(set(texts)):
        return list(texts)
    return rounded
