"""Who gets which bandwidth: one file an allocation."""

from edgefl.allocation.base import Allocation
from edgefl.catalogue import Catalogue

ALLOCATIONS: Catalogue[Allocation] = Catalogue(
    "allocation",
    {
        "equal": "edgefl.allocation.equal:EqualAllocation",
    },
)

__all__ = ["ALLOCATIONS", "Allocation"]
