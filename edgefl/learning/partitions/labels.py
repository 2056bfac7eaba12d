"""The labels of each device, as they are listed."""

from typing import Annotated

import numpy as np
from pydantic import Field, NonNegativeInt

from edgefl.core.arrays import Indices
from edgefl.core.errors import InputError
from edgefl.learning.partitions.base import Partition, by_class, deal

LabelsOfDevice = Annotated[tuple[NonNegativeInt, ...], Field(strict=False, min_length=1)]


class ListedLabels(Partition):
    """Each device has the labels of its list, whose samples are shared evenly (NIID-Bench, Li et al., ICDE 2022).

    Lists are taken in turn: device i has list i modulo their number.
    """

    # Labels of each device; those of one label share its samples evenly, and labels in no list stay unused.
    of: Annotated[tuple[LabelsOfDevice, ...], Field(strict=False, min_length=1)]

    def split(self, labels: Indices, count: int, rng: np.random.Generator) -> list[Indices]:
        """Divide the shuffled samples of each label among the devices that list it; sizes differ by one at most."""
        classes = np.unique(labels)
        pools = by_class(labels, rng)
        table = np.zeros((len(classes), count), dtype=np.int64)
        for row, (label, pool) in enumerate(zip(classes.tolist(), pools, strict=True)):
            owners = [device for device in range(count) if label in self.of[device % len(self.of)]]
            if owners:
                table[row, owners] = [len(piece) for piece in np.array_split(pool, len(owners))]
        unknown = sorted({label for listed in self.of for label in listed} - set(classes.tolist()))
        if unknown:
            raise InputError(f"data.partition.of: no sample has the label {unknown[0]}: leave it out")
        return deal(pools, table)
