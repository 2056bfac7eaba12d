"""Multiple access: ways to share a cell's uplink among its uploads, one file each."""

from edgefl.core.catalogue import Catalogue, members_of
from edgefl.radio.multiple_access.base import MultipleAccess

MULTIPLE_ACCESS: Catalogue[MultipleAccess] = Catalogue(
    noun="multiple access",
    members=members_of(__file__),
    base=MultipleAccess,
    kind="multiple_access",
)

__all__ = ["MULTIPLE_ACCESS", "MultipleAccess"]
