"""What there is to choose from: every catalogue's members and the shipped scenarios, one line each."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from edgefl.coordination.policies import POLICIES
from edgefl.coordination.selection import SELECTIONS
from edgefl.core.catalogue import Catalogue
from edgefl.learning.algorithms import ALGORITHMS
from edgefl.learning.codecs import CODECS
from edgefl.learning.datasets import DATASETS
from edgefl.learning.initialisation import INITIALISATIONS
from edgefl.learning.models import MODELS
from edgefl.learning.partitions import PARTITIONS
from edgefl.learning.schedules import SCHEDULES
from edgefl.radio.allocation import ALLOCATIONS
from edgefl.radio.fading import FADING
from edgefl.radio.propagation import PROPAGATION
from edgefl.radio.rates import RATES
from edgefl.world.churn import CHURN
from edgefl.world.dvfs import DVFS
from edgefl.world.mobility import MOBILITY

CATALOGUES: dict[str, Catalogue[Any]] = {
    "algorithms": ALGORITHMS,
    "policies": POLICIES,
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
    package = Path(__file__).parents[1]
    packaged = package / "_scenarios"
    checkout = package.parent / "scenarios"
    folder = packaged if packaged.is_dir() else checkout
    files = sorted(folder.rglob("*.yaml"))
    return [(str(path), path.read_text(encoding="utf-8").partition("\n")[0].lstrip("# ")) for path in files]
