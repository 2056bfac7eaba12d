"""Which device holds which samples: one file a partition."""

from edgefl.catalogue import Catalogue
from edgefl.partitions.base import Partition

PARTITIONS: Catalogue[Partition] = Catalogue(
    "partition",
    {
        "iid": "edgefl.partitions.iid:Iid",
        "dirichlet": "edgefl.partitions.dirichlet:Dirichlet",
        "dirichlet_by_class": "edgefl.partitions.dirichlet_by_class:DirichletByClass",
        "exdir": "edgefl.partitions.exdir:ExDir",
        "two_class": "edgefl.partitions.two_class:TwoClass",
        "shards": "edgefl.partitions.shards:Shards",
        "two_shard": "edgefl.partitions.two_shard:TwoShard",
        "half": "edgefl.partitions.half:Half",
        "partial_overlap": "edgefl.partitions.partial_overlap:PartialOverlap",
        "distinct": "edgefl.partitions.distinct:Distinct",
        "label_overlap": "edgefl.partitions.label_overlap:LabelOverlap",
        "quantity_skew": "edgefl.partitions.quantity_skew:QuantitySkew",
        "natural": "edgefl.partitions.natural:Natural",
        "one_each": "edgefl.partitions.one_each:OneEach",
        "file": "edgefl.partitions.file:FilePartition",
    },
)

__all__ = ["PARTITIONS", "Partition"]
