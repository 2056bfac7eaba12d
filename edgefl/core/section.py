"""The sections of a scenario: frozen, typed, with faults that read as sentences.

Each room declares the sections that it reads as subclasses of `Section`. Pydantic checks types and bounds, and its
faults become sentences for the user here: ``devices.cpu_hz: must be > 0, got -1``.
"""

from __future__ import annotations

import difflib
import re
from argparse import Namespace
from collections.abc import Iterable, Iterator
from dataclasses import is_dataclass
from types import SimpleNamespace, UnionType
from typing import Annotated, Any, ClassVar, Union, get_args, get_origin

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    GetJsonSchemaHandler,
    ModelWrapValidatorHandler,
    ValidationError,
    model_validator,
)
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema, ErrorDetails, InitErrorDetails, PydanticCustomError
from typing_extensions import override

from edgefl.core import interrupts
from edgefl.core.key_notes import meanings
from edgefl.core.words import words_of

KeyPath = tuple[str | int, ...]  # keys, and numbers of list entries

FAULT = "fault"  # pydantic's error type of messages that are sentences already
LONGEST_VALUE = 60  # characters of a wrong value in a sentence
LONGEST_BOUND = 10**15  # that all digits of a message show
CLOSE = 0.6  # least ratio of equal letters for a name to be another one, mistyped
CLOSE_KEY = 0.7  # the same for keys: other programs have keys that are none of these
SHORTEST_PART = 4  # letters of a name that may stand for a longer one
SHOWN_KEYS = 8  # of a section in a sentence
_NUMBER = re.compile(r"\d+\.?\d*(?:[eE][-+]?\d+)?")
_ASSIGNED = re.compile(r"([\w.]+)\s*=\s*(\S+)")
_KEY_WITHOUT_SPACE = re.compile(r"(\w+):([^\s:]\S*)")

Count = Annotated[int, Field(gt=0, le=10**9)]
"""A number of things; its bound keeps a mistyped exponent from filling the memory."""

Share = Annotated[float, Field(ge=0, le=1)]
"""A share of a whole, or a probability."""

LARGEST_S = 1e12  # beyond it, differences of times would be rounding errors

Seconds = Annotated[float, Field(gt=0, le=LARGEST_S)]
"""A duration."""

Delay = Annotated[float, Field(ge=0, le=LARGEST_S)]
"""A duration that may be 0."""

BitRate = Annotated[float, Field(ge=1, le=1e15)]
"""Bits per second; transfers at lower rates would not end."""

IF_GIVEN = Field(exclude_if=lambda value: value is None)
"""Of a key that scenario.yaml leaves out where it is None, as scenarios written before the key existed lack it."""


class OneOrThousand(float):
    """A number that a file has as 1.000 or the like: one, and in some countries a thousand."""


def fault(text: str) -> PydanticCustomError:
    """Return a sentence about the value that is being validated, as an error to raise."""
    return PydanticCustomError(FAULT, "{text}", {"text": text})


def fault_at(loc: tuple[str | int, ...], text: str) -> ValidationError:
    """Return a sentence about the key at `loc` below the section that is being validated, as an error to raise."""
    return ValidationError.from_exception_data("scenario", [InitErrorDetails(type=fault(text), loc=loc, input=None)])


def dotted(key: KeyPath) -> str:
    """Return a key as messages name it, such as server.policy."""
    return ".".join(map(str, key))


def key_path(name: str) -> KeyPath:
    """Return the key that `dotted` names."""
    return tuple(int(part) if part.isdigit() else part for part in name.split("."))


def nearest(name: object, names: Iterable[str], cutoff: float = CLOSE) -> str:
    """Return ' (did you mean "x"?)' for the known name nearest to a mistyped one, or ''."""
    match = nearest_name(name, names, cutoff)
    if match is None:
        return ""
    return f" (did you mean {shown(match)}?)"


def nearest_name(name: object, names: Iterable[str], cutoff: float = CLOSE) -> str | None:
    """Return the known name nearest to a mistyped one; None if none is near."""
    known = list(names)
    matches = [other for other in known if _letters(other) == _letters(str(name))]  # MNIST, fed-prox
    matches += difflib.get_close_matches(str(name), known, n=1, cutoff=cutoff)
    matches += [other for other in known if _is_part(str(name), other)]  # async, smartphone
    return matches[0] if matches else None


def _is_part(one: str, other: str) -> bool:
    """Return whether one of two names is a part of the other, and not a short one."""
    shorter, longer = sorted((_letters(one), _letters(other)), key=len)
    return len(shorter) >= SHORTEST_PART and shorter in longer


def _letters(name: str) -> str:
    """Return the letters and digits of a name, in lower case."""
    return "".join(character for character in name.lower() if character.isalnum())


class Section(BaseModel):
    """A frozen section of a scenario.

    Unknown keys are refused, types are not guessed, and a key without a value counts as not given.
    """

    model_config = ConfigDict(
        frozen=True, extra="forbid", strict=True, allow_inf_nan=False, ser_json_inf_nan="constants"
    )

    inlined: ClassVar[str | None] = None
    """The name of a field whose keys stand beside it in YAML, if any."""

    @override
    def model_dump(self, **options: Any) -> dict[str, Any]:
        """Return the keys and values, as pydantic does."""
        # Pydantic would turn an interrupt in a function that it calls into another error.
        with interrupts.deferred():
            return super().model_dump(**options)

    @override
    def model_dump_json(self, **options: Any) -> str:
        """Return the keys and values as JSON, as pydantic does."""
        with interrupts.deferred():
            return super().model_dump_json(**options)

    @classmethod
    def keys(cls) -> list[str]:
        """Return the keys that may stand in this section."""
        return list(cls.model_fields)

    @classmethod
    def __get_pydantic_json_schema__(cls, schema: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        """Return the JSON Schema, with the comments beside the fields as descriptions of the keys."""
        json_schema = handler(schema)
        cls.describe_keys(handler.resolve_ref_schema(json_schema))
        return json_schema

    @classmethod
    def describe_keys(cls, json_schema: JsonSchemaValue) -> None:
        """Put the comments beside the fields of this class into its JSON Schema, in place."""
        properties = json_schema.get("properties", {})
        for name, meaning in meanings(cls).items():
            if name in properties:
                properties[name].setdefault("description", meaning)

    @model_validator(mode="wrap")
    @classmethod
    def _raise_sentences(cls, value: Any, handler: ModelWrapValidatorHandler[Section]) -> Section:
        if isinstance(value, dict):
            value = cls._fitted(cls._without_empty_keys(value))
        try:
            return handler(value)
        except ValidationError as error:
            details = [cls._sentence(item) for item in _without_echoes(error.errors(include_url=False))]
            raise ValidationError.from_exception_data(cls.__name__, details) from None

    @classmethod
    def _without_empty_keys(cls, values: dict[Any, Any]) -> dict[Any, Any]:
        """Return the values without known keys that are empty, so that these get their defaults."""
        empty = [key for key, value in values.items() if value is None and key in cls.model_fields]
        return {key: value for key, value in values.items() if key not in empty}

    @classmethod
    def _fitted(cls, values: dict[Any, Any]) -> dict[Any, Any]:
        """Return the values; lists become tuples, and whole floats integers, where their keys want that."""
        changed = {}
        for key, value in values.items():
            if key in cls.model_fields and isinstance(value, list | float):
                changed[key] = _fitted(value, cls.model_fields[key].annotation)
        return {**values, **changed}

    @classmethod
    def _sentence(cls, item: ErrorDetails) -> InitErrorDetails:
        """Return one of pydantic's errors as a sentence about its key."""
        loc = item["loc"]
        if len(loc) > 1 and loc[0] == cls.inlined:
            loc = loc[1:]  # the user has not written the field's name
        if loc[-1:] == ("[key]",):
            loc = loc[:-1]  # pydantic's mark of a mapping's key, beside those of its values
        if item["type"] == FAULT:
            text = item["msg"]
        elif item["type"] in {"extra_forbidden", "invalid_key"}:
            known = ", ".join(cls.keys()) or "none"
            text = f"unknown key{nearest(loc[-1], cls.keys(), CLOSE_KEY)}; known: {known}"
            if _NUMBER.fullmatch(str(loc[-1])):  # {alpha: 0,1} is {alpha: 0, 1: nothing}
                text = (
                    "a comma begins the next key: write numbers with a point and no separators, as in 0.1 or 20e6, "
                    "and a list in brackets"
                )
        elif item["type"] == "tuple_type" and cls._entries(loc) and not isinstance(item["input"], dict):
            text = f"must be a list of {cls._entries(loc)} entries, got {shown(item['input'])}"
        elif item["type"] == "model_type":
            text = f"{sentence(item)}{cls._as_mapping(item['input'])}"
        else:
            text = sentence(item)
        return InitErrorDetails(type=fault(text), loc=loc, input=item["input"])

    @classmethod
    def _entries(cls, loc: KeyPath) -> int:
        """Return how many entries the list of a key has; 0 if they may be any number, or if that is unknown."""
        if len(loc) != 1 or loc[0] not in cls.model_fields:
            return 0
        annotation = _without_metadata(cls.model_fields[str(loc[0])].annotation)
        parts = get_args(annotation)
        return len(parts) if get_origin(annotation) is tuple and Ellipsis not in parts else 0

    @classmethod
    def _as_mapping(cls, value: Any) -> str:
        """Return how to write keys where the file has something else than a mapping of them."""
        found = _KEY_WITHOUT_SPACE.fullmatch(str(value))
        if found:
            return f": a space is missing after the colon: write {found[1]}: {found[2]}"
        if isinstance(value, list):
            return ': leave out the "- " before its keys'
        if is_dataclass(value):
            return ": write dataclasses.asdict() of it"
        if isinstance(value, Namespace | SimpleNamespace):
            return ": write vars() of it"
        keys = cls.keys()
        more = ", ..." if len(keys) > SHOWN_KEYS else ""
        return f"; its keys: {', '.join(keys[:SHOWN_KEYS])}{more}"


def _fitted(value: Any, annotation: Any) -> Any:
    """Return a list as a tuple, and 1000.0 as 1000, if the annotation wants it, also inside a list.

    YAML has only lists, and in Python 1e3 is a float. Anything else is returned unchanged, also 1.000 from a file.
    """
    annotation = _without_metadata(annotation)
    if get_origin(annotation) in {Union, UnionType}:
        annotation = _alternative(value, get_args(annotation))
    if isinstance(value, float):
        is_whole = value.is_integer() and not isinstance(value, OneOrThousand)
        if annotation is int and is_whole:
            return int(value)
        return value
    if not isinstance(value, list) or get_origin(annotation) is not tuple:
        return value
    parts = get_args(annotation)
    if len(parts) == 2 and parts[1] is Ellipsis:
        parts = (parts[0],) * len(value)
    if len(parts) != len(value):
        return tuple(value)
    return tuple(_fitted(item, part) for item, part in zip(value, parts, strict=True))


def _alternative(value: Any, choices: Iterable[Any]) -> Any:
    """Return which of several types a list or a float is meant as; None if that is ambiguous or unknown."""
    plain = list(_plain_types(choices))
    if isinstance(value, float):
        suitable = [int] if int in plain and float not in plain else []
    else:
        suitable = [choice for choice in plain if get_origin(choice) in {tuple, list}]
    if len(suitable) != 1:
        return None
    return suitable[0]


def _plain_types(choices: Iterable[Any]) -> Iterator[Any]:
    """Yield the types of a union, those of unions in it included, without their metadata."""
    for choice in choices:
        plain = _without_metadata(choice)
        if get_origin(plain) in {Union, UnionType}:
            yield from _plain_types(get_args(plain))
        else:
            yield plain


def _without_metadata(annotation: Any) -> Any:
    """Return the type of an `Annotated` one; any other unchanged."""
    if get_origin(annotation) is Annotated:
        return get_args(annotation)[0]
    return annotation


def _without_echoes(items: list[ErrorDetails]) -> list[ErrorDetails]:
    """Return the errors without those that follow from others.

    Pydantic counts only correct entries of a list, so it also reports a list of wrong entries as too short. And it
    reports a default that depends on a wrong key.
    """
    parents = set()
    for item in items:
        for length in range(len(item["loc"])):
            parents.add(item["loc"][:length])
    return [item for item in items if item["loc"] not in parents and item["type"] != "default_factory_not_called"]


def sentence(item: ErrorDetails) -> str:
    """Return one of pydantic's errors as a sentence for the user."""
    template = words_of(__file__, "sentences.yaml").get(item["type"])
    if template is None:
        return item["msg"].removeprefix("Value error, ")
    context = {name: _bound(value) for name, value in item.get("ctx", {}).items()}
    text = template.format(value=shown(item["input"]), **context)
    return f"{text}{_instead(item)}"


def _bound(value: Any) -> Any:
    """Return a bound as a message has it: 2^63 instead of 9223372036854775808; other values unchanged."""
    if not isinstance(value, int | float):
        return value
    if isinstance(value, int) and value > LONGEST_BOUND and value.bit_count() == 1:
        return f"2^{value.bit_length() - 1}"
    return f"{value:.15g}"


def _instead(item: ErrorDetails) -> str:
    """Return what to write instead of a value, as the end of a sentence; "" if that is unknown."""
    value = item["input"]
    match item["type"]:
        case "literal_error":
            return nearest(value, re.findall(r"'(.*?)'", str(item["ctx"]["expected"])))
        case "list_type" | "tuple_type":
            return _as_list(value)
        case "dict_type":
            return _as_keys(value)
        case "missing" if isinstance(item["loc"][-1], int):
            return ": the list needs one more entry"
    return ""


def _as_list(value: Any) -> str:
    if isinstance(value, str | int | float):
        return f": write [{value}]"
    return ': begin each of its entries with "- "'


def _as_keys(value: Any) -> str:
    if found := _ASSIGNED.fullmatch(str(value)):
        return f": write {found[1]}: {found[2]}"
    if isinstance(value, list | tuple):
        return ': write "key: value", without "- " or brackets'
    return ""


def shown(value: Any) -> str:
    """Return a value as in a YAML file, on one line, shortened if it is long; one that YAML lacks with its type."""
    if value is None:
        return "nothing"
    if isinstance(value, str):
        text = f'"{value}"'
    elif isinstance(value, bool):
        text = str(value).lower()
    elif isinstance(value, tuple):
        text = str(list(value))
    else:
        text = str(value)
        if _is_from_library(value):
            text = f"{type(value).__module__.partition('.')[0]}.{type(value).__qualname__}({text})"
    if not text.isprintable():
        text = text.encode("unicode_escape").decode()  # a line break would split the message
    if len(text) <= LONGEST_VALUE:
        return text
    return f"{text[: LONGEST_VALUE - 3]}..."


def _is_from_library(value: Any) -> bool:
    """Return whether the type of a value is one of another package, whose text may look like a number: <NA>, 0:05."""
    return type(value).__module__.partition(".")[0] not in {"builtins", "edgefl"}
