"""Which device holds which samples: one file a partition."""

from edgefl.catalogue import Catalogue
from edgefl.partitions.base import Partition

PARTITIONS: Catalogue[Partition] = Catalogue(
    "partition",
    {
        "iid": "edgefl.partitions.iid:Iid",
        "dirichlet": "edgefl.partitions.dirichlet:Dirichlet",
        "one_each": "edgefl.partitions.one_each:OneEach",
        "file": "edgefl.partitions.file:FilePartition",
    },
)

__all__ = ["PARTITIONS", "Partition"]
