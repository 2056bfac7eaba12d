"""Who waits for whom: one file a server policy."""

from edgefl.catalogue import Catalogue
from edgefl.protocols.base import Coordinator, Policy

PROTOCOLS: Catalogue[Policy] = Catalogue(
    "server policy",
    {
        "synchronous": "edgefl.protocols.synchronous:Synchronous",
        "deadline": "edgefl.protocols.deadline:Deadline",
        "over_selection": "edgefl.protocols.over_selection:OverSelection",
        "buffered": "edgefl.protocols.buffered:Buffered",
        "asynchronous": "edgefl.protocols.asynchronous:Asynchronous",
        "sequential": "edgefl.protocols.sequential:Sequential",
        "split": "edgefl.protocols.split:Split",
        "hierarchical": "edgefl.protocols.hierarchical:Hierarchical",
    },
)

__all__ = ["PROTOCOLS", "Coordinator", "Policy"]
