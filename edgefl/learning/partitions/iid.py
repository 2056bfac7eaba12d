"""IID partition."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from edgefl.core.arrays import Indices
from edgefl.learning.partitions.base import Partition, by_class, quotas


class Iid(Partition):
    """A random permutation cut into equal parts (McMahan et al., AISTATS 2017, section 3)."""

    stratified: bool = False  # every device the same number of each class, to one (FedSSG's code on CIFAR-100)

    def split(self, labels: Indices, count: int, rng: np.random.Generator) -> list[Indices]:
        """Sizes differ by one sample at most."""
        ends = np.cumsum(quotas(len(labels), count)).tolist()
        if not self.stratified:
            order = rng.permutation(len(labels))
            return [order[begin:end] for begin, end in pairwise([0, *ends])]  # np.split takes ten times as long
        ordered = np.concatenate(by_class(labels, rng))
        return [ordered[device::count] for device in range(count)]
