"""What there is to choose from: every catalogue's members and the shipped scenarios, one line each."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from edgefl.algorithms import ALGORITHMS
from edgefl.allocation import ALLOCATIONS
from edgefl.catalogue import Catalogue
from edgefl.churn import CHURN
from edgefl.codecs import CODECS
from edgefl.datasets import DATASETS
from edgefl.dvfs import DVFS
from edgefl.fading import FADING
from edgefl.initialisation import INITIALISATIONS
from edgefl.mobility import MOBILITY
from edgefl.models import MODELS
from edgefl.partitions import PARTITIONS
from edgefl.propagation import PROPAGATION
from edgefl.protocols import PROTOCOLS
from edgefl.rates import RATES
from edgefl.schedules import SCHEDULES
from edgefl.selection import SELECTIONS

CATALOGUES: dict[str, Catalogue[Any]] = {
    "algorithms": ALGORITHMS,
    "policies": PROTOCOLS,
    "selection": SELECTIONS,
    "models": MODELS,
    "datasets": DATASETS,
    "partitions": PARTITIONS,
    "schedules": SCHEDULES,
    "initialisation": INITIALISATIONS,
    "mobility": MOBILITY,
    "churn": CHURN,
    "dvfs": DVFS,
    "propagation": PROPAGATION,
    "fading": FADING,
    "rates": RATES,
    "codecs": CODECS,
    "allocation": ALLOCATIONS,
}


def kinds() -> list[str]:
    """What `edgefl list` takes."""
    return [*CATALOGUES, "scenarios"]


def entries(kind: str) -> list[tuple[str, str]]:
    """Names and what they are, with their source."""
    reader: Callable[[], list[tuple[str, str]]] = _scenarios if kind == "scenarios" else lambda: _members(kind)
    return reader()


def _members(kind: str) -> list[tuple[str, str]]:
    catalogue = CATALOGUES[kind]
    return [(name, catalogue.summary(name)) for name in catalogue.members]


def _scenarios() -> list[tuple[str, str]]:
    """Shipped scenarios with their first comment line."""
    packaged, checkout = Path(__file__).parent / "_scenarios", Path(__file__).parents[1] / "scenarios"
    folder = packaged if packaged.is_dir() else checkout
    files = sorted(folder.rglob("*.yaml"))
    return [(str(path), path.read_text(encoding="utf-8").partition("\n")[0].lstrip("# ")) for path in files]
