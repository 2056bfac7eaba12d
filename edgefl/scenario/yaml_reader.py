"""Read YAML safely, with the line of every key; numbers follow YAML 1.2, so that 3.5e9 is a number."""

import re
from collections.abc import Callable
from decimal import Decimal
from typing import Any, ClassVar

import yaml

from edgefl.core.section import KeyPath, OneOrThousand, shown
from edgefl.core.written_yaml import TOO_DEEP, NotYaml, RefusedNode, count_entries
from edgefl.scenario.yaml_faults import explained, odd_key

Lines = dict[KeyPath, int]

WIDEST = 10_000  # characters of a line that is written
MOST_DIGITS = 400  # of a whole number; the greatest float has 309


class _Loader(yaml.SafeLoader):
    """Reads plain data only, with the scalars of the YAML 1.2 core schema; keys are text and must be unique."""

    yaml_implicit_resolvers: dict[str, list[tuple[str, re.Pattern[str]]]] = {}  # noqa: RUF012 - PyYAML's own tables
    yaml_constructors: ClassVar[dict[str | None, Any]] = {}

    def compose_scalar_node(self, anchor: Any) -> yaml.ScalarNode:
        node: yaml.ScalarNode = super().compose_scalar_node(anchor)
        try:
            node.value.encode()
        except UnicodeEncodeError:
            problem = "a lone surrogate is not a character: write the character itself"
            raise RefusedNode(problem, node) from None
        return node

    def compose_mapping_node(self, anchor: Any) -> yaml.MappingNode:
        node: yaml.MappingNode = super().compose_mapping_node(anchor)
        seen: set[str] = set()
        for key, value in node.value:
            if not isinstance(key, yaml.ScalarNode):
                problem = "a key must be plain text"
                if isinstance(key, yaml.MappingNode) and key.flow_style and node.flow_style:
                    problem += ": templates such as {{ rounds }} are not filled in: write the value itself"
                raise RefusedNode(problem, key)
            if key.value in seen:
                problem = f"the key {key.value} is here twice: remove one"
                if key.value.isdecimal():  # {bandwidth_hz: 20,000,000}
                    problem = "a comma begins the next key: write numbers without separators, as in 20e6"
                raise RefusedNode(problem, key)
            odd = odd_key(key.value, is_alone=not value.value)
            if odd is not None:
                raise RefusedNode(odd, key)
            seen.add(key.value)
        return node

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:  # noqa: FBT001, FBT002
        self.flatten_mapping(node)  # << merges
        # A key is always text: `5: ...` is the key "5", as in JSON.
        return {key.value: self.construct_object(value, deep=deep) for key, value in node.value}


def _decimal_number(text: str) -> int | float:
    value = float(re.sub(r"\.inf$", "inf", text.lower()))
    if "e" in text.lower() and value.is_integer():
        return int(Decimal(text))  # exact where a float is not, such as 1e23
    if re.fullmatch(r"[-+]?[1-9]\d{0,2}\.000", text):
        return OneOrThousand(value)
    return value


yaml.SafeDumper.add_representer(OneOrThousand, yaml.SafeDumper.represent_float)  # as values of sweeps are written


def _whole_number(text: str) -> int:
    # int() of a long text takes quadratic time.
    if len(text) > MOST_DIGITS:
        raise ValueError
    base = 10
    if "x" in text:
        base = 16
    return int(text, base)


def _register_scalar(tag: str, convert: Callable[[str], Any], pattern: str) -> None:
    def construct(loader: _Loader, node: yaml.ScalarNode) -> Any:
        try:
            return convert(node.value)
        except (KeyError, ValueError):
            problem = f'"{node.value[:40]}" is not a valid {tag.rpartition(":")[2]}'
            raise RefusedNode(problem, node) from None

    _Loader.add_implicit_resolver(tag, re.compile(f"^(?:{pattern})$"), None)
    _Loader.add_constructor(tag, construct)


# The core schema of YAML 1.2, section 10.3.2, without octal numbers; everything else is text.
_CORE = "tag:yaml.org,2002:"
_TRUTH = {"true": True, "false": False}
_register_scalar(f"{_CORE}bool", lambda text: _TRUTH[text.lower()], "true|True|TRUE|false|False|FALSE")
_register_scalar(f"{_CORE}null", lambda _: None, "~|null|Null|NULL|")
_register_scalar(f"{_CORE}int", _whole_number, "[-+]?[0-9]+|0x[0-9a-fA-F]+")
_register_scalar(
    f"{_CORE}float", _decimal_number, r"[-+]?((\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?|\.(inf|Inf|INF))"
)
_Loader.add_implicit_resolver(f"{_CORE}merge", re.compile("^<<$"), None)
for _kind in ("str", "seq", "map"):
    _Loader.add_constructor(f"{_CORE}{_kind}", yaml.SafeLoader.yaml_constructors[f"{_CORE}{_kind}"])
_Loader.add_constructor(None, yaml.SafeLoader.yaml_constructors[None])  # any other tag is refused


def parse(text: str) -> tuple[Any, Lines]:
    """Return the data of a YAML text and the line (from 1) of every key and list entry.

    Raises:
        NotYaml: the text is not YAML, has a key twice, or aliases that expand to too many entries.
    """
    lines: Lines = {}
    data = None
    if text.lstrip().startswith("{"):  # tabs indent JSON, and nothing else in YAML
        text = re.sub(r"^[\t ]+", lambda found: found[0].replace("\t", " "), text, flags=re.MULTILINE)
    try:
        loader = _Loader(text)
        try:
            node = loader.get_single_node()
            if node is not None:
                count_entries(node, {})
                data = loader.construct_document(node)
        finally:
            loader.dispose()
        if node is not None:
            _collect_lines(node, (), lines)
    except yaml.MarkedYAMLError as error:
        fault = explained(text, error)
        raise NotYaml(fault.line, fault.text) from None
    except yaml.reader.ReaderError as error:
        line = text.count("\n", 0, error.position) + 1
        problem = f"the control character U+{int(error.character):04X} does not belong in a text: remove it"
        raise NotYaml(line, problem) from None
    except RecursionError:
        raise NotYaml(1, TOO_DEEP) from None
    return data, lines


def _collect_lines(node: yaml.Node, path: KeyPath, lines: Lines) -> None:
    if isinstance(node, yaml.MappingNode):
        for key, value in node.value:
            lines[(*path, key.value)] = key.start_mark.line + 1
            _collect_lines(value, (*path, key.value), lines)
    elif isinstance(node, yaml.SequenceNode):
        for index, value in enumerate(node.value):
            lines[(*path, index)] = value.start_mark.line + 1
            _collect_lines(value, (*path, index), lines)


def on_one_line(value: Any) -> str:
    """Return a value as YAML on one line, such as {kind: fedprox, mu: 0.1}; one that YAML lacks as messages show it."""
    try:
        text: str = yaml.safe_dump(value, default_flow_style=True, sort_keys=False, width=WIDEST)
    except yaml.representer.RepresenterError:
        return shown(value)
    return text.removesuffix("...\n").strip()
