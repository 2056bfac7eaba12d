"""How devices move: one file a mobility model."""

from edgefl.catalogue import Catalogue
from edgefl.mobility.base import Area, Mobility, Track

MOBILITY: Catalogue[Mobility] = Catalogue(
    "mobility model",
    {
        "static": "edgefl.mobility.static:Static",
        "constant_velocity": "edgefl.mobility.constant_velocity:ConstantVelocity",
        "random_waypoint": "edgefl.mobility.random_waypoint:RandomWaypoint",
        "gauss_markov": "edgefl.mobility.gauss_markov:GaussMarkov",
        "group": "edgefl.mobility.group:Group",
        "manhattan": "edgefl.mobility.manhattan:Manhattan",
        "streets": "edgefl.mobility.streets:Streets",
        "trace": "edgefl.mobility.trace:Trace",
    },
)

__all__ = ["MOBILITY", "Area", "Mobility", "Track"]
