"""Labels of runs: what tables, figures and pages call each of several runs."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from edgefl.core.units import unit_ending
from edgefl.results.differing_keys import (
    METHOD_MEMBERS,
    NO_VALUE,
    NOT_THERE,
    DifferingKey,
    Method,
    differing_keys,
    fewest,
)
from edgefl.results.member_titles import catalogue_at, title
from edgefl.results.scenario_tree import ScenarioTree, at, bare, with_units

SELF_EXPLAINING = frozenset({*METHOD_MEMBERS, "model", "data.dataset", "data.partition"})  # members without their key
TELLING_UNITS = frozenset({"_hz", "_dbm", "_mps"})  # units that say which quantity they belong to
LONGEST_VALUE = 40  # characters; longer values, such as lists of mappings, are numbered


class _Chosen(NamedTuple):
    """The keys that are shown, and the texts of their values [scenarios]."""

    keys: Sequence[DifferingKey]
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
    keys = differing_keys(scenarios)
    chosen = _Chosen(keys, {key.path: _value_texts(key) for key in _with_members(keys)})
    few = fewest(keys, len(scenarios))
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


# Texts


def _with_members(keys: Sequence[DifferingKey]) -> list[DifferingKey]:
    result: list[DifferingKey] = []
    for key in keys:
        result += key.parts if isinstance(key, Method) else [key]
    return result


def _value_texts(key: DifferingKey) -> list[str]:
    if key.is_kind:
        return [_kind_text(key, value) for value in key.values]
    texts = [value for value in key.values if isinstance(value, str)]
    shown = dict(zip(texts, with_units(key.path, texts), strict=True))
    long_texts = list(dict.fromkeys(text for text in texts if len(shown[text]) > LONGEST_VALUE))
    for number, text in enumerate(long_texts, 1):
        shown[text] = f"({number})"
    return [shown.get(value, "") if isinstance(value, str) else "" for value in key.values]


def _kind_text(key: DifferingKey, kind: Any) -> str:
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


def _text(place: int, scenario: ScenarioTree, few: Sequence[DifferingKey], chosen: _Chosen) -> str:
    """Return the values of the chosen keys in one scenario: ``FedProx 0.1 + FastButFair, 10 MHz``."""
    shown = [key for key in _with_members(few) if chosen.texts[key.path][place]]
    members: dict[str, str] = {}  # the part of the text about each member
    for key in shown:
        if key.is_kind:
            members[key.path] = chosen.texts[key.path][place]
    settings: dict[str, list[DifferingKey]] = {}  # keys of each member
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
    parts = path.split(".")[:-1]
    for count in range(len(parts), 0, -1):
        block = ".".join(parts[:count])
        if catalogue_at(block) is not None:
            return block
    return ""


def _setting(key: DifferingKey, text: str, shown: Sequence[DifferingKey]) -> str:
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
