"""How devices move: one file a mobility model."""

from edgefl.catalogue import Catalogue
from edgefl.mobility.base import Area, Mobility, Track

MOBILITY: Catalogue[Mobility] = Catalogue(
    "mobility model",
    {
        "static": "edgefl.mobility.static:Static",
        "random_waypoint": "edgefl.mobility.random_waypoint:RandomWaypoint",
    },
)

__all__ = ["MOBILITY", "Area", "Mobility", "Track"]
