"""Channel state information at the server: one file a kind; `base.py` says how to write one."""

from edgefl.coordination.csi.base import Csi
from edgefl.core.catalogue import Catalogue

CSI: Catalogue[Csi] = Catalogue(
    noun="channel state information",
    members={
        "none": "edgefl.coordination.csi.none:NoCsi",
        "perfect": "edgefl.coordination.csi.perfect:PerfectCsi",
        "mean": "edgefl.coordination.csi.mean:MeanCsi",
        "last": "edgefl.coordination.csi.last:LastCsi",
    },
    base=Csi,
    kind="csi",
)

__all__ = ["CSI", "Csi"]
