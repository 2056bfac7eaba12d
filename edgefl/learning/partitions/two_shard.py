"""Two halves of every label for two devices."""

import numpy as np

from edgefl.core.arrays import Indices
from edgefl.core.errors import InputError
from edgefl.core.section import Count
from edgefl.learning.partitions.base import Partition, by_class, deal, first_success


class TwoShard(Partition):
    """Every batch of labels halved between two random devices, equal shares (dynamic-devices paper, App. E)."""

    # Number of labels that stay together; by default L / N, so that a device gets halves of two batches.
    batch: Count | None = None

    def split(self, labels: Indices, count: int, rng: np.random.Generator) -> list[Indices]:
        """Cut labels into random batches; each device gets halves of `2 L / (batch N)` of them."""
        pools = by_class(labels, rng)
        classes = len(pools)
        batch = self.batch or max(classes // count, 1)
        if classes % batch or 2 * classes % (batch * count):
            raise InputError(
                f"data.partition.batch: {classes} classes in batches of {batch}, halved, give {count} devices "
                "no equal shares"
            )
        batches = classes // batch
        halves = 2 * classes // (batch * count)  # of batches, for each device
        if halves > batches:
            raise InputError(
                "data.partition: the halves of a label go to two devices, but there is only one: set devices.count "
                "to 2 or more"
            )

        def draw() -> Indices | None:
            return _two_devices_each(batches, halves, count, rng)

        why = "no draw gave every device different labels"
        pairs = first_success(draw, f"data.partition.batch: {why}")
        table = np.zeros((classes, count), dtype=np.int64)
        for label, position in enumerate(rng.permutation(classes)):  # random labels make up a batch
            first, second = np.flatnonzero(pairs[position // batch])
            smaller_half = len(pools[label]) // 2  # of an odd number the first device gets one more
            table[label, first] = len(pools[label]) - smaller_half
            table[label, second] = smaller_half
        return deal(pools, table)


def _two_devices_each(batches: int, halves: int, count: int, rng: np.random.Generator) -> Indices | None:
    """Draw the two devices of each batch [batch, device], two ones a row; None if only one device still has room."""
    taken = np.zeros((batches, count), dtype=np.int64)
    for row in taken:
        with_room = np.flatnonzero(taken.sum(axis=0) < halves)
        if len(with_room) < 2:
            return None
        row[rng.choice(with_room, 2, replace=False)] = 1
    return taken
