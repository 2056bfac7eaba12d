"""Every label to one device."""

from __future__ import annotations

import numpy as np

from edgefl.core.arrays import Indices
from edgefl.core.errors import InputError
from edgefl.learning.partitions.base import Partition, by_class, deal


class Distinct(Partition):
    """Each device has labels of its own, all their samples (dynamic-devices paper, App. E)."""

    def split(self, labels: Indices, count: int, rng: np.random.Generator) -> list[Indices]:
        """Device i owns the labels from i L / N on, rounded down."""
        pools = by_class(labels)
        if count > len(pools):
            raise InputError(f"devices.count: {count} devices cannot have labels of their own, there are {len(pools)}")
        begins = np.arange(count) * len(pools) // count
        device = np.searchsorted(begins, np.arange(len(pools)), side="right") - 1
        table = np.zeros((len(pools), count), dtype=np.int64)
        table[np.arange(len(pools)), device] = [len(pool) for pool in pools]
        return deal(pools, table)
