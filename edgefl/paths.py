"""Paths that a scenario names: looked for beside the scenario file, then in the working directory."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated, Any

from pydantic import BeforeValidator, PlainSerializer, ValidationInfo, WithJsonSchema


def _resolve(value: Any, info: ValidationInfo) -> Any:
    if not isinstance(value, str | Path):
        return value
    base = Path((info.context or {}).get("base", "."))
    named = Path(os.path.expanduser(value))  # noqa: PTH111 - leaves "~nobody" as it stands
    candidates = [(folder / named).absolute() for folder in (base, Path.cwd())]
    return next((path for path in candidates if os.path.exists(path)), candidates[0])  # noqa: PTH110 - never raises


UserPath = Annotated[
    Path, BeforeValidator(_resolve), PlainSerializer(str), WithJsonSchema({"type": "string", "format": "path"})
]
"""An absolute path; whether it must exist is for its reader to say."""
