"""A device a user."""

from __future__ import annotations

import numpy as np

from edgefl.core.arrays import Indices
from edgefl.core.errors import InputError
from edgefl.learning.partitions.base import Marks, Partition


class Natural(Partition):
    """A device an owner of samples: a writer of FEMNIST, a user of MovieLens (Caldas et al., arXiv:1812.01097)."""

    def split(self, labels: Indices, count: int, rng: np.random.Generator) -> list[Indices]:
        """There is nothing to divide by."""
        raise InputError("data.partition: natural needs a dataset whose samples have owners; this one's have none")

    def assign(self, labels: Indices, owner: Indices | None, count: int, rng: np.random.Generator) -> list[Indices]:
        """As many owners as devices, in their order; if there are more, a random choice, the others' samples unused."""
        if owner is None:
            return self.split(labels, count, rng)
        parts = by_owner(owner)
        if count > len(parts):
            raise InputError(f"devices.count: {count} devices, but the samples have {len(parts)} owners")
        chosen = np.sort(rng.choice(len(parts), count, replace=False)) if count < len(parts) else range(count)
        return [parts[place] for place in chosen]

    def assign_test(self, train: Marks, parts: list[Indices], test: Marks, rng: np.random.Generator) -> list[Indices]:
        """The test samples of a device's owner, where these have owners."""
        if train.owner is None or test.owner is None:
            return super().assign_test(train, parts, test, rng)
        order = np.argsort(test.owner, kind="stable")
        owners = train.owner[[part[0] for part in parts]]
        begins, ends = (np.searchsorted(test.owner[order], owners, side) for side in ("left", "right"))
        return [order[begin:end] for begin, end in zip(begins, ends, strict=True)]


def by_owner(owner: Indices) -> list[Indices]:
    """Sample numbers of each owner that has any."""
    order = np.argsort(owner, kind="stable")
    return np.split(order, np.flatnonzero(np.diff(owner[order])) + 1)
