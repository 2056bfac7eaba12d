"""Standard JSON, without the NaN and infinity that Python's reader accepts."""

import json
import math
from typing import Any, NoReturn


def strict_json(content: str | bytes) -> Any:
    """Return the value of a JSON text.

    Raises:
        ValueError: it is not JSON, or has a number that is not finite.
        RecursionError: it is nested too deeply.
    """
    return json.loads(content, parse_constant=_refuse, parse_float=_finite, parse_int=_whole)


def _refuse(text: str) -> NoReturn:
    raise ValueError(f"{text} is not a finite number")


def _finite(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        _refuse(text[:40])
    return value


def _whole(text: str) -> int:
    _finite(text)  # what reads a number may divide it
    return int(text)
