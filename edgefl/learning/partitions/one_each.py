"""One sample a device."""

from __future__ import annotations

import numpy as np

from edgefl.core.arrays import Indices
from edgefl.core.errors import InputError
from edgefl.learning.partitions.base import Partition


class OneEach(Partition):
    """Device i holds sample i and nothing else: the default of `quadratic` (sequential-FL paper, section 5.1)."""

    def split(self, labels: Indices, count: int, rng: np.random.Generator) -> list[Indices]:
        """As many devices as samples."""
        if count != len(labels):
            raise InputError(
                f"devices.count: {count} devices, but there are {len(labels)} samples, one for each device"
            )
        return [np.array([device], dtype=np.int64) for device in range(count)]
