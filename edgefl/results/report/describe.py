"""What a run is called and what sets it apart, as told by its scenario."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from edgefl.core.units import ENERGY, HERTZ, NO_NUMBER, PLAIN, RATE, TIME, as_number, quantity
from edgefl.results.report.read import Run

UNITS = {"_per_s": RATE, "_hz": HERTZ, "_j": ENERGY, "_s": TIME}  # the first that fits
MOST_KEYS = 3  # in a label
LONGEST = 60  # characters of a label or a table cell
Scenario = Mapping[str, Any]


def at(scenario: Scenario, path: str) -> Any:
    """The value at a dotted path, None where any part of it is missing."""
    value: Any = scenario
    for key in path.split("."):
        value = value.get(key) if isinstance(value, Mapping) else None
    return value


def name(run: Run) -> str:
    """The scenario's name."""
    return cut(str(at(run.scenario, "name") or "unnamed"))


def labels(runs: Sequence[Run]) -> list[str]:
    """One short label a run.

    Name and seed where the names differ, else what differs; a number where two labels would be the same.
    """
    names, seeds = [name(run) for run in runs], [f"seed {at(run.scenario, 'seed')}" for run in runs]
    plain = [f"{name} · {seed}" for name, seed in zip(names, seeds, strict=True)]
    several, sown = len(set(names)) > 1, len(set(seeds)) > 1
    keys = _apart(runs, plain if several else names)
    if several:
        parts = [[label, *some] for label, some in zip(plain, keys, strict=True)]
    else:
        parts = [[*some, *([seed] if sown else [])] for seed, some in zip(seeds, keys, strict=True)]
    texts = [" · ".join(part) or label for part, label in zip(parts, plain, strict=True)]
    return _numbered([cut(text, 2 * LONGEST) for text in texts])


def _apart(runs: Sequence[Run], called: Sequence[str]) -> list[list[str]]:
    """For every run the first keys, with their values, that tell it from the runs that are called the same."""
    parts: list[list[str]] = [[] for _ in runs]
    for group in set(called):
        places = [place for place, other in enumerate(called) if other == group]
        for key, texts in differences([runs[place].scenario for place in places]).items():
            for place, text in zip(places, texts, strict=True):
                if key not in {"name", "seed", "targets"} and text != NO_NUMBER and len(parts[place]) < MOST_KEYS:
                    parts[place].append(f"{bare(key)} {text}")
    return parts


def bare(path: str) -> str:
    """A key without its block, or the block of a ``kind``, and without the unit in its name."""
    key = path.removesuffix(".kind").rpartition(".")[2]
    return next((key.removesuffix(end) for end in UNITS if key.endswith(end)), key).replace("_", " ")


def _numbered(texts: Sequence[str]) -> list[str]:
    count, seen = Counter(texts), Counter[str]()
    result = []
    for text in texts:
        seen[text] += 1
        result.append(text if count[text] == 1 else f"{text} ({seen[text]})")
    return result


def differences(scenarios: Sequence[Scenario]) -> dict[str, list[str]]:
    """The dotted keys whose values are not the same in every scenario, with one text a scenario."""
    flat = [dict(flatten(scenario)) for scenario in scenarios]
    keys = dict.fromkeys(key for values in flat for key in values)
    table = {key: [values.get(key, NO_NUMBER) for values in flat] for key in keys}
    nothing = {NO_NUMBER, "null"}  # a key without a value is as good as no key
    apart = {key: texts for key, texts in table.items() if len(set(texts)) > 1 and not nothing.issuperset(texts)}
    return {key: readable(key, texts) for key, texts in apart.items()}


def readable(key: str, texts: Sequence[str]) -> list[str]:
    """The values with their unit, unless rounding would make two of them look the same."""
    units = next((units for end, units in UNITS.items() if key.endswith(end)), PLAIN)
    rounded = [text if as_number(text) is None else quantity(text, units) for text in texts]
    return [cut(text) for text in (rounded if len(set(rounded)) == len(set(texts)) else texts)]


def flatten(value: Any, path: str = "") -> Iterator[tuple[str, str]]:
    """The leaves of nested mappings as dotted path and text."""
    if isinstance(value, Mapping) and value:
        for key, inner in value.items():
            yield from flatten(inner, f"{path}.{key}" if path else str(key))
    else:
        yield path, _leaf(value)


def _leaf(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:.12g}"
    return value if isinstance(value, str) else json.dumps(value, default=str)


def facts(scenario: Scenario) -> list[str]:
    """The few facts that tell what was emulated: the parts of the subtitle."""
    partition, policy = block(at(scenario, "data.partition")), block(at(scenario, "server.policy"))
    seed = at(scenario, "seed")
    every = [
        block(at(scenario, "algorithm")),
        " ".join(filter(None, [_text(at(scenario, "data.dataset")), f"({partition})" if partition else ""])),
        block(at(scenario, "model")),
        _devices(scenario),
        policy if policy != "synchronous" else "",
        _radio(scenario),
        "" if seed is None else f"seed {seed}",
    ]
    return [cut(fact) for fact in every if fact]


def _devices(scenario: Scenario) -> str:
    count, participants = at(scenario, "devices.count"), at(scenario, "server.participants")
    if count is None:
        return ""
    part = "" if as_number(participants) is None else f"{quantity(participants)} of "
    return f"{part}{quantity(count)} devices" + (" a round" if part else "")


def _radio(scenario: Scenario) -> str:
    bandwidth, carrier = at(scenario, "radio.bandwidth_hz"), at(scenario, "radio.carrier_hz")
    if as_number(bandwidth) is None:
        return ""
    return quantity(bandwidth, HERTZ) + ("" if as_number(carrier) is None else f" at {quantity(carrier, HERTZ)}")


def kind(scenario: Scenario, path: str) -> str:
    """The name of the member chosen at a dotted path, written as text or as a ``{kind: ...}`` block."""
    value = at(scenario, path)
    return _text(value.get("kind") if isinstance(value, Mapping) else value)


def block(value: Any) -> str:
    """A ``{kind: ...}`` block as its kind and its plain numbers: ``dirichlet, alpha 0.3``."""
    if not isinstance(value, Mapping):
        return _text(value)
    numbers = [f"{key} {inner:g}" for key, inner in value.items() if type(inner) in {int, float}]
    return ", ".join([_text(value.get("kind")), *numbers])


def _text(value: Any) -> str:
    return "" if value is None else str(value)


def cut(text: str, longest: int = LONGEST) -> str:
    """The text, with an ellipsis where it is too long for a heading or a table."""
    return text if len(text) <= longest else text[: longest - 1] + "…"
