"""Two classes for each device, equal sizes."""

import numpy as np

from edgefl.core.arrays import Indices
from edgefl.core.errors import InputError
from edgefl.core.section import Count
from edgefl.learning.partitions.base import Partition, by_class, deal, first_success


class TwoClass(Partition):
    """Two random classes a device, equal sizes: a chunk of each (FedAR paper, section 6; MIFA, NeurIPS 2021)."""

    # Number of pieces that each class is cut into; by default 2 N / L + 1, which is 21 for 100 devices.
    chunks: Count | None = None

    def split(self, labels: Indices, count: int, rng: np.random.Generator) -> list[Indices]:
        """Cut each class into chunks; all classes have the size of the smallest less one, the rest stays unused."""
        pools = by_class(labels, rng)
        classes = len(pools)
        # Rounded up, as devices need 2 N chunks in all; one more a class, as in MIFA's program.
        chunks = self.chunks or -(-2 * count // classes) + 1
        if classes < 2:
            raise InputError("data.partition: two_class needs two classes a device, but there is only one")
        if chunks * classes < 2 * count:
            raise InputError(
                f"data.partition.chunks: {classes} classes in {chunks} chunks each are too few for two chunks "
                f"each of {count} devices"
            )
        # One sample less than the smallest class has, as in MIFA's program.
        smallest = min(len(pool) for pool in pools) - 1
        if smallest < chunks:
            raise InputError(
                f"data.partition.chunks: the smallest class, {smallest + 1} samples, is too small for {chunks} "
                "chunks and one sample more"
            )

        def draw() -> Indices | None:
            return _two_chunks_each(classes, chunks, count, rng)

        why = "no draw gave every device two classes: give each class more chunks"
        chosen = first_success(draw, f"data.partition.chunks: {why}")
        return deal(pools, smallest // chunks * chosen)  # chunks have whole samples; what does not divide is unused


def _two_chunks_each(classes: int, chunks: int, count: int, rng: np.random.Generator) -> Indices | None:
    """Draw chunks of each class for each device [class, device], 0 or 1; None if the last chunks are of one class."""
    taken = np.zeros((classes, count), dtype=np.int64)
    for device in range(count):
        left = np.flatnonzero(taken.sum(axis=1) < chunks)
        if len(left) < 2:
            return None  # earlier devices have used up all classes but one
        taken[rng.choice(left, 2, replace=False), device] = 1
    return taken
