"""The mathematics of learning: one file an algorithm."""

from edgefl.core.catalogue import Catalogue
from edgefl.learning.algorithms.base import Algorithm, Batch, ForwardPass, LocalContext, RunInfo, Updates
from edgefl.learning.algorithms.wrapper import Wrapper

ALGORITHMS: Catalogue[Algorithm] = Catalogue(
    noun="algorithm",
    members={
        "fedacg": "edgefl.learning.algorithms.fedacg:FedACG",
        "fedadagrad": "edgefl.learning.algorithms.fedopt:FedAdagrad",
        "fedadam": "edgefl.learning.algorithms.fedopt:FedAdam",
        "fedar": "edgefl.learning.algorithms.fedar:FedAR",
        "fedasync": "edgefl.learning.algorithms.fedasync:FedAsync",
        "fedavg": "edgefl.learning.algorithms.fedavg:FedAvg",
        "fedavgm": "edgefl.learning.algorithms.fedavgm:FedAvgM",
        "fedbuff": "edgefl.learning.algorithms.fedbuff:FedBuff",
        "feddc": "edgefl.learning.algorithms.feddc:FedDC",
        "feddisco": "edgefl.learning.algorithms.feddisco:FedDisco",
        "feddyn": "edgefl.learning.algorithms.feddyn:FedDyn",
        "fedeve": "edgefl.learning.algorithms.fedeve:FedEve",
        "fednova": "edgefl.learning.algorithms.fednova:FedNova",
        "fedprox": "edgefl.learning.algorithms.fedprox:FedProx",
        "fedssg": "edgefl.learning.algorithms.fedssg:FedSSG",
        "fedvarp": "edgefl.learning.algorithms.fedvarp:FedVarp",
        "fedvra": "edgefl.learning.algorithms.fedvra:FedVRA",
        "fedyogi": "edgefl.learning.algorithms.fedopt:FedYogi",
        "mifa": "edgefl.learning.algorithms.mifa:Mifa",
        "moon": "edgefl.learning.algorithms.moon:Moon",
        "qfedavg": "edgefl.learning.algorithms.qfedavg:QFedAvg",
        "scaffold": "edgefl.learning.algorithms.scaffold:Scaffold",
        "weighted": "edgefl.learning.algorithms.weighted:Weighted",
    },
    base=Algorithm,
    kind="algorithms",
)

__all__ = ["ALGORITHMS", "Algorithm", "Batch", "ForwardPass", "LocalContext", "RunInfo", "Updates", "Wrapper"]
