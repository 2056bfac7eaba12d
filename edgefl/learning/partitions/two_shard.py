"""Two halves of every label for two devices."""

from __future__ import annotations

import numpy as np

from edgefl.core.arrays import Indices
from edgefl.core.errors import InputError
from edgefl.core.section import Count
from edgefl.learning.partitions.base import Partition, by_class, deal, first_success


class TwoShard(Partition):
    """Every batch of labels halved between two random devices, equal shares (dynamic-devices paper, App. E)."""

    batch: Count | None = None  # labels that stay together; L / N where not given, so that a device gets two batches

    def split(self, labels: Indices, count: int, rng: np.random.Generator) -> list[Indices]:
        """Random batches of labels, of which each device gets the halves of 2 L / (batch N)."""
        pools = by_class(labels, rng)
        classes, batch = len(pools), self.batch or max(len(pools) // count, 1)
        if classes % batch or 2 * classes % (batch * count):
            text = f"{classes} classes in batches of {batch}, halved, give {count} devices no equal shares"
            raise InputError(f"data.partition.batch: {text}")
        halves = 2 * classes // (batch * count)
        if halves > classes // batch:
            raise InputError("data.partition: the halves of a label go to two devices, but there is one")

        def draw() -> Indices | None:
            return _pairs(classes // batch, halves, count, rng)

        why = "no draw gave every device different labels"
        pairs = first_success(draw, f"data.partition.batch: {why}")
        table = np.empty((classes, count), dtype=np.int64)
        for label, place in enumerate(rng.permutation(classes)):
            first, second = np.flatnonzero(pairs[place // batch])
            table[label] = 0
            table[label, [first, second]] = [len(pools[label]) - len(pools[label]) // 2, len(pools[label]) // 2]
        return deal(pools, table)


def _pairs(batches: int, halves: int, count: int, rng: np.random.Generator) -> Indices | None:
    """Who gets a half of each batch [batch, device], two ones a row; None where only one device has room for two."""
    taken = np.zeros((batches, count), dtype=np.int64)
    for row in taken:
        room = np.flatnonzero(taken.sum(axis=0) < halves)
        if len(room) < 2:
            return None
        row[rng.choice(room, 2, replace=False)] = 1
    return taken
