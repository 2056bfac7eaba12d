"""Who gets which bandwidth: one file an allocation."""

from edgefl.allocation.base import Allocation
from edgefl.catalogue import Catalogue

ALLOCATIONS: Catalogue[Allocation] = Catalogue(
    "allocation",
    {
        "equal": "edgefl.allocation.equal:EqualAllocation",
        "proportional": "edgefl.allocation.proportional:ProportionalAllocation",
        "min_makespan": "edgefl.allocation.min_makespan:MinMakespan",
        "proportional_fair": "edgefl.allocation.proportional_fair:ProportionalFair",
        "round_robin": "edgefl.allocation.round_robin:RoundRobin",
    },
)

__all__ = ["ALLOCATIONS", "Allocation"]
