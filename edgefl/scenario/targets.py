"""The section `targets`: accuracies as such, or relative to what another run reached."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field, PlainSerializer, PlainValidator, TypeAdapter, ValidationInfo, model_validator

from edgefl.core.paths import UserPath
from edgefl.core.section import Section, fault, fault_at, shown

Accuracy = Annotated[float, Field(gt=0, le=1)]
_Accuracies = Annotated[tuple[Accuracy | None, ...], Field(strict=False)]
_ACCURACY: TypeAdapter[float] = TypeAdapter(Accuracy)


class RelativeTarget(Section):
    """A part of the best accuracy of a finished run (dynamic-devices paper, eq. 31)."""

    relative: Accuracy
    reference: UserPath  # its result folder
    accuracy: Accuracy | None = None  # what comes of it; where it is given, the folder is not read again
    by_session: _Accuracies | None = None  # and in each session that it had

    @model_validator(mode="after")
    def _resolved(self) -> RelativeTarget:
        if self.accuracy is not None:
            return self
        best, sessions = _best_accuracies(self.reference)
        by_session = tuple(None if each is None else self.relative * each for each in sessions) or None
        return self.model_copy(update={"accuracy": self.relative * best, "by_session": by_session})

    def within(self, session: int) -> float | None:
        """The accuracy in a session (from 1): of the reference's best in the same one; None where it had fewer.

        That of the whole run where the reference was not in sessions.
        """
        if self.by_session is None:
            return self.accuracy
        return self.by_session[session - 1] if session <= len(self.by_session) else None


def _best_accuracies(folder: Path) -> tuple[float, list[float | None]]:
    """What the run in a result folder reached at best, in all and in each of its sessions, if it was in several."""
    try:
        summary = json.loads((folder / "summary.json").read_text(encoding="utf-8"))
        best, sessions = summary["best_accuracy"], [one.get("best_accuracy") for one in summary.get("sessions", ())]
    except OSError:
        text = f"{folder}: no finished run there (summary.json cannot be read): run it first, or name another folder"
        raise fault_at(("reference",), text) from None
    except (ValueError, KeyError, TypeError, AttributeError):
        raise fault_at(("reference",), f"{folder}: its summary.json is not that of a run") from None
    if not isinstance(best, int | float) or not 0 < best <= 1:
        raise fault_at(("reference",), f"{folder}: that run measured no accuracy: name one that learned")
    return float(best), sessions


def _parse(value: Any, info: ValidationInfo) -> float | RelativeTarget:
    if isinstance(value, dict):
        return RelativeTarget.model_validate(value, context=info.context)
    if isinstance(value, int | float) and not isinstance(value, bool):
        return _ACCURACY.validate_python(value)
    if isinstance(value, RelativeTarget):
        return value
    raise fault(f"must be an accuracy or {{relative: 0.97, reference: result folder}}, got {shown(value)}")


def _dump(target: float | RelativeTarget) -> Any:
    return target.model_dump(mode="json") if isinstance(target, RelativeTarget) else target


_Form = Accuracy | RelativeTarget
Target = Annotated[_Form, PlainValidator(_parse, json_schema_input_type=_Form), PlainSerializer(_dump)]
