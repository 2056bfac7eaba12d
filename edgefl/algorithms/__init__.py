"""The mathematics of learning: one file an algorithm."""

from edgefl.algorithms.base import Algorithm, Batch, Local, Run, Seen, Updates
from edgefl.catalogue import Catalogue

ALGORITHMS: Catalogue[Algorithm] = Catalogue(
    "algorithm",
    {
        "fedacg": "edgefl.algorithms.fedacg:FedACG",
        "fedadagrad": "edgefl.algorithms.fedopt:FedAdagrad",
        "fedadam": "edgefl.algorithms.fedopt:FedAdam",
        "fedar": "edgefl.algorithms.fedar:FedAR",
        "fedasync": "edgefl.algorithms.fedasync:FedAsync",
        "fedavg": "edgefl.algorithms.fedavg:FedAvg",
        "fedavgm": "edgefl.algorithms.fedavgm:FedAvgM",
        "fedbuff": "edgefl.algorithms.fedbuff:FedBuff",
        "feddc": "edgefl.algorithms.feddc:FedDC",
        "feddisco": "edgefl.algorithms.feddisco:FedDisco",
        "feddyn": "edgefl.algorithms.feddyn:FedDyn",
        "fedeve": "edgefl.algorithms.fedeve:FedEve",
        "fednova": "edgefl.algorithms.fednova:FedNova",
        "fedprox": "edgefl.algorithms.fedprox:FedProx",
        "fedssg": "edgefl.algorithms.fedssg:FedSSG",
        "fedvarp": "edgefl.algorithms.fedvarp:FedVarp",
        "fedvra": "edgefl.algorithms.fedvra:FedVRA",
        "fedyogi": "edgefl.algorithms.fedopt:FedYogi",
        "mifa": "edgefl.algorithms.mifa:Mifa",
        "moon": "edgefl.algorithms.moon:Moon",
        "qfedavg": "edgefl.algorithms.qfedavg:QFedAvg",
        "scaffold": "edgefl.algorithms.scaffold:Scaffold",
    },
)

__all__ = ["ALGORITHMS", "Algorithm", "Batch", "Local", "Run", "Seen", "Updates"]
