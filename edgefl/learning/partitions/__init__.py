"""Partitions: which device holds which training samples; one file each."""

from edgefl.core.catalogue import Catalogue
from edgefl.learning.partitions.base import Partition

PARTITIONS: Catalogue[Partition] = Catalogue(
    noun="partition",
    members={
        "iid": "edgefl.learning.partitions.iid:Iid",
        "dirichlet": "edgefl.learning.partitions.dirichlet:Dirichlet",
        "dirichlet_by_class": "edgefl.learning.partitions.dirichlet_by_class:DirichletByClass",
        "exdir": "edgefl.learning.partitions.exdir:ExDir",
        "two_class": "edgefl.learning.partitions.two_class:TwoClass",
        "shards": "edgefl.learning.partitions.shards:Shards",
        "two_shard": "edgefl.learning.partitions.two_shard:TwoShard",
        "half": "edgefl.learning.partitions.half:Half",
        "partial_overlap": "edgefl.learning.partitions.partial_overlap:PartialOverlap",
        "distinct": "edgefl.learning.partitions.distinct:Distinct",
        "labels": "edgefl.learning.partitions.labels:ListedLabels",
        "label_overlap": "edgefl.learning.partitions.label_overlap:LabelOverlap",
        "quantity_skew": "edgefl.learning.partitions.quantity_skew:QuantitySkew",
        "natural": "edgefl.learning.partitions.natural:Natural",
        "one_each": "edgefl.learning.partitions.one_each:OneEach",
        "file": "edgefl.learning.partitions.file:FilePartition",
    },
    base=Partition,
    kind="partitions",
)

__all__ = ["PARTITIONS", "Partition"]
