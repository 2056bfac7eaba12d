"""Two halves of the devices with overlapping label sets."""

import math
from typing import Annotated, ClassVar

import numpy as np
from pydantic import Field

from edgefl.core.arrays import Indices
from edgefl.core.errors import InputError
from edgefl.learning.partitions.base import Partition, by_class, deal, evenly, whole


class PartialOverlap(Partition):
    """60 % of the labels to each half of the devices, 20 % to both, evenly (dynamic-devices paper, App. E)."""

    groups: ClassVar[int] = 2

    share: Annotated[float, Field(gt=0, le=1)] = 0.6  # Share of the labels for each half of the devices.
    overlap: Annotated[float, Field(ge=0, le=1)] = 0.2  # Share of the labels for both halves of the devices.

    def split(self, labels: Indices, count: int, rng: np.random.Generator) -> list[Indices]:
        """Deal samples in file order; of a label that both halves have, each half gets half the samples."""
        pools = by_class(labels)
        first, second = label_sets(len(pools), self.share, self.overlap)
        if count < 2:
            raise InputError(f"devices.count: {count} device cannot be halved: set it to 2 or more")
        half = count // 2  # of an odd number the second half has one more
        table = np.zeros((len(pools), count), dtype=np.int64)
        for label, pool in enumerate(pools):
            # Samples of the label for each half of the devices: all to the one that has it, or half to each.
            if label in first and label in second:
                sizes = evenly(len(pool), 2)
            else:
                sizes = len(pool) * np.array([label in first, label in second])
            table[label, :half] = evenly(int(sizes[0]), half)
            table[label, half:] = evenly(int(sizes[1]), count - half)
        return deal(pools, table)


def label_sets(classes: int, share: float, overlap: float) -> tuple[range, range]:
    """Return the labels of both halves: the first `share` of them, and as many that begin `overlap` before its end."""
    size = whole(share * classes)
    common = whole(overlap * classes)
    if overlap and not common:
        enough = math.ceil(1e4 / classes) / 1e4  # one class, rounded up to four digits to be written in a scenario
        raise InputError(
            f"data.partition.overlap: {overlap:.15g} of {classes} classes is less than one: "
            f"set it to 0, or to {enough} or more"
        )
    # Both sets together have 2 size - common labels.
    if not size or common > size or 2 * size - common > classes:
        raise InputError(
            f"data.partition.share: two sets of {size} of the {classes} classes, {common} of them in both: "
            "there are no such sets"
        )
    return range(size), range(size - common, 2 * size - common)
