"""Cutting class after class by Dirichlet shares: what `exdir` and `dirichlet_by_class` have in common."""

from __future__ import annotations

import numpy as np

from edgefl.core.arrays import Bools, Indices
from edgefl.core.errors import InputError
from edgefl.learning.partitions.base import first_success, quotas, shares


def cut(sizes: Indices, owners: Bools, alpha: float, room: float, rng: np.random.Generator) -> Indices:
    """How many samples of each class each device gets [class, device].

    Class after class: shares p ~ Dirichlet(alpha) over the devices, none for who may not have the class or has `room`
    samples already, cut at floor(cumsum(p) * size), the remainder to the last. Where all who may have it are full they
    share it nevertheless.

    Args:
        sizes: [class] samples.
        owners: [class, device] who may have which class; at least one each.
        alpha: the smaller, the more unlike the shares.
        room: samples that make a device full; infinity for no limit.
        rng: for the shares.
    """
    table = np.zeros(owners.shape, dtype=np.int64)
    for row, size, allowed in zip(table, sizes, owners, strict=True):
        open_owners = allowed & (table.sum(axis=0) < room)
        p = shares(alpha, open_owners if open_owners.any() else allowed, rng)
        ends = np.floor(np.cumsum(p) * size).astype(np.int64)
        ends[np.flatnonzero(p)[-1] :] = size
        row[:] = np.diff(ends, prepend=0)
    return table


def cut_until(
    least: int, sizes: Indices, owners: Bools, alpha: float, room: float, rng: np.random.Generator
) -> Indices:
    """As `cut`, drawn again until every device has at least `least` samples.

    Raises:
        InputError: there are not that many samples, or no such draw was found.
    """
    samples, count = int(sizes.sum()), owners.shape[1]
    quotas(samples, count)
    if least * count > samples:
        text = f"{count} devices cannot have {least} each of {samples} training samples"
        raise InputError(f"data.partition.min_samples: {text}")

    def draw() -> Indices | None:
        table = cut(sizes, owners, alpha, room, rng)
        return table if table.sum(axis=0).min() >= least else None

    why = f"no draw gave every device {least} samples: lower it or devices.count, or raise alpha"
    return first_success(draw, f"data.partition.min_samples: {why}")
