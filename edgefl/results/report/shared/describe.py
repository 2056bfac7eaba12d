"""Names of runs and the keys in which their scenarios differ, as texts for headings, labels and tables."""

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from edgefl.core.units import HERTZ, NO_NUMBER, as_number, quantity, unit_ending, units_of_key
from edgefl.results.report.shared.read import Run

ScenarioTree = Mapping[str, Any]  # a scenario as plain mappings, as it stands in scenario.yaml
MOST_LABEL_KEYS = 3
LONGEST = 60  # characters of a label or a table cell
# The plan of training follows from the other keys and from the processor. Plans differ only by rounding.
PLAN_KEYS = {"training.engine", "training.width"}
# Name and seed have their own part; targets change no round, nor does the folder in which a member from outside lies.
KEYS_NOT_IN_LABELS = {"name", "seed", "targets", "import_from"} | PLAN_KEYS


def at(scenario: ScenarioTree, path: str) -> Any:
    """Return the value at a dotted path, None where any part of the path is missing."""
    value: Any = scenario
    for key in path.split("."):
        if not isinstance(value, Mapping):
            return None
        value = value.get(key)
    return value


def name(run: Run) -> str:
    """Return the scenario's name."""
    return cut(str(at(run.scenario, "name") or "unnamed"))


def labels(runs: Sequence[Run]) -> list[str]:
    """Return one short label for each run, of what differs: the name, the seed, and keys with their values.

    Keys tell runs of the same name apart. Runs that do not differ are numbered.
    """
    names = [name(run) for run in runs]
    seeds = [f"seed {at(run.scenario, 'seed')}" for run in runs]
    names_and_seeds = [f"{name} · {seed}" for name, seed in zip(names, seeds, strict=True)]
    names_differ = len(set(names)) > 1
    seeds_differ = len(set(seeds)) > 1
    titles = names_and_seeds if names_differ else names
    key_texts = _distinguishing_keys(runs, titles)
    texts = []
    for own_name, name_and_seed, seed, keys in zip(names, names_and_seeds, seeds, key_texts, strict=True):
        if names_differ and seeds_differ:
            parts = [name_and_seed, *keys]
        elif names_differ:
            parts = [own_name, *keys]
        elif seeds_differ:
            parts = [*keys, seed]
        else:
            parts = keys
        label = " · ".join(parts) or name_and_seed
        texts.append(cut(label, 2 * LONGEST))
    return _numbered(texts)


def _distinguishing_keys(runs: Sequence[Run], titles: Sequence[str]) -> list[list[str]]:
    """Return for each run the first few keys, with values, that distinguish it from runs with the same title."""
    key_texts: list[list[str]] = [[] for _ in runs]
    for title in set(titles):
        indices = [index for index, other in enumerate(titles) if other == title]
        differing = differences([runs[index].scenario for index in indices])
        for key, values in differing.items():
            if key in KEYS_NOT_IN_LABELS:
                continue
            for index, value in zip(indices, values, strict=True):
                if value != NO_NUMBER and len(key_texts[index]) < MOST_LABEL_KEYS:
                    key_texts[index].append(f"{bare(key)} {value}")
    return key_texts


def bare(path: str) -> str:
    """Return a key without its block and without the unit in its name; instead of ``kind`` the name of its block."""
    key = path.removesuffix(".kind").rpartition(".")[2]
    return key.removesuffix(unit_ending(key)).replace("_", " ")


def _numbered(texts: Sequence[str]) -> list[str]:
    """Return the texts with a number behind those that occur more than once."""
    occurrences = Counter(texts)
    so_far = Counter[str]()
    result = []
    for text in texts:
        so_far[text] += 1  # the number of this occurrence, from 1
        if occurrences[text] == 1:
            result.append(text)
        else:
            result.append(f"{text} ({so_far[text]})")
    return result


def differences(scenarios: Sequence[ScenarioTree]) -> dict[str, list[str]]:
    """Return the dotted keys whose values are not the same in all scenarios, with one text for each scenario."""
    flat = [dict(flatten(scenario)) for scenario in scenarios]
    keys = dict.fromkeys(key for values in flat for key in values)  # in the order of the scenarios
    no_value = {NO_NUMBER, "null"}  # a key without a value counts as missing
    differing = {}
    # As texts, since a key may be a number in one scenario and a block in another.
    for key in keys:
        texts = [values.get(key, NO_NUMBER) for values in flat]
        if len(set(texts)) > 1 and not no_value.issuperset(texts):
            differing[key] = readable(key, texts)
    return differing


def shared(scenarios: Sequence[ScenarioTree]) -> ScenarioTree:
    """Return the part of the first scenario that all others have, too: the keys whose values are the same in all."""
    first, *others = scenarios
    return _shared_part(first, others)


def _shared_part(block: ScenarioTree, others: Sequence[Any]) -> ScenarioTree:
    """Return the keys of a block that all others have with the same value, in blocks inside it likewise."""
    part: dict[str, Any] = {}
    for key, value in block.items():
        values = [other.get(key) if isinstance(other, Mapping) else None for other in others]
        if isinstance(value, Mapping):
            inner = _shared_part(value, values)
            if inner:
                part[key] = inner
        elif all(_leaf_text(value) == _leaf_text(other) for other in values):
            part[key] = value
    return part


def readable(key: str, texts: Sequence[str]) -> list[str]:
    """Return the values of a key with their unit, unless rounding would make two of them look the same."""
    units = units_of_key(key)
    rounded = []
    for text in texts:
        is_number = as_number(text) is not None  # a key may also hold a word or a distribution
        rounded.append(quantity(text, units) if is_number else text)
    if len(set(rounded)) < len(set(texts)):
        rounded = list(texts)
    return [cut(text) for text in rounded]


def flatten(value: Any, path: str = "") -> Iterator[tuple[str, str]]:
    """Yield the leaves of nested mappings, each as its dotted path and its text."""
    if isinstance(value, Mapping) and value:
        for key, inner in value.items():
            inner_path = f"{path}.{key}" if path else str(key)
            yield from flatten(inner, inner_path)
    else:
        yield path, _leaf_text(value)


def _leaf_text(value: Any) -> str:
    if isinstance(value, float):  # 12 digits, as the results have: 0.1 + 0.2 is 0.3
        return f"{value:.12g}"
    if isinstance(value, str):
        return value
    return json.dumps(value, default=str)


def facts(scenario: ScenarioTree) -> list[str]:
    """Return the few facts that say what was emulated: the parts of the page's subtitle."""
    learning = [_member(scenario, "algorithm"), _data(scenario), _member(scenario, "model")]
    policy = _policy(scenario)
    if app(scenario):  # it brings all three, and chooses its participants
        learning = [f"Flower app {app(scenario)}"]
        policy = ""
    candidates = [
        *learning,
        _devices(scenario),
        policy,
        _radio(scenario),
        f"seed {at(scenario, 'seed')}" if at(scenario, "seed") is not None else "",
    ]
    return [cut(fact) for fact in candidates if fact]


def app(scenario: ScenarioTree) -> str:
    """Return the name of the Flower app that drove the run; an empty text for a run of our own."""
    return _text(at(scenario, "server.policy.app"))


def _data(scenario: ScenarioTree) -> str:
    """Return the dataset and how it is partitioned: ``digits (dirichlet, alpha 0.3)``."""
    dataset = _text(at(scenario, "data.dataset"))
    partition = _member(scenario, "data.partition")
    if not partition:
        return dataset
    return f"{dataset} ({partition})".strip()


def _devices(scenario: ScenarioTree) -> str:
    """Return how many devices take part: ``10 of 100 devices a round``."""
    count = at(scenario, "devices.count")
    participants = at(scenario, "server.participants")
    if count is None:
        return ""
    devices = f"{quantity(count)} devices"
    if as_number(participants) is None:
        return devices
    return f"{quantity(participants)} of {devices} a round"


def _policy(scenario: ScenarioTree) -> str:
    """Return the server's policy; an empty text for the default."""
    policy = _member(scenario, "server.policy")
    if policy == "synchronous":
        return ""
    return policy


def _radio(scenario: ScenarioTree) -> str:
    """Return bandwidth and carrier frequency: ``100 MHz at 3.5 GHz``."""
    bandwidth_hz = at(scenario, "radio.bandwidth_hz")
    carrier_hz = at(scenario, "radio.carrier_hz")
    if as_number(bandwidth_hz) is None:
        return ""
    bandwidth = quantity(bandwidth_hz, HERTZ)
    if as_number(carrier_hz) is None:
        return bandwidth
    return f"{bandwidth} at {quantity(carrier_hz, HERTZ)}"


def kind(scenario: ScenarioTree, path: str) -> str:
    """Return the name of the member chosen at a dotted path, written as text or as a ``{kind: ...}`` block."""
    value = at(scenario, path)
    if isinstance(value, Mapping):
        value = value.get("kind")
    return _text(value)


def _member(scenario: ScenarioTree, path: str) -> str:
    """Return a member with its plain numbers; an empty text where its kind is not known."""
    if not kind(scenario, path):
        return ""
    return block(at(scenario, path))


def block(value: Any) -> str:
    """Return a ``{kind: ...}`` block as its kind and its plain numbers: ``dirichlet, alpha 0.3``."""
    if not isinstance(value, Mapping):
        return _text(value)
    parts = [_text(value.get("kind"))]
    for key, inner in value.items():
        if type(inner) in {int, float}:  # not bool, which is an int to isinstance
            parts.append(f"{key} {inner:g}")
    return ", ".join(parts)


def _text(value: Any) -> str:
    return "" if value is None else str(value)


def cut(text: str, longest: int = LONGEST) -> str:
    """Return the text, with an ellipsis where it is too long for a heading or a table."""
    if len(text) <= longest:
        return text
    return text[: longest - 1] + "…"
