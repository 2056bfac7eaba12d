"""Two halves of the devices whose label sets overlap."""

from __future__ import annotations

import math
from typing import Annotated, ClassVar

import numpy as np
from pydantic import Field

from edgefl.core.arrays import Indices
from edgefl.core.errors import InputError
from edgefl.learning.partitions.base import Partition, by_class, deal, evenly, whole

Share = Annotated[float, Field(gt=0, le=1)]


class PartialOverlap(Partition):
    """60 % of the labels to each half of the devices, 20 % to both, evenly (dynamic-devices paper, App. E)."""

    groups: ClassVar[int] = 2

    share: Share = 0.6  # of the labels, for each half of the devices
    overlap: Annotated[float, Field(ge=0, le=1)] = 0.2  # of the labels, for both

    def split(self, labels: Indices, count: int, rng: np.random.Generator) -> list[Indices]:
        """In the order of the samples; a half gets half the samples of a label that both have."""
        pools = by_class(labels)
        first, second = label_sets(len(pools), self.share, self.overlap)
        if count < 2:
            raise InputError(f"devices.count: {count} device cannot be halved")
        table = np.zeros((len(pools), count), dtype=np.int64)
        for label, pool in enumerate(pools):
            groups = [label in first, label in second]
            sizes = evenly(len(pool), 2) if all(groups) else len(pool) * np.array(groups)
            table[label, : count // 2] = evenly(int(sizes[0]), count // 2)
            table[label, count // 2 :] = evenly(int(sizes[1]), count - count // 2)
        return deal(pools, table)


def label_sets(classes: int, share: float, overlap: float) -> tuple[range, range]:
    """The labels of both halves: the first `share` of them, and as many from the last `overlap` of those on.

    Raises:
        InputError: a half would have none, or there are not that many; or none is in both where some should be.
    """
    size, common = whole(share * classes), whole(overlap * classes)
    if overlap and not common:
        text = f"{overlap:.15g} of {classes} classes is less than one"
        raise InputError(f"data.partition.overlap: {text}: set it to 0, or to {math.ceil(1e4 / classes) / 1e4} or more")
    if not size or common > size or 2 * size - common > classes:
        text = f"two sets of {size} of the {classes} classes, {common} of them in both: there are no such sets"
        raise InputError(f"data.partition.share: {text}")
    return range(size), range(size - common, 2 * size - common)
