"""Path loss: one file a propagation model."""

from edgefl.catalogue import Catalogue
from edgefl.propagation.base import LOS, NLOS, O2I, Draws, LargeScale, Propagation

PROPAGATION: Catalogue[Propagation] = Catalogue(
    "propagation model",
    {
        "umi_los": "edgefl.propagation.umi_los:UmiLos",
        "umi": "edgefl.propagation.umi:Umi",
        "uma": "edgefl.propagation.uma:Uma",
        "rma": "edgefl.propagation.rma:Rma",
        "inh": "edgefl.propagation.inh:Inh",
        "free_space": "edgefl.propagation.free_space:FreeSpace",
        "log_distance": "edgefl.propagation.log_distance:LogDistance",
    },
)

__all__ = ["LOS", "NLOS", "O2I", "PROPAGATION", "Draws", "LargeScale", "Propagation"]
