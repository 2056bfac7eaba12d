"""Half the labels to half the devices."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from edgefl.core.arrays import Indices
from edgefl.core.errors import InputError
from edgefl.learning.partitions.base import Partition, by_class, deal


class Half(Partition):
    """The first half of the labels to the first half of the devices, evenly (dynamic-devices paper, App. E)."""

    groups: ClassVar[int] = 2

    def split(self, labels: Indices, count: int, rng: np.random.Generator) -> list[Indices]:
        """Equal counts of a label in a half, in the order of the samples; a remainder stays unused."""
        pools, first = by_class(labels), count // 2
        if count < 2:
            raise InputError(f"devices.count: {count} device cannot be halved")
        if len(pools) < 2:
            raise InputError("data.partition: half the classes a device, but there is one")
        in_first = np.arange(count) < first
        table = np.zeros((len(pools), count), dtype=np.int64)
        for label, pool in enumerate(pools):
            group = in_first if label < len(pools) // 2 else ~in_first
            if len(pool) < group.sum():
                raise InputError(
                    f"devices.count: {group.sum()} devices cannot share the {len(pool)} samples of a class"
                )
            table[label, group] = len(pool) // group.sum()
        return deal(pools, table)
