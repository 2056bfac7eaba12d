"""Overrides of values in a scenario file: `--set radio.bandwidth_hz=50e6`, and the points of a sweep."""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple, TypeVar

from edgefl.core.errors import InputError
from edgefl.core.section import shown
from edgefl.core.written_yaml import NotYaml
from edgefl.scenario.python_values import as_in_yaml
from edgefl.scenario.yaml_reader import on_one_line, parse

Given = TypeVar("Given")  # texts, or texts and `Override`s

EXAMPLE = '["rounds=20", "radio.bandwidth_hz=50e6"]'  # of overrides in Python


class Override(NamedTuple):
    """A value that replaces the one in the file."""

    keys: tuple[str, ...]  # the parts of the dotted key
    value: Any
    where: str  # the place where the value was given, for messages


def parse_override(text: str) -> Override:
    """Read "dotted.key=value", the value in YAML.

    Raises:
        InputError: the text has another form.
    """
    key, equals, value = text.partition("=")
    keys = tuple(key.strip().split("."))
    if not equals or not all(keys):
        instead = ""
        if match := re.fullmatch(r"([\w.]+)\s*:\s*(\S+)", text):
            instead = f": write {match[1]}={match[2]}"
        raise InputError(f"--set {text}: must be KEY=VALUE with a dotted key, such as radio.bandwidth_hz=50e6{instead}")
    try:
        parsed, _ = parse(value)  # as the file would be read: lists, mappings and 50e6 work here too
    except NotYaml as error:
        raise InputError(f"--set {text}: not valid YAML: {error.problem}") from None
    return Override(keys, parsed, f"--set {text}")


def list_of_overrides(overrides: Iterable[Given]) -> list[Given]:
    """Return overrides from a Python caller as a list.

    Raises:
        InputError: they are a single text or a mapping, or contain something else than texts.
    """
    wanted = f'overrides: must be a list of "dotted.key=value" texts, such as {EXAMPLE}'
    if isinstance(overrides, str):  # also a sequence, but of letters
        raise InputError(f"{wanted}, got a single text: write [{shown(overrides)}]")
    if isinstance(overrides, Mapping):
        values = as_in_yaml(overrides, "overrides")
        instead = ", ".join(shown(f"{key}={on_one_line(value)}") for key, value in values.items())
        raise InputError(f"{wanted}, got a mapping: write [{instead}]")
    given = list(overrides)  # before they are checked: a generator can be read only once
    for override in given:
        if not isinstance(override, str | Override):
            raise InputError(f"{wanted}, got {shown(override)} in the list")
    return given


def with_seed(overrides: Sequence[str], seed: int | None) -> list[str | Override]:
    """Return overrides, and one more for the seed, if there is one.

    Raises:
        InputError: the overrides are not a list of texts.
    """
    given: list[str | Override] = [*list_of_overrides(overrides)]
    if seed is not None:
        given.append(Override(("seed",), parse_override(f"seed={seed}").value, f"--seed {seed}"))  # the last one counts
    return given


def replaced(raw: Any, keys: tuple[str, ...], value: Any, where: str) -> Any:
    """Return a copy of `raw` with the value under the dotted key; `algorithm: x` counts as {kind: x}.

    Raises:
        InputError: a part of the dotted key leads to a value without keys.
    """
    if not keys:
        return value
    node = raw
    if raw is None:
        node = {}
    elif isinstance(raw, str):
        node = {"kind": raw}
    if not isinstance(node, Mapping):
        raise InputError(f"{where}: there is no key {keys[0]} in {shown(node)}")
    return {**node, keys[0]: replaced(node.get(keys[0]), keys[1:], value, where)}
