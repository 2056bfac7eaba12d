"""Scripts, styles and data that a page carries inside, so that it needs no network."""

import base64
import gzip
import importlib.util
import json
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

COMPRESSION = 4  # takes half the time of level 9, for a page that is 4 % larger


def resource(name: str) -> str:
    """Return the text of a file of the report, for example "shared/style.css"."""
    return (files("edgefl.results.report") / name).read_text(encoding="utf-8")


def as_json(value: Any) -> str:
    """Return JSON that cannot end the script element it stands in.

    Raises:
        ValueError: a number is not finite; browsers cannot read NaN in JSON.
    """
    text = json.dumps(value, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
    # In JSON, < only stands inside strings, where the escape means the same; a label may hold "</script>".
    return text.replace("<", "\\u003c")


def scripts(*names: str) -> str:
    """Return the scripts of a page: what all share, those that are named, and the statement that starts them."""
    shared = ("shared/plots.js", "shared/alternatives.js", "shared/scrolling.js")
    around = ("shared/chart_tools.js", "shared/contents.js", "shared/print.js")
    return "".join(map(resource, (*shared, *names, *around))) + "edgefl.start();"


@cache
def plotly() -> str:
    """Return Plotly's script from the installed package, as gzip in base64: 2 MB instead of 4.8 MB.

    It is packed once in a process, which may write the pages of all runs of a sweep.

    Raises:
        ModuleNotFoundError: Plotly is not installed.
    """
    # Only found, not imported: Plotly's Python part is slow to import and not needed.
    package = importlib.util.find_spec("plotly")
    if package is None or package.origin is None:
        raise ModuleNotFoundError("edgefl's reports need the plotly package: install plotly")
    script = Path(package.origin).parent / "package_data" / "plotly.min.js"
    # Without a time stamp the same script always gives the same page.
    return base64.b64encode(gzip.compress(script.read_bytes(), COMPRESSION, mtime=0)).decode("ascii")
