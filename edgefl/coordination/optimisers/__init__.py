"""Joint optimisers of bandwidth, power and clock: one file each; `base.py` says how to write one."""

from edgefl.coordination.optimisers.base import Optimiser
from edgefl.core.catalogue import Catalogue

OPTIMISERS: Catalogue[Optimiser] = Catalogue(
    noun="optimiser",
    members={
        "none": "edgefl.coordination.optimisers.none:NoOptimiser",
        "fedl": "edgefl.coordination.optimisers.fedl:Fedl",
        "min_energy": "edgefl.coordination.optimisers.min_energy:MinEnergy",
        "min_time": "edgefl.coordination.optimisers.min_time:MinTime",
    },
    base=Optimiser,
    kind="optimisers",
)

__all__ = ["OPTIMISERS", "Optimiser"]
