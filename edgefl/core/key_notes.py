"""Reads the meanings of a class's keys from the comments beside its fields, their only description."""

import ast
import inspect
import io
import linecache
import re
import tokenize
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from typing import Any, NamedTuple

from pydantic import BaseModel

MOST_CHOICES = 12  # of a type that lists them
_NUMBER = re.compile(r"(?<![\w.])-?\d+(?:\.\d+)?(?:e[-+]?\d+)?(?![\w.])")
_MANY_ZEROS = 1e5  # from here on a number reads better with an exponent
DEPENDS = "depends"  # a default that follows from other keys, as the meaning says


class KeyNote(NamedTuple):
    """A key: its name, its type with its bounds, its default, and what it means; texts."""

    name: str
    type: str
    default: str
    meaning: str


@cache
def key_notes(cls: type[BaseModel]) -> Sequence[KeyNote]:
    """Return the keys of a class, those of its bases included, in the order of its fields."""
    schema = cls.model_json_schema()
    meaning_of = meanings(cls)
    notes: list[KeyNote] = []
    for name, field in cls.model_fields.items():
        if field.exclude:  # no key in YAML
            continue
        properties: Mapping[str, Any] = schema.get("properties", {}).get(name, {})
        default = "required"
        if field.default_factory_takes_validated_data:
            default = DEPENDS
        elif not field.is_required():
            default = _shown(properties.get("default", field.get_default(call_default_factory=True)))
        notes.append(KeyNote(name, _type(properties, schema.get("$defs", {})), default, meaning_of.get(name, "")))
    return notes


def _shown(value: Any) -> str:
    """Return a default as YAML has it."""
    if isinstance(value, BaseModel):
        value = value.model_dump(mode="json")
    if value is None or value in ((), {}):
        return "none"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key}: {_shown(item)}" for key, item in value.items() if item is not None) + "}"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(map(_shown, value)) + "]"
    return str(value)


def _type(schema: Mapping[str, Any], definitions: Mapping[str, Any]) -> str:
    """Return the type that a JSON Schema describes, in words, with its bounds."""
    if "$ref" in schema:
        schema = definitions.get(schema["$ref"].rpartition("/")[2], {})
    if "anyOf" in schema:
        return _either(schema["anyOf"], definitions)
    if "enum" in schema or "const" in schema:
        return _choices(schema.get("enum", [schema.get("const")]))
    if schema.get("type") == "array":
        return "list of " + _type(schema.get("items", schema.get("prefixItems", [{}])[0]), definitions)
    return _plain_type(schema)


def _plain_type(schema: Mapping[str, Any]) -> str:
    kind = str(schema.get("type"))
    if kind in {"number", "integer"}:
        noun = {"number": "number", "integer": "whole number"}[kind]
        return " ".join([noun, *_bounds(schema)])
    if kind == "object" and schema.get("properties"):
        return "{" + ", ".join(f"{key}: ..." for key in list(schema["properties"])[:MOST_CHOICES]) + "}"
    words = {"path": "path", "string": "text", "boolean": "true or false", "object": "mapping", "null": "none"}
    return words.get(str(schema.get("format", kind)), words.get(kind, "any value"))


def _either(choices: Iterable[Mapping[str, Any]], definitions: Mapping[str, Any]) -> str:
    """Return the alternative types of a value; `none`, the default of many keys, goes without saying."""
    types: list[str] = []
    for choice in choices:
        # A member of a catalogue by its keys: the names, which come first, say enough.
        if "kind" in choice.get("properties", {}):
            continue
        text = _type(choice, definitions)
        if text not in {"none", *types}:
            types.append(text)
    return " or ".join(types)


def _choices(names: Iterable[Any]) -> str:
    known = [str(name) for name in names]
    if len(known) > MOST_CHOICES:
        known = [*known[:MOST_CHOICES], "..."]
    return ", ".join(known)


def _bounds(schema: Mapping[str, Any]) -> list[str]:
    signs = {"minimum": ">=", "exclusiveMinimum": ">", "maximum": "<=", "exclusiveMaximum": "<"}
    bounds = [f"{sign} {schema[key]:g}" for key, sign in signs.items() if key in schema]
    return [", ".join(bounds)] if bounds else []


@cache
def meanings(cls: type[BaseModel]) -> Mapping[str, str]:
    """Return the comments beside the fields of a class and its bases, by field."""
    found: dict[str, str] = {}
    for base in reversed(cls.__mro__):
        if issubclass(base, BaseModel):
            found |= _own_meanings(base)
    return found


def _own_meanings(cls: type[BaseModel]) -> Mapping[str, str]:
    """Return the comments beside the fields that a class declares itself; none without its source."""
    try:
        path = inspect.getfile(cls)
    except (OSError, TypeError):
        return {}
    linecache.checkcache(path)
    return _meanings_in("".join(linecache.getlines(path))).get(cls.__qualname__, {})


@cache
def _meanings_in(source: str) -> Mapping[str, Mapping[str, str]]:
    """Return the comments beside the fields of all classes in a module's source, by class and field."""
    try:
        scopes: list[tuple[str, Any]] = [("", ast.parse(source))]
    except SyntaxError:
        return {}
    beside: dict[int, str] = {}  # by line
    alone: dict[int, str] = {}
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT:
            comments = beside if token.line[: token.start[1]].strip() else alone
            comments[token.start[0]] = token.string.lstrip("# ")
    found: dict[str, Mapping[str, str]] = {}
    for prefix, scope in scopes:  # to which inner scopes are added
        for node in scope.body:
            if isinstance(node, ast.FunctionDef):
                scopes.append((f"{prefix}{node.name}.<locals>.", node))
            elif isinstance(node, ast.ClassDef):
                found[prefix + node.name] = {
                    ast.unparse(field.target): meaning
                    for field in node.body
                    if isinstance(field, ast.AnnAssign) and (meaning := _meaning(field, beside, alone))
                }
                scopes.append((f"{prefix}{node.name}.", node))
    return found


def _meaning(field: ast.AnnAssign, beside: Mapping[int, str], alone: Mapping[int, str]) -> str:
    """Return the comment at the end of one of a field's lines, or else the comment lines directly above it."""
    for line in range(field.lineno, (field.end_lineno or field.lineno) + 1):
        if line in beside:
            return beside[line]
    first = field.lineno
    while first - 1 in alone:
        first -= 1
    return " ".join(alone[line] for line in range(first, field.lineno))


def with_short_numbers(text: str) -> str:
    """Return a text with short numbers: 3.5e9, not 3500000000.0."""
    return _NUMBER.sub(lambda match: _short(match[0]), text)


def _short(digits: str) -> str:
    value = float(digits)
    is_whole_number = "." not in digits and "e" not in digits
    if is_whole_number and abs(value) < _MANY_ZEROS:
        return digits
    text = f"{value:.15g}"
    if abs(value) >= _MANY_ZEROS:
        exponent = len(f"{abs(value):.0f}") - 1
        mantissa = f"{value / 10**exponent:.10g}"
        text = f"{mantissa}e{exponent}"
    return re.sub(r"e([-+])0*(\d)", lambda match: f"e{match[1].strip('+')}{match[2]}", text)
