"""Channel state information at the server: one file a kind; `base.py` says how to write one."""

from edgefl.coordination.csi.base import Csi
from edgefl.core.catalogue import Catalogue, members_of

CSI: Catalogue[Csi] = Catalogue(
    noun="channel state information",
    members=members_of(__file__),
    base=Csi,
    kind="csi",
)

__all__ = ["CSI", "Csi"]
