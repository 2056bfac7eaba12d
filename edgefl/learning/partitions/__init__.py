"""Partitions: which device holds which training samples; one file each."""

from edgefl.core.catalogue import Catalogue, members_of
from edgefl.learning.partitions.base import Partition

PARTITIONS: Catalogue[Partition] = Catalogue(
    noun="partition",
    members=members_of(__file__),
    base=Partition,
    kind="partitions",
)

__all__ = ["PARTITIONS", "Partition"]
