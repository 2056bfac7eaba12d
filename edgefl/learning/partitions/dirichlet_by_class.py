"""Dirichlet partition with a prior per class."""

from __future__ import annotations

import math

import numpy as np
from pydantic import NonNegativeInt, PositiveFloat

from edgefl.core.arrays import Indices
from edgefl.learning.partitions.base import Partition, by_class, deal, quotas
from edgefl.learning.partitions.classwise import cut, cut_until


class DirichletByClass(Partition):
    """Each class cut among devices by Dirichlet(alpha), unequal sizes (Yurochkin et al., ICML 2019; FedEve)."""

    alpha: PositiveFloat = 0.1
    balanced: bool = False  # who has n / N samples gets no more classes (sequential-FL paper's code)
    min_samples: NonNegativeInt = 0  # of each device, drawn again until so; 0: drawn once

    def split(self, labels: Indices, count: int, rng: np.random.Generator) -> list[Indices]:
        """Without `min_samples` a device that comes away with nothing gets one sample of the largest one."""
        pools, room = by_class(labels, rng), len(labels) / count if self.balanced else math.inf
        sizes, everybody = np.array([len(pool) for pool in pools]), np.full((len(pools), count), True)
        if self.min_samples:
            return deal(pools, cut_until(self.min_samples, sizes, everybody, self.alpha, room, rng))
        quotas(len(labels), count)
        return deal(pools, _nobody_empty(cut(sizes, everybody, self.alpha, room, rng)))


def _nobody_empty(table: Indices) -> Indices:
    """The table [class, device] with a sample for each empty device, of the largest class of the largest device."""
    filled = table.copy()
    for device in np.flatnonzero(table.sum(axis=0) == 0):
        giver = filled.sum(axis=0).argmax()
        given = filled[:, giver].argmax()
        filled[given, giver] -= 1
        filled[given, device] += 1
    return filled
