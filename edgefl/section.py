"""The pieces that a scenario is made of: frozen, typed, and with faults that read as sentences."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from typing import Any, ClassVar

from pydantic import BaseModel, ConfigDict, ModelWrapValidatorHandler, ValidationError, model_validator
from pydantic_core import ErrorDetails, InitErrorDetails, PydanticCustomError

FAULT = "fault"  # the error type of a message that is already a sentence

_SENTENCES = {
    "missing": "is required",
    "greater_than": "must be > {gt}, got {value}",
    "greater_than_equal": "must be >= {ge}, got {value}",
    "less_than": "must be < {lt}, got {value}",
    "less_than_equal": "must be <= {le}, got {value}",
    "finite_number": "must be a finite number, got {value}",
    "int_type": "must be a whole number, got {value}",
    "int_from_float": "must be a whole number, got {value}",
    "float_type": "must be a number, got {value}",
    "string_type": "must be text, got {value}",
    "bool_type": "must be true or false, got {value}",
    "tuple_type": "must be a list, got {value}",
    "dict_type": "must be a mapping of keys to values, got {value}",
    "model_type": "must be a mapping of keys to values, got {value}",
    "literal_error": "must be {expected}, got {value}",
    "too_short": "needs at least {min_length} entries, got {actual_length}",
    "string_pattern_mismatch": "must be letters, digits, spaces, '.', '_' or '-', not starting with '.', got {value}",
}


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
    """A frozen piece of a scenario: unknown keys are refused, types are not guessed."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, allow_inf_nan=False)

    inlined: ClassVar[str | None] = None  # a field whose own keys stand beside it in YAML

    @classmethod
    def keys(cls) -> list[str]:
        """The keys that may stand in this section."""
        return list(cls.model_fields)

    @model_validator(mode="wrap")
    @classmethod
    def _sentences(cls, value: Any, handler: ModelWrapValidatorHandler[Section]) -> Section:
        try:
            return handler(value)
        except ValidationError as error:
            details = [cls._sentence(item) for item in error.errors(include_url=False)]
            raise ValidationError.from_exception_data(cls.__name__, details) from None

    @classmethod
    def _sentence(cls, item: ErrorDetails) -> InitErrorDetails:
        """One pydantic error as a sentence at its key."""
        loc, value = item["loc"], item["input"]
        if len(loc) > 1 and loc[0] == cls.inlined:
            loc = loc[1:]
        if item["type"] == FAULT:
            text = item["msg"]
        elif item["type"] == "extra_forbidden":
            text = f"unknown key{nearest(loc[-1], cls.keys())}; known: {', '.join(cls.keys())}"
        else:
            text = _text(item)
        return InitErrorDetails(type=fault(text), loc=loc, input=value)


def _text(item: ErrorDetails) -> str:
    """What pydantic says, as a user would say it."""
    value = item["input"]
    shown = f'"{value}"' if isinstance(value, str) else "nothing" if value is None else str(value)
    template = _SENTENCES.get(item["type"])
    if template is None:
        return item["msg"].removeprefix("Value error, ")
    return template.format(value=shown[:60], **item.get("ctx", {}))
