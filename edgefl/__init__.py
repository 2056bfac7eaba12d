"""edgefl: a wireless-edge emulator for federated learning.

`edgefl.run("scenario.yaml")` returns a Result with DataFrames, a summary and the final flat parameters.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from edgefl.core.errors import InputError, RunError

if TYPE_CHECKING:
    from edgefl.api import compare, load, read, report, run, sweep, what_if
    from edgefl.learning.datasets.arrays import arrays, client_arrays
    from edgefl.results.result import Result

    __version__: str

__all__ = [
    "InputError",
    "Result",
    "RunError",
    "__version__",
    "arrays",
    "client_arrays",
    "compare",
    "load",
    "read",
    "report",
    "run",
    "sweep",
    "what_if",
]

_MODULES = {
    "arrays": "edgefl.learning.datasets.arrays",
    "client_arrays": "edgefl.learning.datasets.arrays",
    "compare": "edgefl.api",
    "load": "edgefl.api",
    "read": "edgefl.api",
    "report": "edgefl.api",
    "run": "edgefl.api",
    "sweep": "edgefl.api",
    "what_if": "edgefl.api",
    "Result": "edgefl.results.result",
}


def __dir__() -> list[str]:
    """Return the public names, which editors and notebooks complete."""
    return __all__


def __getattr__(name: str) -> Any:
    """Import the module of a name when it is first used: `edgefl --help` needs none of them."""
    if name == "__version__":
        from edgefl.core.version import edgefl_version

        return edgefl_version()
    if name not in _MODULES:
        raise AttributeError(f"module 'edgefl' has no attribute '{name}'")
    found = getattr(import_module(_MODULES[name]), name)
    if _MODULES[name] != "edgefl.api":
        return found
    from edgefl.python_calls import from_python

    return from_python(found)
