"""What a partition is: which device holds which training samples."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from edgefl.catalogue import Member
from edgefl.errors import InputError

Indices = npt.NDArray[np.int64]


class Partition(Member):
    """Base of all partitions."""

    def split(self, labels: Indices, count: int, rng: np.random.Generator) -> list[Indices]:
        """Sample numbers of each of `count` devices, disjoint unless a file says otherwise, none empty.

        Args:
            labels: [n] class of each training sample.
            count: number of devices.
            rng: a generator of the partition's own.

        Raises:
            InputError: the samples cannot be divided so.
        """
        raise NotImplementedError


def quotas(samples: int, count: int) -> Indices:
    """Equal sizes [count] that add up to `samples`; the first devices get one more where it does not divide.

    Raises:
        InputError: more devices than samples.
    """
    if count > samples:
        raise InputError(f"devices.count: {count} devices cannot share {samples} training samples: one each at least")
    return np.array([samples // count + (device < samples % count) for device in range(count)], dtype=np.int64)
