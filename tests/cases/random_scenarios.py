"""Random scenarios: keys and values from the JSON Schema, as far as `edgefl validate` accepts them together."""

import copy
import random

from scenario_schema import scenario_schema

from edgefl.core.errors import InputError
from edgefl.runs.assembly import rehearse
from edgefl.scenario import load
from edgefl.scenario.shared_definitions import REFERENCE

BASE = {
    "rounds": 3,
    "data": {"dataset": "digits"},
    "model": {"kind": "logistic", "cost": {"parameters": 200_000, "flops_per_parameter": 6.5}},
    "devices": {"count": 10},
    "server": {"participants": 4},
    "training": {"local_steps": 2, "batch_size": 16},
    "radio": {"bandwidth_hz": 5e6},
    "report": {},
}
# Sections to draw from; often those whose parts are combined most.
SECTIONS = (
    ["radio"] * 4 + ["server"] * 4 + ["report"] * 3 + ["devices"] * 3 + ["training", "algorithm", "cells"] * 2
    + ["data", "sessions", "churn", "mobility", "backhaul"]
)  # fmt: skip
# Keys that need a file, another dataset or a GPU, and those that the size of the runs depends on.
FIXED_KEYS = {"path", "file", "dataset", "count", "permutations", "graphs", "engine", "precision", "flops_per_cycle"}
LAWS = {"normal", "lognormal", "uniform", "choice"}  # drawn numbers leave the bounds of most keys
NUMBERS = (0, 0.1, 0.25, 0.5, 1, 2, 3, 5, 10, 30)  # of keys whose default is none
FACTORS = (0.5, 0.9, 2)  # of the defaults of others
FEWEST_KEYS = 4
MOST_KEYS = 14
MOST_ATTEMPTS = 120
DEEPEST = 3  # sections within sections


def drawn(seed):
    """Return a scenario with some keys drawn at random, each of which is accepted with those before."""
    return _Draw(seed).scenario()


class _Draw:
    """Draws one scenario."""

    def __init__(self, seed):
        self._rng = random.Random(seed)  # noqa: S311 - no secrets

    def scenario(self):
        """Return the scenario."""
        scenario = BASE
        wanted = self._rng.randint(FEWEST_KEYS, MOST_KEYS)
        places = {section: list(self._places(section)) for section in set(SECTIONS)}
        accepted = 0
        for _ in range(MOST_ATTEMPTS):
            path, part = self._rng.choice(places[self._rng.choice(SECTIONS)])
            changed = _with(scenario, path, self._value(part, 0))
            try:
                rehearse(load(changed))
            except InputError:
                continue
            scenario = changed
            accepted += 1
            if accepted == wanted:
                break
        return scenario

    def _places(self, section):
        """Yield the path and the schema of a section and of every key in it, members of catalogues as a whole."""
        pending = [((section,), scenario_schema()["properties"][section])]
        while pending:
            path, part = pending.pop()
            yield path, part
            if len(path) > DEEPEST:
                continue
            for choice in self._choices(part):
                keys = choice.get("properties", {})
                if "kind" in keys:
                    continue
                pending += [((*path, key), keys[key]) for key in sorted(keys) if key not in FIXED_KEYS]

    def _resolved(self, part):
        """Return a part of the schema, with its reference replaced by what it refers to."""
        while "$ref" in part:
            definition = scenario_schema()["$defs"][part["$ref"].removeprefix(REFERENCE)]
            part = {**definition, **{key: value for key, value in part.items() if key != "$ref"}}
        return part

    def _choices(self, part):
        """Return the alternatives of a part, each resolved; those that name a plug-in are left out."""
        resolved = self._resolved(part)
        choices = [self._resolved(choice) for choice in resolved.get("anyOf", [resolved])]
        return [
            choice for choice in choices if not _is_free_text(choice) and not LAWS & set(choice.get("properties", {}))
        ]

    def _value(self, part, depth):
        """Return a random value of a part of the schema."""
        resolved = self._resolved(part)
        choice = self._rng.choice(self._choices(part) or [{"const": None}])
        kind = choice.get("type")
        value = choice.get("const")
        if "enum" in choice:
            value = self._rng.choice(choice["enum"])
        elif kind == "boolean":
            value = self._rng.random() < 0.5
        elif kind in {"number", "integer"}:
            value = self._number(resolved.get("default"), whole=kind == "integer")
        elif kind == "array":
            items = choice.get("prefixItems") or [choice["items"]] * max(choice.get("minItems", 1), 1)
            value = [self._value(item, depth + 1) for item in items]
        elif kind == "object":
            value = self._section(choice, depth)
        return value

    def _number(self, default, *, whole):
        """Return a number near the default, or a small one."""
        if isinstance(default, int | float) and default:
            number = default * self._rng.choice(FACTORS)
        else:
            number = self._rng.choice(NUMBERS)
        if whole:
            return int(number)
        return number

    def _section(self, choice, depth):
        """Return a mapping with the keys that a section needs and, by chance, others."""
        section = {}
        needed = {"kind", *choice.get("required", [])}
        for key, part in choice.get("properties", {}).items():
            if key in needed or (key not in FIXED_KEYS and self._rng.random() < 0.25 and depth < DEEPEST):
                section[key] = self._value(part, depth + 1)
        return section


def _is_free_text(choice):
    """Return whether a choice is any text, such as the import path of a plug-in, or a mapping that names one."""
    named = choice.get("properties", {}).get("kind", choice)
    return named.get("type") == "string" and "enum" not in named and "const" not in named


def _with(scenario, path, value):
    """Return a copy of a scenario with another value at a path; mappings without a kind are added to."""
    changed = copy.deepcopy(scenario)
    section = changed
    for key in path[:-1]:
        if not isinstance(section.get(key), dict):
            section[key] = {}
        section = section[key]
    before = section.get(path[-1])
    if isinstance(before, dict) and isinstance(value, dict) and "kind" not in value:
        value = {**before, **value}
    section[path[-1]] = value
    return changed
