"""YAML read safely, with the line of every key; numbers as YAML 1.2 has them, so that 3.5e9 is one."""

from __future__ import annotations

import re
from typing import Any

import yaml

from edgefl.errors import InputError

Path = tuple[str | int, ...]
Lines = dict[Path, int]


class _Loader(yaml.SafeLoader):
    """Plain data only; true, false, null and numbers of the YAML 1.2 core schema; a key twice is an error."""

    yaml_implicit_resolvers: dict[str, list[tuple[str, re.Pattern[str]]]] = {}  # noqa: RUF012 - PyYAML's own table

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:  # noqa: FBT001, FBT002
        seen: set[Any] = set()
        for key_node, _ in node.value:
            key = self.construct_object(key_node, deep=True)
            if not isinstance(key, str | int | float | bool) or key in seen:
                what = "is there twice" if isinstance(key, str) else "cannot be a key"
                raise yaml.constructor.ConstructorError(None, None, f"{key} {what}", key_node.start_mark)
            seen.add(key)
        return super().construct_mapping(node, deep=deep)


def _number(loader: _Loader, node: yaml.ScalarNode) -> int | float:
    """Whole numbers are ints however they are written: 1e3 devices are 1,000 devices."""
    value = float(node.value)
    whole = "e" in node.value.lower() and value.is_integer() and abs(value) < 2**53
    return int(value) if whole else value


_NUMBER = re.compile(r"^[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?$")
_Loader.add_implicit_resolver("tag:yaml.org,2002:bool", re.compile(r"^(true|True|TRUE|false|False|FALSE)$"), None)
_Loader.add_implicit_resolver("tag:yaml.org,2002:null", re.compile(r"^(~|null|Null|NULL|)$"), None)
_Loader.add_implicit_resolver("tag:yaml.org,2002:int", re.compile(r"^([-+]?[0-9]+|0x[0-9a-fA-F]+)$"), None)
_Loader.add_implicit_resolver("!number", _NUMBER, None)
_Loader.add_constructor("!number", _number)


def _int(loader: _Loader, node: yaml.ScalarNode) -> int:
    return int(node.value, 16 if "x" in node.value else 10)


_Loader.add_constructor("tag:yaml.org,2002:int", _int)


def parse(text: str, name: str) -> tuple[Any, Lines]:
    """The data of a YAML text and the line (from 1) of every key and list entry.

    Raises:
        InputError: not YAML, or a key that is there twice.
    """
    try:
        loader = _Loader(text)
        try:
            node = loader.get_single_node()
            data = None if node is None else loader.construct_document(node)
        finally:
            loader.dispose()
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else 1
        raise InputError(f"{name}:{line}: not valid YAML: {error.problem}") from None
    except (yaml.YAMLError, RecursionError) as error:
        raise InputError(f"{name}:1: not valid YAML: {str(error).splitlines()[0]}") from None
    lines: Lines = {}
    if node is not None:
        _collect(node, (), lines)
    return data, lines


def _collect(node: yaml.Node, path: Path, lines: Lines) -> None:
    """Note the line of every key, depth first."""
    if isinstance(node, yaml.MappingNode):
        for key, value in node.value:
            lines[(*path, key.value)] = key.start_mark.line + 1
            _collect(value, (*path, key.value), lines)
    elif isinstance(node, yaml.SequenceNode):
        for index, value in enumerate(node.value):
            lines[(*path, index)] = value.start_mark.line + 1
            _collect(value, (*path, index), lines)
