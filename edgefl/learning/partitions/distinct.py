"""Every label to one device."""

import numpy as np

from edgefl.core.arrays import Indices
from edgefl.core.errors import InputError
from edgefl.learning.partitions.base import Partition, by_class, deal


class Distinct(Partition):
    """Each device has all samples of a few labels, which no other device has (dynamic-devices paper, App. E)."""

    def split(self, labels: Indices, count: int, rng: np.random.Generator) -> list[Indices]:
        """Give device `i` of `N` the labels from `floor(i L / N)` on."""
        pools = by_class(labels)
        classes = len(pools)
        if count > classes:
            raise InputError(
                f"devices.count: {count} devices cannot have different labels, as there are only {classes} labels"
            )
        first_label = np.arange(count) * classes // count
        # A label belongs to the last device that begins at or before it.
        device = np.searchsorted(first_label, np.arange(classes), side="right") - 1
        table = np.zeros((classes, count), dtype=np.int64)
        table[np.arange(classes), device] = [len(pool) for pool in pools]
        return deal(pools, table)
