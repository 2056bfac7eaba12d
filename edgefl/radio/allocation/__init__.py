"""Allocations of bandwidth to concurrent transfers: one file each."""

from edgefl.coordination.optimisers import OPTIMISERS
from edgefl.core.catalogue import Catalogue
from edgefl.radio.allocation.base import Allocation

ALLOCATIONS: Catalogue[Allocation] = Catalogue(
    noun="allocation",
    members={
        "equal": "edgefl.radio.allocation.equal:EqualAllocation",
        "proportional": "edgefl.radio.allocation.proportional:ProportionalAllocation",
        "min_makespan": "edgefl.radio.allocation.min_makespan:MinMakespan",
        "proportional_fair": "edgefl.radio.allocation.proportional_fair:ProportionalFair",
        "proportional_fair_in_time": "edgefl.radio.allocation.proportional_fair_in_time:ProportionalFairInTime",
        "equal_finish": "edgefl.radio.allocation.equal_finish:EqualFinish",
        "max_rate": "edgefl.radio.allocation.max_rate:MaxRate",
        "hungarian": "edgefl.radio.allocation.hungarian:Hungarian",
        "round_robin": "edgefl.radio.allocation.round_robin:RoundRobinAllocation",
        "unequal": "edgefl.radio.allocation.unequal:UnequalAllocation",
    },
    base=Allocation,
    kind="allocation",
    # They divide the uplink, too, but decide powers and clocks with it.
    elsewhere={name: f"server.optimiser: {name}" for name in OPTIMISERS.members if name != "none"},
)

__all__ = ["ALLOCATIONS", "Allocation"]
