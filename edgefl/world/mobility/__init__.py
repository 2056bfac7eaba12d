"""Mobility models, which say how devices move: one file a model; `base.py` says how to write one."""

from edgefl.core.catalogue import Catalogue
from edgefl.world.mobility.area import Area
from edgefl.world.mobility.base import Mobility, Track

MOBILITY: Catalogue[Mobility] = Catalogue(
    noun="mobility model",
    members={
        "static": "edgefl.world.mobility.static:Static",
        "constant_velocity": "edgefl.world.mobility.constant_velocity:ConstantVelocity",
        "random_waypoint": "edgefl.world.mobility.random_waypoint:RandomWaypoint",
        "gauss_markov": "edgefl.world.mobility.gauss_markov:GaussMarkov",
        "group": "edgefl.world.mobility.group:GroupMobility",
        "manhattan": "edgefl.world.mobility.manhattan:Manhattan",
        "streets": "edgefl.world.mobility.streets:Streets",
        "trace": "edgefl.world.mobility.trace:Trace",
    },
    base=Mobility,
    kind="mobility",
)

__all__ = ["MOBILITY", "Area", "Mobility", "Track"]
