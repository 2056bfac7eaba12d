"""The mathematics of learning: one file an algorithm."""

from edgefl.algorithms.base import Algorithm, Local, Updates
from edgefl.catalogue import Catalogue

ALGORITHMS: Catalogue[Algorithm] = Catalogue(
    "algorithm",
    {
        "fedavg": "edgefl.algorithms.fedavg:FedAvg",
        "feddyn": "edgefl.algorithms.feddyn:FedDyn",
        "fedprox": "edgefl.algorithms.fedprox:FedProx",
        "scaffold": "edgefl.algorithms.scaffold:Scaffold",
    },
)

__all__ = ["ALGORITHMS", "Algorithm", "Local", "Updates"]
