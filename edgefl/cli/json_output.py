"""The option `--json`: one document of standard JSON on standard output (docs/command-line.md has its keys)."""

import json
import math
import re
from collections.abc import Mapping
from typing import Any

_PLACE = re.compile(r"(?P<place>.+?)(?::(?P<line>\d+))?: (?P<rest>.+)")
_KEY = re.compile(r"(?P<key>[\w-]+(?:\.[\w-]+)*): (?P<message>.+)")
_MEANT = re.compile(r'did you mean "?(?P<remedy>[^"?]+)"?\?')
_REMEDY = re.compile(r": (?P<remedy>(?:write|set|leave|use|remove|name|change|run|choose|give|add|restore)\b.+)")


def print_json(document: Mapping[str, Any]) -> None:
    """Print a document; numbers that are not finite become null."""
    print(json.dumps(_finite(document), indent=2, allow_nan=False), flush=True)


def _finite(value: Any) -> Any:
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if isinstance(value, Mapping):
        return {key: _finite(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(item) for item in value]
    return value


def fault_as_json(line: str) -> dict[str, Any]:
    """Return a fault with its file, line, key, message and remedy; null where the fault has none."""
    file = None
    number = None
    key = None
    remedy = None
    message = line
    match = _PLACE.fullmatch(line)
    if match is not None:
        is_option = match["place"].startswith("--")
        if not is_option and (match["line"] or " " not in match["place"]):
            file = match["place"]
            message = match["rest"]
        elif is_option:
            message = match["rest"]
        if match["line"]:
            number = int(match["line"])
    about_key = _KEY.fullmatch(message)
    if about_key is not None:
        key = about_key["key"]
        message = about_key["message"]
    advice = _MEANT.search(message) or _REMEDY.search(message)
    if advice is not None:
        remedy = advice["remedy"]
    return {"file": file, "line": number, "key": key, "message": message, "remedy": remedy}
