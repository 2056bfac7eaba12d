"""Allocations of bandwidth to concurrent transfers: one file each."""

from edgefl.coordination.optimisers import OPTIMISERS
from edgefl.core.catalogue import Catalogue, members_of
from edgefl.radio.allocation.base import Allocation

ALLOCATIONS: Catalogue[Allocation] = Catalogue(
    noun="allocation",
    members=members_of(__file__),
    base=Allocation,
    kind="allocation",
    # They divide the uplink, too, but decide powers and clocks with it.
    elsewhere={name: f"server.optimiser: {name}" for name in OPTIMISERS.members if name != "none"},
)

__all__ = ["ALLOCATIONS", "Allocation"]
