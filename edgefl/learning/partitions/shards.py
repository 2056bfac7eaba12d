"""Shards of the sorted samples."""

import numpy as np

from edgefl.core.arrays import Indices
from edgefl.core.errors import InputError
from edgefl.core.section import Count
from edgefl.learning.partitions.base import Partition, by_class


class Shards(Partition):
    """Samples sorted by label and cut into equal shards, two random ones a device (McMahan et al., AISTATS 2017)."""

    per_device: Count = 2  # Number of shards of each device; with 2 most devices have two classes.

    def split(self, labels: Indices, count: int, rng: np.random.Generator) -> list[Indices]:
        """Use every sample; shards differ by one sample at most, and may hold the end of a class and the next one."""
        shards = self.per_device * count
        if shards > len(labels):
            raise InputError(
                f"data.partition.per_device: {self.per_device} shards for each of {count} devices are more than "
                f"{len(labels)} training samples"
            )
        pieces = np.array_split(np.concatenate(by_class(labels, rng)), shards)
        # Which shards each device holds, [device, per_device].
        hands = rng.permutation(shards).reshape(count, self.per_device)
        return [np.concatenate([pieces[shard] for shard in hand]) for hand in hands]
