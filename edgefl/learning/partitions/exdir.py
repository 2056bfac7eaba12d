"""Extended Dirichlet partition."""

from __future__ import annotations

import numpy as np
from pydantic import PositiveFloat

from edgefl.core.arrays import Bools, Indices
from edgefl.core.errors import InputError
from edgefl.core.section import Count
from edgefl.learning.partitions.base import DRAWS, Partition, by_class, deal, first_success
from edgefl.learning.partitions.classwise import cut_until


class ExDir(Partition):
    """ExDir(C, alpha): C classes a device, each cut by Dirichlet(alpha) among its devices (sequential-FL, G.1)."""

    classes: Count = 1  # C
    alpha: PositiveFloat = 10.0
    min_samples: Count = 10  # of each device, drawn again until so

    def split(self, labels: Indices, count: int, rng: np.random.Generator) -> list[Indices]:
        """Who has n / N samples gets no more classes."""
        pools = by_class(labels, rng)
        sizes = np.array([len(pool) for pool in pools])
        owners = allocation(self.classes, len(pools), count, rng)
        return deal(pools, cut_until(self.min_samples, sizes, owners, self.alpha, len(labels) / count, rng))


def allocation(each: int, classes: int, count: int, rng: np.random.Generator) -> Bools:
    """Who may hold which class [class, device]: `each` classes a device, uniform.

    Drawn again until every class has at least a fifth of the devices that it has in the mean, and one.

    Raises:
        InputError: there are not that many classes, or they cannot all be held.
    """
    if each > classes:
        raise InputError(f"data.partition.classes: {each} classes a device, but there are {classes}")
    if each * count < classes:
        text = f"{count} devices with {each} of them each cannot hold all {classes} classes"
        raise InputError(f"data.partition.classes: {text}")
    few, some = max(each * count // classes // 5, 1), np.arange(classes) < each

    def draw() -> Bools | None:
        owners = rng.permuted(np.tile(some, (count, 1)), axis=1).T
        return owners if owners.sum(axis=1).min() >= few else None

    why = f"no draw of {each} classes for each of {count} devices left every class an owner: raise it or devices.count"
    return first_success(draw, f"data.partition.classes: {why}", 100 * DRAWS)  # N = L, C = 1: one in 3000 for N = 10
