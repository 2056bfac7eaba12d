"""Mobility models, which say how devices move: one file a model; `base.py` says how to write one."""

from edgefl.core.catalogue import Catalogue, members_of
from edgefl.world.mobility.area import Area
from edgefl.world.mobility.base import Mobility, Track

MOBILITY: Catalogue[Mobility] = Catalogue(
    noun="mobility model",
    members=members_of(__file__),
    base=Mobility,
    kind="mobility",
)

__all__ = ["MOBILITY", "Area", "Mobility", "Track"]
