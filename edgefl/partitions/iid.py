"""IID partition."""

from __future__ import annotations

import numpy as np

from edgefl.partitions.base import Indices, Partition, quotas


class Iid(Partition):
    """A random permutation cut into equal parts (McMahan et al., AISTATS 2017, section 3)."""

    def split(self, labels: Indices, count: int, rng: np.random.Generator) -> list[Indices]:
        """Sizes differ by one sample at most."""
        ends = np.cumsum(quotas(len(labels), count))[:-1]
        return np.split(rng.permutation(len(labels)), ends)
