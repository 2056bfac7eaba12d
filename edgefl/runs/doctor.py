"""Reports on this machine: versions, devices, cores, memory, cache, data, optional packages."""

import os
import platform
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from edgefl.core.machine import available_bytes, core_quota, cores, memory_limits
from edgefl.core.paths import cache_folder, data_folders
from edgefl.core.units import BYTES, quantity
from edgefl.core.version import DISTRIBUTION
from edgefl.learning.datasets.fetch import whereabouts
from edgefl.learning.torch_device import device_names

EXTRAS = {
    "plot": "matplotlib",
    "tensorboard": "tensorboard",
    "wandb": "wandb",
    "ray": "ray",
    "flower": "flwr",
    "gym": "gymnasium",
    "docs": "mkdocs",
}
"""For each extra, a package that only this extra installs."""

Findings = dict[str, dict[str, Any]]  # heading -> name -> value


def examine() -> Findings:
    """Return the findings under headings."""
    return {
        "versions": {
            "edgefl": _version(DISTRIBUTION),
            **_namesake(),
            "python": platform.python_version(),
            "torch": _version("torch"),
            "numpy": _version("numpy"),
            "installed in": str(Path(__file__).parents[1]),
        },
        "machine": {
            "devices": ", ".join(device_names()),
            "cores": _cores(),
            "memory": quantity(available_bytes(), BYTES) + " available",
            **{name: quantity(limit, BYTES) for name, limit in memory_limits().items()},
        },
        "cache": _cache(),
        "extras": {name: _extra(name, package) for name, package in EXTRAS.items()},
        "data": {
            "looked for in": ", ".join(map(str, data_folders())),
            **{found.name: str(found.path or found.remark) for found in whereabouts()},
        },
    }


def _namesake() -> dict[str, str]:
    """Return a warning of the other project whose package is imported as edgefl, too, if it is installed."""
    found = _version("edgefl")
    if DISTRIBUTION == "edgefl" or found == "not installed":
        return {}
    remedy = f"uninstall both, then pip install {DISTRIBUTION}"
    return {"warning": f"another project, edgefl {found}, has written over the same files: {remedy}"}


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "not installed"


def _cores() -> str:
    text = f"{cores()} usable"
    quota = core_quota()
    if quota is not None:
        text += f", but the container allows only the time of {quota:g}"
    return text


def _extra(name: str, package: str) -> str:
    if find_spec(package) is None:
        return f"not installed: pip install '{DISTRIBUTION}[{name}]'"
    found = _version(package)
    if found == "not installed":  # a module with another name than its distribution
        return package
    return f"{package} {found}"


def _cache() -> dict[str, Any]:
    home = cache_folder()
    sizes: dict[str, Any] = {"folder": str(home)}
    for part in ("arrays", "plans"):
        size_bytes = 0
        for folder, _, names in os.walk(home / part):
            size_bytes += sum((Path(folder) / name).lstat().st_size for name in names)
        sizes[part] = quantity(size_bytes, BYTES)
    return sizes
