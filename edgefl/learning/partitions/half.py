"""Half the labels to half the devices."""

from typing import ClassVar

import numpy as np

from edgefl.core.arrays import Indices
from edgefl.core.errors import InputError
from edgefl.learning.partitions.base import Partition, by_class, deal


class Half(Partition):
    """The first half of the labels to the first half of the devices, evenly (dynamic-devices paper, App. E)."""

    groups: ClassVar[int] = 2

    def split(self, labels: Indices, count: int, rng: np.random.Generator) -> list[Indices]:
        """Give every device of a half equally many samples of a label, in file order; a remainder stays unused."""
        pools = by_class(labels)
        if count < 2:
            raise InputError(f"devices.count: {count} device cannot be halved: set it to 2 or more")
        if len(pools) < 2:
            raise InputError("data.partition: half needs a class for each half of the devices, but there is only one")
        in_first_half = np.arange(count) < count // 2
        table = np.zeros((len(pools), count), dtype=np.int64)
        for label, pool in enumerate(pools):
            group = in_first_half if label < len(pools) // 2 else ~in_first_half
            devices = group.sum()
            if len(pool) < devices:  # some would get nothing of the class, and so not be equal
                raise InputError(f"devices.count: {devices} devices cannot share the {len(pool)} samples of a class")
            table[label, group] = len(pool) // devices  # of equal size, so the remainder stays unused
        return deal(pools, table)
