"""Two classes a device, equal sizes."""

from __future__ import annotations

import numpy as np

from edgefl.core.arrays import Indices
from edgefl.core.errors import InputError
from edgefl.core.section import Count
from edgefl.learning.partitions.base import Partition, by_class, deal, first_success


class TwoClass(Partition):
    """Two random classes a device, equal sizes: a chunk of each (FedAR paper, section 6; MIFA, NeurIPS 2021)."""

    chunks: Count | None = None  # that each class is cut into; 2 N / L + 1 where not given, 21 for 100 devices

    def split(self, labels: Indices, count: int, rng: np.random.Generator) -> list[Indices]:
        """Classes are cut to one sample less than the smallest has, then into chunks; what is left over is unused."""
        pools = by_class(labels, rng)
        chunks = self.chunks or -(-2 * count // len(pools)) + 1
        if len(pools) < 2:
            raise InputError("data.partition: two classes a device, but there is one")
        if chunks * len(pools) < 2 * count:
            text = f"{len(pools)} classes in {chunks} chunks each are too few for two chunks each of {count} devices"
            raise InputError(f"data.partition.chunks: {text}")
        smallest = min(len(pool) for pool in pools) - 1
        if smallest < chunks:
            text = f"the smallest class, {smallest + 1} samples, is too small for {chunks} chunks and one sample more"
            raise InputError(f"data.partition.chunks: {text}")

        def draw() -> Indices | None:
            return _pairs(len(pools), chunks, count, rng)

        why = "no draw gave every device two classes: give each class more chunks"
        return deal(pools, smallest // chunks * first_success(draw, f"data.partition.chunks: {why}"))


def _pairs(classes: int, chunks: int, count: int, rng: np.random.Generator) -> Indices | None:
    """Chunks of each class for each device [class, device], 0 or 1; None where the last chunks are of one class."""
    taken = np.zeros((classes, count), dtype=np.int64)
    for device in range(count):
        left = np.flatnonzero(taken.sum(axis=1) < chunks)
        if len(left) < 2:
            return None
        taken[rng.choice(left, 2, replace=False), device] = 1
    return taken
