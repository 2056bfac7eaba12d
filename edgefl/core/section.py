"""The pieces that a scenario is made of: frozen, typed, and with faults that read as sentences."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from typing import Annotated, Any, ClassVar

from pydantic import BaseModel, ConfigDict, Field, ModelWrapValidatorHandler, ValidationError, model_validator
from pydantic_core import ErrorDetails, InitErrorDetails, PydanticCustomError

FAULT = "fault"  # the error type of a message that is already a sentence

_SENTENCES = {
    "missing": "is required",
    "greater_than": "must be > {gt:.15g}, got {value}",
    "greater_than_equal": "must be >= {ge:.15g}, got {value}",
    "less_than": "must be < {lt:.15g}, got {value}",
    "less_than_equal": "must be <= {le:.15g}, got {value}",
    "finite_number": "must be a finite number, got {value}",
    "int_type": "must be a whole number, got {value}",
    "int_from_float": "must be a whole number, got {value}",
    "float_type": "must be a number, got {value}",
    "int_parsing_size": "must be a whole number of usual size, got {value}",
    "list_type": "must be a list, got {value}",
    "string_type": "must be text, got {value}",
    "string_unicode": "must be text, got {value}",
    "is_instance_of": "must be a path, got {value}",
    "bool_type": "must be true or false, got {value}",
    "tuple_type": "must be a list, got {value}",
    "dict_type": "must be a mapping of keys to values, got {value}",
    "model_type": "must be a mapping of keys to values, got {value}",
    "literal_error": "must be {expected}, got {value}",
    "too_short": "must not be empty, got {value}",
    "too_long": "must have at most {max_length} entries, got {value}",
    "json_invalid": "is no valid JSON: {error}",
    "string_pattern_mismatch": "must be 1 to 100 letters, digits, '_', '-' or, not first, spaces and '.', got {value}",
}


Count = Annotated[int, Field(gt=0, le=10**9)]
"""How many of something; the bound keeps slips of the exponent from filling the memory."""


def fault(text: str) -> PydanticCustomError:
    """A finished sentence as a pydantic error."""
    return PydanticCustomError(FAULT, "{text}", {"text": text})


def fault_at(loc: tuple[str | int, ...], text: str, value: Any = None) -> ValidationError:
    """A finished sentence about the key at `loc`, below the section that is being validated."""
    return ValidationError.from_exception_data("scenario", [InitErrorDetails(type=fault(text), loc=loc, input=value)])


def nearest(name: object, names: Iterable[str]) -> str:
    """' (did you mean "x"?)' for the known name nearest to a mistyped one, or ''."""
    match = difflib.get_close_matches(str(name), list(names), n=1)
    return f' (did you mean "{match[0]}"?)' if match else ""


class Section(BaseModel):
    """A frozen piece of a scenario: unknown keys are refused, types are not guessed, a key with nothing is left out."""

    model_config = ConfigDict(
        frozen=True, extra="forbid", strict=True, allow_inf_nan=False, ser_json_inf_nan="constants"
    )

    inlined: ClassVar[str | None] = None  # a field whose own keys stand beside it in YAML

    @classmethod
    def keys(cls) -> list[str]:
        """The keys that may stand in this section."""
        return list(cls.model_fields)

    @model_validator(mode="wrap")
    @classmethod
    def _sentences(cls, value: Any, handler: ModelWrapValidatorHandler[Section]) -> Section:
        if isinstance(value, dict):
            value = {key: item for key, item in value.items() if item is not None or key not in cls.model_fields}
        try:
            return handler(value)
        except ValidationError as error:
            items = error.errors(include_url=False)
            echoes = {item["loc"][:n] for item in items for n in range(len(item["loc"]))}  # a list of faulty entries
            details = [cls._sentence(item) for item in items if item["loc"] not in echoes]
            raise ValidationError.from_exception_data(cls.__name__, details) from None

    @classmethod
    def _sentence(cls, item: ErrorDetails) -> InitErrorDetails:
        """One pydantic error as a sentence at its key."""
        loc, value = item["loc"], item["input"]
        if len(loc) > 1 and loc[0] == cls.inlined:
            loc = loc[1:]
        if item["type"] == FAULT:
            text = item["msg"]
        elif item["type"] in {"extra_forbidden", "invalid_key"}:
            text = f"unknown key{nearest(loc[-1], cls.keys())}; known: {', '.join(cls.keys()) or 'none'}"
        else:
            text = sentence(item)
        return InitErrorDetails(type=fault(text), loc=loc, input=value)


def sentence(item: ErrorDetails) -> str:
    """What pydantic says, as a user would say it."""
    template = _SENTENCES.get(item["type"])
    if template is None:
        return item["msg"].removeprefix("Value error, ")
    return template.format(value=shown(item["input"]), **item.get("ctx", {}))


def shown(value: Any) -> str:
    """A value as it would stand in a YAML file, cut where it is long."""
    if value is None:
        return "nothing"
    text = f'"{value}"' if isinstance(value, str) else str(value).lower() if isinstance(value, bool) else str(value)
    return text if len(text) <= 60 else f"{text[:57]}..."
