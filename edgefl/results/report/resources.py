"""Scripts, styles and data that a page carries inside, so that it needs no network."""

from __future__ import annotations

import base64
import gzip
import importlib.util
import json
from importlib.resources import files
from pathlib import Path
from typing import Any


def resource(name: str) -> str:
    """Return the text of a file that stands beside this one."""
    return (files("edgefl.results.report") / name).read_text(encoding="utf-8")


def as_json(value: Any) -> str:
    """Return JSON that cannot end the script element it stands in.

    Raises:
        ValueError: a number is not finite; browsers cannot read NaN in JSON.
    """
    text = json.dumps(value, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
    # In JSON, < only stands inside strings, where the escape means the same; a label may hold "</script>".
    return text.replace("<", "\\u003c")


def plotly() -> str:
    """Return Plotly's script from the installed package.

    Raises:
        ModuleNotFoundError: Plotly is not installed.
    """
    # Only found, not imported: Plotly's Python part is slow to import and not needed.
    package = importlib.util.find_spec("plotly")
    if package is None or package.origin is None:
        raise ModuleNotFoundError("edgefl's reports need the plotly package: install plotly")
    return (Path(package.origin).parent / "package_data" / "plotly.min.js").read_text(encoding="utf-8")


def packed(text: str) -> str:
    """Return a text as gzip in base64, which browsers can read: Plotly then takes 2 MB instead of 4.8 MB."""
    # Without a time stamp the same text always gives the same page.
    return base64.b64encode(gzip.compress(text.encode(), mtime=0)).decode("ascii")
