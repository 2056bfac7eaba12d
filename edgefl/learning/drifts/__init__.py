"""Concept drift: how the data of devices change while a run goes on, one file a kind."""

from edgefl.core.catalogue import Catalogue
from edgefl.learning.drifts.base import Drift

DRIFTS: Catalogue[Drift] = Catalogue(
    noun="drift",
    members={
        "labels": "edgefl.learning.drifts.labels:Labels",
        "rotation": "edgefl.learning.drifts.rotation:Rotation",
        "permutation": "edgefl.learning.drifts.permutation:Permutation",
    },
    base=Drift,
    kind="drift",
)

__all__ = ["DRIFTS", "Drift"]
