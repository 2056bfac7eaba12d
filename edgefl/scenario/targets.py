"""The section `targets`: accuracies, absolute or relative to the best accuracy of another run."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field, PlainSerializer, PlainValidator, TypeAdapter, ValidationInfo, model_validator

from edgefl.core.files import read_bytes
from edgefl.core.paths import UserPath
from edgefl.core.section import Section, fault, fault_at, shown

Accuracy = Annotated[float, Field(gt=0, le=1)]
_Accuracies = Annotated[tuple[Accuracy | None, ...], Field(strict=False)]
_ACCURACY: TypeAdapter[float] = TypeAdapter(Accuracy)


class RelativeTarget(Section):
    """A share of the best accuracy of a finished run (dynamic-devices paper, eq. 31)."""

    relative: Accuracy  # The target as a share of the best accuracy of another run.
    reference: UserPath  # Result folder of the other run.
    # Computed from the folder, and written to scenario.yaml, so that the run can be repeated without the folder.
    accuracy: Accuracy | None = None  # The target in the whole run; computed from the other run.
    # The targets in each session, if the other run had several; computed from it.
    by_session: _Accuracies | None = None

    @model_validator(mode="after")
    def _resolved(self) -> RelativeTarget:
        if self.accuracy is not None:
            return self
        best, best_by_session = _best_accuracies(self.reference)
        # None: the reference measured no accuracy in that session.
        by_session = [None if of_session is None else self.relative * of_session for of_session in best_by_session]
        # Sections are frozen: the resolved target is a copy.
        return self.model_copy(update={"accuracy": self.relative * best, "by_session": tuple(by_session) or None})

    def within(self, session: int) -> float | None:
        """Return the accuracy to reach in a session (from 1), relative to the reference's best in the same session.

        It is None if the reference had fewer sessions, and relative to the whole run if the reference had none.
        """
        if self.by_session is None:
            return self.accuracy
        if session > len(self.by_session):
            return None
        return self.by_session[session - 1]


def _best_accuracies(folder: Path) -> tuple[float, list[float | None]]:
    """Return the best accuracies of the run in a result folder, and of each of its sessions, if it had several."""
    try:
        summary = json.loads(read_bytes(folder / "summary.json"))
        best = summary["best_accuracy"]
        best_by_session = [session.get("best_accuracy") for session in summary.get("sessions", ())]
    except OSError:
        text = f"{folder}: holds no finished run (summary.json cannot be read): run it first, or name another folder"
        raise fault_at(("reference",), text) from None
    except (ValueError, KeyError, TypeError, AttributeError):
        text = f"{folder}: its summary.json does not belong to a run: name a result folder"
        raise fault_at(("reference",), text) from None
    if not isinstance(best, int | float) or not 0 < best <= 1:
        raise fault_at(("reference",), f"{folder}: that run measured no accuracy: name one that learned")
    return float(best), best_by_session


# Pydantic's own union would report the faults of both forms.
def _parse(value: Any, info: ValidationInfo) -> float | RelativeTarget:
    if isinstance(value, dict):
        return RelativeTarget.model_validate(value, context=info.context)
    if isinstance(value, int | float) and not isinstance(value, bool):
        return _ACCURACY.validate_python(value)
    if isinstance(value, RelativeTarget):
        return value
    raise fault(f"must be an accuracy or {{relative: 0.97, reference: result folder}}, got {shown(value)}")


def _dump(target: float | RelativeTarget) -> Any:
    if isinstance(target, RelativeTarget):
        return target.model_dump(mode="json")
    return target


_TargetForm = Accuracy | RelativeTarget
AccuracyTarget = Annotated[
    _TargetForm, PlainValidator(_parse, json_schema_input_type=_TargetForm), PlainSerializer(_dump)
]
