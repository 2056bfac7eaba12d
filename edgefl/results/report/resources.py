"""What a page carries inside: scripts, styles, data."""

from __future__ import annotations

import base64
import gzip
import importlib.util
import json
from importlib.resources import files
from pathlib import Path
from typing import Any


def resource(name: str) -> str:
    """A file of this package."""
    return (files("edgefl.results.report") / name).read_text(encoding="utf-8")


def as_json(value: Any) -> str:
    """JSON that cannot end the script element it stands in."""
    text = json.dumps(value, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
    return text.replace("<", "\\u003c")


def plotly() -> str:
    """Plotly's script from the installed package, whose Python part is slow to import and not needed."""
    package = importlib.util.find_spec("plotly")
    if package is None or package.origin is None:
        raise ModuleNotFoundError("edgefl's reports need the plotly package")
    return (Path(package.origin).parent / "package_data" / "plotly.min.js").read_text(encoding="utf-8")


def packed(text: str) -> str:
    """A text as gzip in base64, which browsers can read: Plotly takes 2 MB so, not 4.8 MB."""
    return base64.b64encode(gzip.compress(text.encode(), mtime=0)).decode("ascii")
