"""IID devices of unequal sizes."""

from typing import ClassVar

import numpy as np
from pydantic import PositiveFloat

from edgefl.core.arrays import Indices
from edgefl.learning.partitions.base import Partition, apportion, check_count, shares


class QuantitySkew(Partition):
    """IID labels, sizes in proportion to one draw of Dirichlet(alpha) (Li et al., ICDE 2022, quantity skew)."""

    alpha: PositiveFloat = 0.5  # Concentration; the smaller, the more unequal the sizes.

    by_labels: ClassVar[bool] = False

    def split(self, labels: Indices, count: int, rng: np.random.Generator) -> list[Indices]:
        """Cut a random permutation at these sizes, each at least one sample."""
        check_count(len(labels), count)
        weights = shares(self.alpha, np.full(count, fill_value=True), rng)
        sizes = apportion(weights, len(labels))
        return np.split(rng.permutation(len(labels)), np.cumsum(sizes)[:-1])
