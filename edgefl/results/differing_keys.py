"""The keys that tell scenarios apart, and the fewest of them that do so."""

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from math import comb
from typing import Any

from edgefl.core.units import NO_NUMBER, quantity, unit_ending, units_of_key
from edgefl.results.member_titles import catalogue_at
from edgefl.results.scenario_tree import ScenarioTree, leaf_text

# The plan of training follows from the other keys and from the processor. Plans differ only by rounding.
PLAN_KEYS = frozenset({"training.engine", "training.width"})
# Label, name and seed have their own part; targets change no round, nor does the folder with a member from outside.
KEYS_NOT_IN_LABELS = frozenset({"label", "name", "seed", "targets", "import_from"}) | PLAN_KEYS

METHOD = "method"  # stands for the members below, which count as one key
METHOD_MEMBERS = ("algorithm", "server.policy", "server.selection")
# Of keys that tell runs apart equally well, the first is shown.
PREFERRED = (METHOD, *METHOD_MEMBERS, "model", "data", "training", "server", "devices", "radio", "cells", "churn")
MOST_TRIALS = 200_000  # of sets of keys, times runs; beyond, keys are added one by one

NOT_THERE = object()  # the value of a key of another kind of member, which cannot be compared
NO_VALUE = object()  # the value of a key that a scenario does not have


@dataclass
class DifferingKey:
    """A key whose values differ: its value in each scenario [scenarios], as a text if it has one."""

    path: str
    values: list[Any]
    needs: set[str] = field(default_factory=set)  # keys without which its values cannot be compared
    is_kind: bool = False  # the values are the kinds of the member at this path


@dataclass
class Method(DifferingKey):
    """The kinds of algorithm, policy and selection as one key."""

    parts: Sequence[DifferingKey] = ()


def differing_keys(scenarios: Sequence[ScenarioTree]) -> list[DifferingKey]:
    """Return the keys that tell some scenarios apart, preferred ones first; the members of a method are one key."""
    found: dict[str, DifferingKey] = {}
    for key in _walk("", list(scenarios), set()):
        before = found.get(key.path)
        if before is None:
            found[key.path] = key
            continue
        # Members of two kinds have a key of the same name.
        for place, value in enumerate(key.values):
            if value is not NOT_THERE:
                before.values[place] = value
        before.needs |= key.needs
    parts = [found.pop(path) for path in METHOD_MEMBERS if path in found]
    keys = list(found.values())
    if parts:
        values = [tuple(part.values[place] for part in parts) for place in range(len(scenarios))]
        keys.append(Method(METHOD, values, parts=parts))
        for key in keys:
            if key.needs & set(METHOD_MEMBERS):
                key.needs = key.needs - set(METHOD_MEMBERS) | {METHOD}
    return sorted(keys, key=lambda key: _rank(key.path))


def _rank(path: str) -> int:
    for rank, prefix in enumerate(PREFERRED):
        if path == prefix or path.startswith(f"{prefix}."):
            return rank
    return len(PREFERRED)


def _walk(path: str, values: list[Any], needs: set[str]) -> Iterator[DifferingKey]:
    """Yield the keys at and below a path whose values [scenarios] differ; `NOT_THERE` differs from nothing."""
    if path in KEYS_NOT_IN_LABELS:
        return
    values = _as_blocks(path, values)
    if not _are_blocks(path, values):
        texts = [_leaf(path, value) for value in values]
        if len(set(texts) - {NOT_THERE}) > 1:
            yield DifferingKey(path, texts, set(needs))
        return
    kinds = [_discriminator(value) for value in values]
    if len(set(kinds) - {NOT_THERE}) > 1:
        yield DifferingKey(path, kinds, set(needs), is_kind=True)
        needs = needs | {path}
    for kind in dict.fromkeys(kind for kind in kinds if isinstance(kind, str)):
        # Blocks of one kind are compared key by key.
        blocks = [_if_kind(value, other, kind) for value, other in zip(values, kinds, strict=True)]
        for name in _names(blocks):
            yield from _walk(f"{path}.{name}".lstrip("."), [_inner(block, name) for block in blocks], needs)


def _if_kind(value: Any, kind: Any, wanted: str) -> Any:
    if kind == wanted:
        return value
    return NOT_THERE


def _names(blocks: Sequence[Any]) -> list[str]:
    names: dict[str, None] = {}
    for block in blocks:
        if isinstance(block, Mapping):
            names |= dict.fromkeys(block)
    names.pop("kind", None)
    return list(names)


def _inner(block: Any, name: str) -> Any:
    """Return the value of a key of a block; a block that is not there has none that could be compared."""
    if isinstance(block, Mapping):
        return block.get(name, NO_VALUE)
    return block


def _as_blocks(path: str, values: list[Any]) -> list[Any]:
    """Return values that stand for blocks as blocks: `algorithm: fedavg` is {kind: fedavg}."""
    has_kinds = any(isinstance(value, Mapping) and "kind" in value for value in values)
    if has_kinds or catalogue_at(path) is not None:
        return [{"kind": value} if isinstance(value, str) else value for value in values]
    if any(isinstance(value, Mapping) for value in values) and None not in values:
        return [{} if value is NO_VALUE else value for value in values]  # a section without any of its keys
    return values


def _are_blocks(path: str, values: list[Any]) -> bool:
    """Return whether the values are blocks that are compared key by key, or missing; a distribution is one value."""
    blocks = [value for value in values if isinstance(value, Mapping)]
    others = [value for value in values if not isinstance(value, Mapping)]
    is_distribution = bool(unit_ending(path)) and not any("kind" in block for block in blocks)
    all_missing = all(value is None or value is NO_VALUE or value is NOT_THERE for value in others)
    return bool(blocks) and not is_distribution and all_missing


def _leaf(path: str, value: Any) -> Any:
    """Return a value as text, if there is one; a distribution such as {exponential: 20} as ``exponential 20 s``."""
    if value is NOT_THERE or value is NO_VALUE:
        return value
    if not isinstance(value, Mapping) or "kind" in value:
        return leaf_text(value)
    units = units_of_key(path)
    parts = []
    for name, numbers in value.items():
        several = isinstance(numbers, list | tuple)
        quantities = [quantity(number, units) for number in (numbers if several else [numbers])]
        parts.append(f"{name} {' to '.join(quantities)}")
    text = " ".join(parts)
    if NO_NUMBER in text:
        return leaf_text(value)
    return text


def _discriminator(value: Any) -> Any:
    """Return the kind of a block, on which it depends what keys the block has; "" for a block without kinds."""
    if isinstance(value, Mapping):
        return str(value.get("kind", ""))
    return value


# The fewest keys


def fewest(keys: Sequence[DifferingKey], count: int) -> list[DifferingKey]:
    """Return the smallest set of keys that tells apart all that all keys tell apart, of several the preferred one.

    A key is only in the set together with those that it needs. With very many keys the set may be larger.
    """
    by_path = {key.path: key for key in keys}
    codes = {key.path: _codes(key.values) for key in keys}
    # Of keys that divide the scenarios in the same way, the first stands for all.
    kept: dict[Any, str] = {}
    for key in keys:
        kept.setdefault((codes[key.path], frozenset(key.needs)), key.path)
    needed = {path for key in keys for path in key.needs}
    paths = [path for path in by_path if path in kept.values() or path in needed]
    wanted = _told(paths, codes, count)
    trials = 0
    for size in range(len(paths) + 1):
        trials += comb(len(paths), size) * count
        if trials > MOST_TRIALS:
            return [by_path[path] for path in _few(paths, by_path, codes, count)]
        for chosen in itertools.combinations(paths, size):
            complete = all(by_path[path].needs <= set(chosen) for path in chosen)
            if complete and _told(chosen, codes, count) == wanted:
                return [by_path[path] for path in chosen]
    raise AssertionError("all keys together tell apart what all keys tell apart")


def _codes(values: Sequence[Any]) -> tuple[int, ...]:
    """Return values as numbers: equal ones have the same."""
    numbers: dict[Any, int] = {}
    return tuple(numbers.setdefault(value, len(numbers)) for value in values)


def _told(paths: Sequence[str], codes: Mapping[str, Sequence[int]], count: int) -> int:
    if not paths:
        return min(1, count)
    columns = [codes[path] for path in paths]
    return len(set(zip(*columns, strict=True)))


def _few(
    paths: Sequence[str], by_path: Mapping[str, DifferingKey], codes: Mapping[str, Sequence[int]], count: int
) -> list[str]:
    """Return a small set of keys: the one that tells most apart is added until all are told apart (greedy)."""
    wanted = _told(paths, codes, count)
    chosen: list[str] = []
    while _told(chosen, codes, count) < wanted:
        sets = [list(dict.fromkeys([*chosen, *by_path[path].needs, path])) for path in paths]
        chosen = max((each for each in sets if len(each) > len(chosen)), key=lambda each: _told(each, codes, count))
    for path in reversed(paths):
        rest = [other for other in chosen if other != path and path not in by_path[other].needs]
        if path in chosen and len(rest) == len(chosen) - 1 and _told(rest, codes, count) == wanted:
            chosen = rest
    return sorted(chosen, key=list(paths).index)
