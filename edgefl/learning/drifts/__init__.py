"""Concept drift: how the data of devices change while a run goes on, one file a kind."""

from edgefl.core.catalogue import Catalogue, members_of
from edgefl.learning.drifts.base import Drift

DRIFTS: Catalogue[Drift] = Catalogue(
    noun="drift",
    members=members_of(__file__),
    base=Drift,
    kind="drift",
)

__all__ = ["DRIFTS", "Drift"]
