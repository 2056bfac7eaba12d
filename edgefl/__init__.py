"""edgefl: a wireless-edge emulator for federated learning.

`edgefl.run("scenario.yaml")` gives a Result with DataFrames, a summary and the final flat parameters.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from edgefl.core.errors import InputError, RunError

if TYPE_CHECKING:
    from edgefl.api import compare, load, run, sweep
    from edgefl.results.result import Result

__all__ = ["InputError", "Result", "RunError", "compare", "load", "run", "sweep"]

_LAZY = {**dict.fromkeys(("run", "load", "compare", "sweep"), "edgefl.api"), "Result": "edgefl.results.result"}


def __getattr__(name: str) -> Any:
    """Import the heavy parts when they are first used."""
    if name not in _LAZY:
        raise AttributeError(f"module 'edgefl' has no attribute '{name}'")
    from importlib import import_module

    return getattr(import_module(_LAZY[name]), name)
