"""Dirichlet partition with a prior for each class."""

import math

import numpy as np
from pydantic import NonNegativeInt, PositiveFloat

from edgefl.core.arrays import Indices
from edgefl.learning.partitions.base import Partition, by_class, deal, quotas
from edgefl.learning.partitions.classwise import cut, cut_until


class DirichletByClass(Partition):
    """Each class cut among devices by Dirichlet(alpha), unequal sizes (Yurochkin et al., ICML 2019; FedEve)."""

    alpha: PositiveFloat = 0.1  # Concentration; the smaller, the more skewed the parts of a class.
    # Whether a device with n / N samples gets no share of other classes (sequential-FL paper's code).
    balanced: bool = False
    min_samples: NonNegativeInt = 0  # Least number of samples of a device: with fewer it is drawn again; 0 draws once.

    def split(self, labels: Indices, count: int, rng: np.random.Generator) -> list[Indices]:
        """Cut class after class; without `min_samples` an empty device gets one sample of the largest device."""
        if not self.min_samples:
            quotas(len(labels), count)  # refuses more devices than samples, before a table of both is made
        pools = by_class(labels, rng)
        sizes = np.array([len(pool) for pool in pools])
        all_devices = np.full((len(pools), count), fill_value=True)
        room = len(labels) / count if self.balanced else math.inf  # samples that make a device full
        if self.min_samples:
            return deal(pools, cut_until(self.min_samples, sizes, all_devices, self.alpha, room, rng))
        return deal(pools, _fill_empty(cut(sizes, all_devices, self.alpha, room, rng)))


def _fill_empty(table: Indices) -> Indices:
    """Return the table [class, device] with a sample for each empty device, of the largest device's largest class."""
    filled = table.copy()
    for device in np.flatnonzero(table.sum(axis=0) == 0):
        giver = filled.sum(axis=0).argmax()
        label = filled[:, giver].argmax()
        filled[label, giver] -= 1
        filled[label, device] += 1
    return filled
