"""Labels of runs: what tables, figures and pages call each of several runs."""

import itertools
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from math import comb
from typing import Any, NamedTuple

from edgefl.core.units import NO_NUMBER, quantity, unit_ending, units_of_key
from edgefl.results.member_titles import catalogue_at, title
from edgefl.results.scenario_tree import ScenarioTree, at, bare, leaf_text, with_units

# The plan of training follows from the other keys and from the processor. Plans differ only by rounding.
PLAN_KEYS = frozenset({"training.engine", "training.width"})
# Label, name and seed have their own part; targets change no round, nor does the folder with a member from outside.
KEYS_NOT_IN_LABELS = frozenset({"label", "name", "seed", "targets", "import_from"}) | PLAN_KEYS

METHOD = "method"  # stands for the members below, which count as one key
METHOD_MEMBERS = ("algorithm", "server.policy", "server.selection")
# Of keys that tell runs apart equally well, the first is shown.
PREFERRED = (METHOD, *METHOD_MEMBERS, "model", "data", "training", "server", "devices", "radio", "cells", "churn")
SELF_EXPLAINING = frozenset({*METHOD_MEMBERS, "model", "data.dataset", "data.partition"})  # members without their key
TELLING_UNITS = frozenset({"_hz", "_dbm", "_mps"})  # units that say which quantity they belong to
LONGEST_VALUE = 40  # characters; longer values, such as lists of mappings, are numbered
MOST_TRIALS = 200_000  # of sets of keys, times runs; beyond, keys are added one by one

NOT_THERE = object()  # the value of a key of another kind of member, which cannot be compared
NO_VALUE = object()  # the value of a key that a scenario does not have


@dataclass
class _Key:
    """A key whose values differ: its value in each scenario [scenarios], as a text if it has one."""

    path: str
    values: list[Any]
    needs: set[str] = field(default_factory=set)  # keys without which its values cannot be compared
    is_kind: bool = False  # the values are the kinds of the member at this path


class _Chosen(NamedTuple):
    """The keys that are shown, and the texts of their values [scenarios]."""

    keys: Sequence[_Key]
    texts: Mapping[str, Sequence[str]]


def labels(scenarios: Sequence[ScenarioTree]) -> list[str]:
    """Return one short label for each scenario; all are different.

    A label is the scenario's own `label`, or its `name` where the names differ. Scenarios that share it are told
    apart by the smallest number of keys that does so, and the seed only if they are still the same. Algorithm,
    policy and selection count as one key. Scenarios without any difference are numbered.
    """
    titles = _titles(scenarios)
    texts = [""] * len(scenarios)
    for shared in dict.fromkeys(titles):
        places = [place for place, other in enumerate(titles) if other == shared]
        own = [scenarios[place] for place in places]
        for place, text in zip(places, _told_apart(own), strict=True):
            texts[place] = text
    several_titles = len(set(titles)) > 1
    result = []
    for scenario, shown, text in zip(scenarios, titles, texts, strict=True):
        is_labelled = scenario.get("label") is not None
        if is_labelled or several_titles or not text:
            result.append(", ".join(part for part in (shown, text) if part))
        else:
            result.append(text)
    return _numbered(result)


def _titles(scenarios: Sequence[ScenarioTree]) -> list[str]:
    """Return the label of each scenario, or else its name; of a single one beside labelled ones, its algorithm."""
    titles = [str(scenario.get("label") or scenario.get("name") or "unnamed") for scenario in scenarios]
    unlabelled = [place for place, scenario in enumerate(scenarios) if scenario.get("label") is None]
    names = {titles[place] for place in unlabelled}
    if len(unlabelled) == len(scenarios) or len(names) != 1:
        return titles
    # They have one name, which says less about them than what they run.
    algorithms = {_kind(scenarios[place].get("algorithm")) for place in unlabelled}
    shown = title("algorithm", algorithms.pop()) if len(algorithms) == 1 else ""
    for place in unlabelled:
        titles[place] = shown
    return titles


def _kind(value: Any) -> str:
    if isinstance(value, Mapping):
        value = value.get("kind")
    return "" if value is None else str(value)


def _told_apart(scenarios: Sequence[ScenarioTree]) -> list[str]:
    """Return for each scenario the few keys, with values, that tell it from the others; equal ones have equal texts."""
    keys = _differing(scenarios)
    chosen = _Chosen(keys, {key.path: _value_texts(key) for key in _with_members(keys)})
    few = _fewest(keys, len(scenarios))
    texts = [_text(place, scenario, few, chosen) for place, scenario in enumerate(scenarios)]
    seeds = [str(scenario.get("seed")) for scenario in scenarios]
    seeds_of: dict[str, set[str]] = {}
    for text, seed in zip(texts, seeds, strict=True):
        seeds_of.setdefault(text, set()).add(seed)
    result = []
    for text, seed in zip(texts, seeds, strict=True):
        parts = [text] if text else []
        if len(seeds_of[text]) > 1:
            parts.append(f"seed {seed}")
        result.append(", ".join(parts))
    return result


# Keys that differ


def _differing(scenarios: Sequence[ScenarioTree]) -> list[_Key]:
    """Return the keys that tell some scenarios apart, preferred ones first; the members of a method are one key."""
    found: dict[str, _Key] = {}
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
        keys.append(_Method(METHOD, values, parts=parts))
        for key in keys:
            if key.needs & set(METHOD_MEMBERS):
                key.needs = key.needs - set(METHOD_MEMBERS) | {METHOD}
    return sorted(keys, key=lambda key: _rank(key.path))


@dataclass
class _Method(_Key):
    """The kinds of algorithm, policy and selection as one key."""

    parts: Sequence[_Key] = ()


def _rank(path: str) -> int:
    for rank, prefix in enumerate(PREFERRED):
        if path == prefix or path.startswith(f"{prefix}."):
            return rank
    return len(PREFERRED)


def _walk(path: str, values: list[Any], needs: set[str]) -> Iterator[_Key]:
    """Yield the keys at and below a path whose values [scenarios] differ; `NOT_THERE` differs from nothing."""
    if path in KEYS_NOT_IN_LABELS:
        return
    values = _as_blocks(path, values)
    if not _are_blocks(path, values):
        texts = [value if value is NOT_THERE or value is NO_VALUE else _leaf(path, value) for value in values]
        if len(set(texts) - {NOT_THERE}) > 1:
            yield _Key(path, texts, set(needs))
        return
    kinds = [_discriminator(value) for value in values]
    if len(set(kinds) - {NOT_THERE}) > 1:
        yield _Key(path, kinds, set(needs), is_kind=True)
        needs = needs | {path}
    for kind in dict.fromkeys(kind for kind in kinds if isinstance(kind, str)):
        # Blocks of one kind are compared key by key.
        same = [value if other == kind else NOT_THERE for value, other in zip(values, kinds, strict=True)]
        for name in dict.fromkeys(name for value in same if isinstance(value, Mapping) for name in value):
            inner = [value.get(name, NO_VALUE) if isinstance(value, Mapping) else value for value in same]
            if name != "kind":
                yield from _walk(f"{path}.{name}" if path else str(name), inner, needs)


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


def _leaf(path: str, value: Any) -> str:
    """Return a value as text; a distribution such as {exponential: 20} as ``exponential 20 s``."""
    if not isinstance(value, Mapping) or "kind" in value:
        return leaf_text(value)
    units = units_of_key(path)
    parts = []
    for name, numbers in value.items():
        each = numbers if isinstance(numbers, list | tuple) else [numbers]
        parts.append(f"{name} {' to '.join(quantity(number, units) for number in each)}")
    text = " ".join(parts)
    return text if NO_NUMBER not in text else leaf_text(value)


def _discriminator(value: Any) -> Any:
    """Return the kind of a block, on which it depends what keys the block has; "" for a block without kinds."""
    if isinstance(value, Mapping):
        return str(value.get("kind", ""))
    return value


# The fewest keys


def _fewest(keys: Sequence[_Key], count: int) -> list[_Key]:
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
    """Return how many groups of scenarios some keys tell apart."""
    columns = [codes[path] for path in paths]
    return len(set(zip(*columns, strict=True))) if columns else min(1, count)


def _few(
    paths: Sequence[str], by_path: Mapping[str, _Key], codes: Mapping[str, Sequence[int]], count: int
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


# Texts


def _with_members(keys: Sequence[_Key]) -> list[_Key]:
    """Return the keys, with the parts of a method in its place."""
    result: list[_Key] = []
    for key in keys:
        result += key.parts if isinstance(key, _Method) else [key]
    return result


def _value_texts(key: _Key) -> list[str]:
    """Return the values of a key as people write them; empty texts where it has none."""
    if key.is_kind:
        return [_kind_text(key, value) for value in key.values]
    texts = [value for value in key.values if isinstance(value, str)]
    shown = dict(zip(texts, with_units(key.path, texts), strict=True))
    long_texts = list(dict.fromkeys(text for text in texts if len(shown[text]) > LONGEST_VALUE))
    for number, text in enumerate(long_texts, 1):
        shown[text] = f"({number})"
    return [shown.get(value, "") if isinstance(value, str) else "" for value in key.values]


def _kind_text(key: _Key, kind: Any) -> str:
    name = bare(key.path)
    if kind is NOT_THERE or kind is NO_VALUE:
        return ""
    if kind is None or kind == "none":
        return f"no {name}"
    if kind == "":
        return f"with {name}"
    own = title(key.path, kind)
    others = {other for other in key.values if isinstance(other, str) and other != kind}
    if any(title(key.path, other) == own for other in others):  # classes of two modules with one name
        own = kind
    return own if key.path in SELF_EXPLAINING else f"{name} {own}"


def _text(place: int, scenario: ScenarioTree, few: Sequence[_Key], chosen: _Chosen) -> str:
    """Return the values of the chosen keys in one scenario: ``FedProx 0.1 + FastButFair, 10 MHz``."""
    shown = [key for key in _with_members(few) if chosen.texts[key.path][place]]
    members: dict[str, str] = {}  # the part of the text about each member
    for key in shown:
        if key.is_kind:
            members[key.path] = chosen.texts[key.path][place]
    settings: dict[str, list[_Key]] = {}  # keys of each member
    parts: dict[str, str] = {}
    for key in shown:
        block = _block(key.path)
        if key.is_kind:
            parts[key.path] = members[key.path]
        elif block and _kind(at(scenario, block)):  # a setting of a member
            settings.setdefault(block, []).append(key)
            members.setdefault(block, title(block, _kind(at(scenario, block))))
            parts.setdefault(block, "")
        else:
            parts[key.path] = _setting(key, chosen.texts[key.path][place], shown)
    for block, own in settings.items():
        values = [(key, chosen.texts[key.path][place]) for key in own]
        if len(values) == 1 and values[0][1][:1].isdigit():
            text = values[0][1]
        else:
            text = f"({', '.join(_named(key.path, value) for key, value in values)})"
        parts[block] = f"{members[block]} {text}"
    method = " + ".join(parts.pop(path) for path in METHOD_MEMBERS if path in parts)
    return ", ".join(part for part in (method, *parts.values()) if part)


def _block(path: str) -> str:
    """Return the innermost member to which a key belongs; an empty text without one."""
    parts = path.split(".")[:-1]
    for count in range(len(parts), 0, -1):
        block = ".".join(parts[:count])
        if catalogue_at(block) is not None:
            return block
    return ""


def _setting(key: _Key, text: str, shown: Sequence[_Key]) -> str:
    """Return a value with its unit if this says what it is, else with its key."""
    ending = unit_ending(key.path)
    same_unit = [other for other in shown if not other.is_kind and unit_ending(other.path) == ending]
    if ending in TELLING_UNITS and len(same_unit) == 1 and " " in text:
        return text
    same_name = [other for other in shown if bare(other.path) == bare(key.path)]
    if len(same_name) > 1:  # such as training.lr and algorithm.lr
        return f"{key.path} {text}"
    return _named(key.path, text)


def _named(path: str, text: str) -> str:
    if text == "null":
        return f"no {bare(path)}"
    if text == "true":
        return bare(path)
    if text == "false":
        return f"no {bare(path)}"
    return f"{bare(path)} {text}"


def _numbered(texts: Sequence[str]) -> list[str]:
    """Return the texts with a number behind those that occur more than once; all are different."""
    occurrences = Counter(texts)
    used = {text for text in texts if occurrences[text] == 1}
    result = []
    for text in texts:
        unique = text
        number = 0
        while occurrences[text] > 1 and (unique == text or unique in used):
            number += 1
            unique = f"{text} ({number})"
        used.add(unique)
        result.append(unique)
    return result
