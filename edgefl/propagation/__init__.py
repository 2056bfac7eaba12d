"""Path loss: one file a propagation model."""

from edgefl.catalogue import Catalogue
from edgefl.propagation.base import Propagation

PROPAGATION: Catalogue[Propagation] = Catalogue(
    "propagation model",
    {
        "umi_los": "edgefl.propagation.umi_los:UmiLos",
    },
)

__all__ = ["PROPAGATION", "Propagation"]
