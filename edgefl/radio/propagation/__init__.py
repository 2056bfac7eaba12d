"""Path loss: one file a propagation model."""

from channel.tr38901 import LOS, NLOS, O2I
from edgefl.core.catalogue import Catalogue
from edgefl.radio.propagation.base import LargeScale, PathDraws, Propagation

PROPAGATION: Catalogue[Propagation] = Catalogue(
    noun="propagation model",
    members={
        "umi_los": "edgefl.radio.propagation.umi_los:UmiLos",
        "umi": "edgefl.radio.propagation.umi:Umi",
        "uma": "edgefl.radio.propagation.uma:Uma",
        "rma": "edgefl.radio.propagation.rma:Rma",
        "inh": "edgefl.radio.propagation.inh:Inh",
        "free_space": "edgefl.radio.propagation.free_space:FreeSpace",
        "log_distance": "edgefl.radio.propagation.log_distance:LogDistance",
        "listed": "edgefl.radio.propagation.listed:Listed",
        "map": "edgefl.radio.propagation.map:Map",
    },
    base=Propagation,
    kind="propagation",
)

__all__ = ["LOS", "NLOS", "O2I", "PROPAGATION", "LargeScale", "PathDraws", "Propagation"]
