"""Cutting one class after the other by Dirichlet shares, for `exdir` and `dirichlet_by_class`."""

import numpy as np

from edgefl.core.arrays import Bools, Indices
from edgefl.core.errors import InputError
from edgefl.learning.partitions.base import first_success, quotas, shares


def cut(sizes: Indices, owners: Bools, alpha: float, room: float, rng: np.random.Generator) -> Indices:
    """Return how many samples of each class each device gets [class, device].

    For each class, shares `p ~ Dirichlet(alpha)` over the devices are cut at `floor(cumsum(p) * size)`; the last device
    with a share gets the remainder. A device gets no share if it may not hold the class (`owners` [class, device]), or
    already has `room` samples. If all devices that may hold the class are full, they share it nevertheless.
    """
    table = np.zeros(owners.shape, dtype=np.int64)
    for row, size, allowed in zip(table, sizes, owners, strict=True):
        with_room = allowed & (table.sum(axis=0) < room)  # `table` has the classes so far: its other rows are 0
        if not with_room.any():
            with_room = allowed
        p = shares(alpha, with_room, rng)
        ends = np.floor(np.cumsum(p) * size).astype(np.int64)
        # Rounding must not lose the last samples, nor give them to a device without a share.
        last = np.flatnonzero(p)[-1]
        ends[last:] = size
        row[:] = np.diff(ends, prepend=0)
    return table


def cut_until(
    least: int, sizes: Indices, owners: Bools, alpha: float, room: float, rng: np.random.Generator
) -> Indices:
    """Return the same as `cut`, drawn again until every device has at least `least` samples.

    Raises:
        InputError: there are too few samples, or no such draw was found.
    """
    samples = int(sizes.sum())
    count = owners.shape[1]
    quotas(samples, count)  # refuses more devices than samples
    if least * count > samples:
        raise InputError(
            f"data.partition.min_samples: {count} devices cannot have {least} each of {samples} training samples"
        )

    def draw() -> Indices | None:
        table = cut(sizes, owners, alpha, room, rng)
        if table.sum(axis=0).min() < least:
            return None
        return table

    why = f"no draw gave every device {least} samples: lower it or devices.count, or raise alpha"
    return first_success(draw, f"data.partition.min_samples: {why}")
