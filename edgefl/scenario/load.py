"""From a file, a mapping and overrides to a validated Scenario; every fault with its file, line and key."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import yaml
from pydantic import ValidationError

from edgefl.core.errors import InputError
from edgefl.core.section import shown
from edgefl.learning.data_section import DataSection
from edgefl.learning.datasets import DATASETS
from edgefl.scenario.schema import Scenario
from edgefl.scenario.source import Lines, NotYaml, parse


class Override(NamedTuple):
    """A value in place of the file's."""

    keys: tuple[str, ...]
    value: Any
    where: str  # it stands, for messages


@dataclass
class Source:
    """Where the keys of a scenario came from, for messages."""

    name: str = "scenario"
    lines: Lines = field(default_factory=dict)
    overrides: dict[tuple[str, ...], str] = field(default_factory=dict)

    def line(self, loc: tuple[str | int, ...]) -> int:
        """The line of a key, or of the section that lacks it."""
        return next((self.lines[loc[:n]] for n in range(len(loc), 0, -1) if loc[:n] in self.lines), 1)

    def fault(self, loc: tuple[str | int, ...], text: str) -> str:
        """One line: where, which key, what is wrong."""
        key = ".".join(str(part) for part in loc)
        for path, override in self.overrides.items():
            if loc and loc[: len(path)] == path[: len(loc)]:
                return f"{override}: {key}: {text}"
        where = f"{self.name}:{self.line(loc)}" if self.lines else self.name
        return f"{where}: {key}: {text}" if key else f"{where}: {text}"

    def place(self, line: str) -> str:
        """A fault that begins with a scenario key, found after loading, with its file and line."""
        key, _, text = line.partition(": ")
        loc = tuple(key.split("."))
        return self.fault(loc, text) if loc[0] in Scenario.model_fields else line


def load(source: str | Path | Mapping[str, Any], overrides: Sequence[str | Override] = ()) -> Scenario:
    """A scenario from a YAML file or a mapping.

    Args:
        source: path of the file, or the scenario as nested mappings.
        overrides: "dotted.key=value" each, the value in YAML; or as `Override`.

    Raises:
        InputError: one finished line for every fault, in the order of the file.
    """
    return load_with_source(source, overrides)[0]


def load_with_source(
    source: str | Path | Mapping[str, Any], overrides: Sequence[str | Override] = ()
) -> tuple[Scenario, Source]:
    """`load`, and where the keys came from, for faults that show when the data are read.

    Raises:
        InputError: one finished line for every fault, in the order of the file.
    """
    if isinstance(source, Mapping):
        raw, origin, base = dict(source), Source(), Path.cwd()
    else:
        path = Path(source)
        raw, origin = read(path)
        base = path.resolve().parent
        if raw.get("name") is None:
            raw["name"] = re.sub(r"[^\w.-]", "-", path.stem).lstrip(".")[:100] or "scenario"
    for override in overrides:
        keys, value, where = _override(override) if isinstance(override, str) else override
        raw = _replace(raw, keys, value, where)
        origin.overrides[keys] = where
    try:
        return Scenario.model_validate(_with_defaults(raw), context={"base": base}), origin
    except ValidationError as error:
        found = [(item["loc"], item["msg"]) for item in error.errors(include_url=False)]
        found.sort(key=lambda item: origin.line(item[0]))
        raise InputError(*dict.fromkeys(origin.fault(loc, text) for loc, text in found)) from None


def dump(scenario: Scenario) -> str:
    """The complete scenario as YAML, every default filled in; loading it gives the same scenario."""
    return str(yaml.dump(scenario.model_dump(mode="json"), Dumper=_Dumper, sort_keys=False, allow_unicode=True))


class _Dumper(yaml.SafeDumper):
    """Quotes what this reader takes for a number, though YAML 1.1 does not: 0E0."""


def _text(dumper: _Dumper, value: str) -> yaml.ScalarNode:
    try:
        style = None if isinstance(parse(value)[0], str) else '"'
    except NotYaml:
        style = None  # is quoted anyway
    return dumper.represent_scalar("tag:yaml.org,2002:str", value, style=style)


_Dumper.add_representer(str, _text)


def read(path: Path) -> tuple[dict[str, Any], Source]:
    """The mapping that a YAML file holds, and where its keys stand.

    Raises:
        InputError: it cannot be read, is no YAML, or is no mapping.
    """
    try:
        raw, lines = parse(path.read_text(encoding="utf-8-sig"))
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror}") from None
    except NotYaml as error:
        raise InputError(f"{path}:{error.line}: not valid YAML: {error.problem}") from None
    except ValueError:
        raise InputError(f"{path}: is no text file in UTF-8") from None
    if not isinstance(raw, dict):
        raise InputError(f"{path}:1: must be a mapping of keys to values, such as `rounds: 60`")
    return raw, Source(str(path), lines)


def _override(text: str) -> Override:
    key, equals, value = text.partition("=")
    keys = tuple(key.strip().split("."))
    if not equals or not all(keys):
        raise InputError(f"--set {text}: must be KEY=VALUE with a dotted key, such as radio.bandwidth_hz=50e6")
    try:
        return Override(keys, parse(value)[0], f"--set {text}")
    except NotYaml as error:
        raise InputError(f"--set {text}: not valid YAML: {error.problem}") from None


def _replace(raw: Any, keys: tuple[str, ...], value: Any, where: str) -> Any:
    """A copy of `raw` with the value under the dotted key; `algorithm: x` counts as {kind: x}."""
    if not keys:
        return value
    node = {} if raw is None else {"kind": raw} if isinstance(raw, str) else raw
    if not isinstance(node, Mapping):
        raise InputError(f"{where}: there is no key {keys[0]} in {shown(node)}")
    return {**node, keys[0]: _replace(node.get(keys[0]), keys[1:], value, where)}


def _with_defaults(raw: dict[str, Any]) -> dict[str, Any]:
    """Keys that the dataset implies, where the file does not give them."""
    implied: dict[str, Any] = {"model": {"kind": "mlp"}}
    data = raw.get("data")
    name = data.get("dataset") if isinstance(data, dict) else None
    if isinstance(name, str) and name in DATASETS.members:
        with suppress(ValidationError):  # the same faults are reported when the whole scenario is validated
            implied = _merge(implied, DataSection.model_validate(data).dataset.defaults())
    return _merge(implied, raw)


def _merge(below: dict[str, Any], above: dict[str, Any]) -> dict[str, Any]:
    """`above` laid over `below`, mapping by mapping; a key with nothing covers nothing."""
    merged = dict(below)
    for key, value in above.items():
        both = isinstance(value, dict) and isinstance(below.get(key), dict)
        merged[key] = _merge(below[key], value) if both else below.get(key) if value is None else value
    return merged
