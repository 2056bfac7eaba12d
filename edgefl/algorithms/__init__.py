"""The mathematics of learning: one file an algorithm."""

from edgefl.algorithms.base import Algorithm, Local, Updates
from edgefl.catalogue import Catalogue

ALGORITHMS: Catalogue[Algorithm] = Catalogue(
    "algorithm",
    {
        "fedavg": "edgefl.algorithms.fedavg:FedAvg",
        "fedprox": "edgefl.algorithms.fedprox:FedProx",
    },
)

__all__ = ["ALGORITHMS", "Algorithm", "Local", "Updates"]
