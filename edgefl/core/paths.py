"""Paths that a scenario names: looked for beside the scenario file, then in the working directory."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

from pydantic import BeforeValidator, PlainSerializer, ValidationInfo, WithJsonSchema


def data_folders() -> list[Path]:
    """Where data are looked for when the scenario names no path."""
    named = os.environ.get("EDGEFL_DATA")
    return [*([Path(named).resolve()] if named else []), Path.home() / ".cache" / "edgefl"]


def _looked_for(further: Callable[[], list[Path]]) -> Callable[[Any, ValidationInfo], Any]:
    """Beside the scenario file, in the working directory, then in further folders."""

    def resolve(value: Any, info: ValidationInfo) -> Any:
        if not isinstance(value, str | Path):
            return value
        base = Path((info.context or {}).get("base", "."))
        named = Path(os.path.expanduser(value))  # noqa: PTH111 - leaves "~nobody" as it stands
        candidates = [(folder / named).absolute() for folder in (base, Path.cwd(), *further())]
        return next((path for path in candidates if os.path.exists(path)), candidates[0])  # noqa: PTH110 - never raises

    return resolve


_TEXT, _SCHEMA = PlainSerializer(str), WithJsonSchema({"type": "string", "format": "path"})

UserPath = Annotated[Path, BeforeValidator(_looked_for(list)), _TEXT, _SCHEMA]
"""An absolute path; whether it must exist is for its reader to say."""

DataPath = Annotated[Path, BeforeValidator(_looked_for(data_folders)), _TEXT, _SCHEMA]
"""As `UserPath`, then looked for in $EDGEFL_DATA and in ~/.cache/edgefl."""
