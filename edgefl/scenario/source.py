"""YAML read safely, with the line of every key; numbers as YAML 1.2 has them, so that 3.5e9 is one."""

from __future__ import annotations

import re
from collections.abc import Callable
from decimal import Decimal
from typing import Any, ClassVar

import yaml

Path = tuple[str | int, ...]
Lines = dict[Path, int]
MOST_ENTRIES = 1_000_000  # keys and list entries, aliases written out


class NotYaml(Exception):  # noqa: N818 - the name says what happened
    """The text is not YAML as we read it."""

    def __init__(self, line: int, problem: str) -> None:
        super().__init__(problem)
        self.line, self.problem = line, " ".join(problem.split())


class _Loader(yaml.SafeLoader):
    """Plain data only; true, false, null and numbers of the YAML 1.2 core schema; keys are text, and there once."""

    yaml_implicit_resolvers: dict[str, list[tuple[str, re.Pattern[str]]]] = {}  # noqa: RUF012 - PyYAML's own tables
    yaml_constructors: ClassVar[dict[str | None, Any]] = {}

    def compose_scalar_node(self, anchor: Any) -> yaml.ScalarNode:
        node: yaml.ScalarNode = super().compose_scalar_node(anchor)
        try:
            node.value.encode()
        except UnicodeEncodeError:
            raise yaml.MarkedYAMLError(problem="half a character (a surrogate)", problem_mark=node.start_mark) from None
        return node

    def compose_mapping_node(self, anchor: Any) -> yaml.MappingNode:
        node: yaml.MappingNode = super().compose_mapping_node(anchor)
        seen: set[str] = set()
        for key, _ in node.value:
            if not isinstance(key, yaml.ScalarNode):
                raise yaml.MarkedYAMLError(problem="a key must be plain text", problem_mark=key.start_mark)
            if key.value in seen:
                raise yaml.MarkedYAMLError(problem=f"the key {key.value} is there twice", problem_mark=key.start_mark)
            seen.add(key.value)
        return node

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:  # noqa: FBT001, FBT002
        self.flatten_mapping(node)  # << merges
        return {key.value: self.construct_object(value, deep=deep) for key, value in node.value}


def _number(text: str) -> int | float:
    """Whole numbers are ints however they are written: 1e3 devices are 1,000 devices."""
    value = float(re.sub(r"\.inf$", "inf", text.lower()))
    return int(Decimal(text)) if "e" in text.lower() and value.is_integer() else value


def _whole(text: str) -> int:
    if len(text) > 400:  # beyond the greatest float
        raise ValueError
    return int(text, 16 if "x" in text else 10)


def _scalar(tag: str, convert: Callable[[str], Any], pattern: str) -> None:
    """Teach the loader one kind of plain value."""

    def construct(loader: _Loader, node: yaml.ScalarNode) -> Any:
        try:
            return convert(node.value)
        except (KeyError, ValueError):
            problem = f'"{node.value[:40]}" is no {tag.rpartition(":")[2]}'
            raise yaml.MarkedYAMLError(problem=problem, problem_mark=node.start_mark) from None

    _Loader.add_implicit_resolver(tag, re.compile(f"^(?:{pattern})$"), None)
    _Loader.add_constructor(tag, construct)


_CORE = "tag:yaml.org,2002:"
_scalar(f"{_CORE}bool", lambda text: {"true": True, "false": False}[text.lower()], "true|True|TRUE|false|False|FALSE")
_scalar(f"{_CORE}null", lambda _: None, "~|null|Null|NULL|")
_scalar(f"{_CORE}int", _whole, "[-+]?[0-9]+|0x[0-9a-fA-F]+")
_scalar(f"{_CORE}float", _number, r"[-+]?((\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?|\.(inf|Inf|INF))")
_Loader.add_implicit_resolver(f"{_CORE}merge", re.compile("^<<$"), None)
for _kind in ("str", "seq", "map"):
    _Loader.add_constructor(f"{_CORE}{_kind}", yaml.SafeLoader.yaml_constructors[f"{_CORE}{_kind}"])
_Loader.add_constructor(None, yaml.SafeLoader.yaml_constructors[None])  # any other tag is refused


def parse(text: str) -> tuple[Any, Lines]:
    """The data of a YAML text and the line (from 1) of every key and list entry.

    Raises:
        NotYaml: also where a key is there twice, and where aliases multiply without end.
    """
    lines: Lines = {}
    try:
        loader = _Loader(text)
        try:
            node = loader.get_single_node()
            data = None if node is None else loader.construct_document(node)
        finally:
            loader.dispose()
        if node is not None:
            _collect(node, (), lines)
    except yaml.MarkedYAMLError as error:
        raise NotYaml(error.problem_mark.line + 1 if error.problem_mark else 1, str(error.problem)) from None
    except yaml.YAMLError as error:
        raise NotYaml(1, str(error).splitlines()[0]) from None
    except RecursionError:
        raise NotYaml(1, "nested too deeply, or an alias stands within its own anchor") from None
    return data, lines


def _collect(node: yaml.Node, path: Path, lines: Lines) -> None:
    """Note the line of every key, depth first."""
    if len(lines) > MOST_ENTRIES:
        raise yaml.MarkedYAMLError(problem=f"more than {MOST_ENTRIES} entries", problem_mark=node.start_mark)
    if isinstance(node, yaml.MappingNode):
        for key, value in node.value:
            lines[(*path, key.value)] = key.start_mark.line + 1
            _collect(value, (*path, key.value), lines)
    elif isinstance(node, yaml.SequenceNode):
        for index, value in enumerate(node.value):
            lines[(*path, index)] = value.start_mark.line + 1
            _collect(value, (*path, index), lines)
