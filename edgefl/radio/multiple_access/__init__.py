"""Multiple access: ways in which the uploads of a cell share its uplink, one file each."""

from edgefl.core.catalogue import Catalogue
from edgefl.radio.multiple_access.base import MultipleAccess

MULTIPLE_ACCESS: Catalogue[MultipleAccess] = Catalogue(
    noun="multiple access",
    members={
        "orthogonal": "edgefl.radio.multiple_access.orthogonal:Orthogonal",
        "noma": "edgefl.radio.multiple_access.noma:Noma",
    },
    base=MultipleAccess,
    kind="multiple_access",
)

__all__ = ["MULTIPLE_ACCESS", "MultipleAccess"]
