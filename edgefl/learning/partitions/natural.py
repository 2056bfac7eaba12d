"""One device for each owner of samples."""

from collections.abc import Sequence
from typing import ClassVar

import numpy as np

from edgefl.core.arrays import Indices
from edgefl.core.errors import InputError
from edgefl.learning.partitions.base import Labelled, Partition


class Natural(Partition):
    """A device for each owner of samples: FEMNIST's writers, MovieLens' users (Caldas et al., arXiv:1812.01097)."""

    by_labels: ClassVar[bool] = False
    of_parts: ClassVar[bool] = False

    def split(self, labels: Indices, count: int, rng: np.random.Generator) -> list[Indices]:
        """Refuse samples without owners."""
        raise InputError(
            "data.partition: natural needs a dataset whose samples have owners; this one's have none: choose another"
        )

    def assign(self, labels: Indices, owner: Indices | None, count: int, rng: np.random.Generator) -> list[Indices]:
        """Return the samples of one owner for each device; if there are more owners, a random choice takes part."""
        if owner is None:
            return self.split(labels, count, rng)
        parts = by_owner(owner)
        if count > len(parts):
            raise InputError(f"devices.count: {count} devices, but the samples have {len(parts)} owners")
        if count == len(parts):
            return parts
        chosen = np.sort(rng.choice(len(parts), count, replace=False))
        return [parts[position] for position in chosen]

    def assign_test(
        self, train: Labelled, parts: Sequence[Indices], test: Labelled, rng: np.random.Generator
    ) -> list[Indices]:
        """Return the test samples of each device's owner, if test samples have owners."""
        if train.owner is None or test.owner is None:
            return list(super().assign_test(train, parts, test, rng))
        # Sorted by owner, each owner's samples are one slice, found by bisection: owners may be thousands.
        order = np.argsort(test.owner, kind="stable")
        ordered = test.owner[order]
        owners = train.owner[[part[0] for part in parts]]  # all samples of a device have the same owner
        begins = np.searchsorted(ordered, owners, side="left")
        ends = np.searchsorted(ordered, owners, side="right")
        if np.array_equal(begins, ends):
            text = "no device's owner has test samples: number the owners of test samples as those of training samples"
            raise InputError(f"data.test_partition: {text} (test_owner), or leave it out")
        return [order[begin:end] for begin, end in zip(begins, ends, strict=True)]


def by_owner(owner: Indices) -> list[Indices]:
    """Return the sample numbers of each owner that has any."""
    order = np.argsort(owner, kind="stable")  # stable: samples of an owner stay in the order of the data
    borders = np.flatnonzero(np.diff(owner[order])) + 1
    return np.split(order, borders)
