"""Who waits for whom: one file a server policy."""

from edgefl.catalogue import Catalogue
from edgefl.protocols.base import Coordinator, Policy

PROTOCOLS: Catalogue[Policy] = Catalogue(
    "server policy",
    {
        "synchronous": "edgefl.protocols.synchronous:Synchronous",
    },
)

__all__ = ["PROTOCOLS", "Coordinator", "Policy"]
