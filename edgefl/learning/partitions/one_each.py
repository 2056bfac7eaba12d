"""One sample for each device."""

from typing import ClassVar

import numpy as np

from edgefl.core.arrays import Indices
from edgefl.core.errors import InputError
from edgefl.learning.partitions.base import Partition


class OneEach(Partition):
    """Device i holds sample i and nothing else: the default of `quadratic` (sequential-FL paper, section 5.1)."""

    by_labels: ClassVar[bool] = False
    of_parts: ClassVar[bool] = False

    def split(self, labels: Indices, count: int, rng: np.random.Generator) -> list[Indices]:
        """Return one sample for each device; there must be as many devices as samples."""
        samples = len(labels)
        if count != samples:
            raise InputError(f"devices.count: {count} devices, but there are {samples} samples, one for each device")
        return [np.array([device], dtype=np.int64) for device in range(count)]
