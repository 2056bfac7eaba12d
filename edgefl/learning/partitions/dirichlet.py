"""Dirichlet partition with a prior per client."""

from __future__ import annotations

from typing import Annotated

import numpy as np
from pydantic import Field, PositiveFloat

from edgefl.core.arrays import Indices
from edgefl.learning.partitions.base import Partition, apportion, by_class, quotas


class Dirichlet(Partition):
    """Each device's class mix drawn from Dirichlet(alpha), equal sizes (Acar et al., ICLR 2021; FedSSG, Table 1)."""

    alpha: PositiveFloat = 0.3
    size_sigma: Annotated[float, Field(gt=0, le=100)] | None = None  # lognormal sizes (FedDyn's `unbalanced_sgm`)

    def split(self, labels: Indices, count: int, rng: np.random.Generator) -> list[Indices]:
        """A random device that has room draws a class from its mix and takes a sample, until all have their quota.

        A class that has run out is drawn again, that is, the mix is renormalised over the classes that are left; a
        device whose mix has no weight on any of them draws uniformly from them.
        """
        left = [list(pool) for pool in by_class(labels, rng)]
        mixes = rng.dirichlet(np.full(len(left), self.alpha), size=count)
        cdfs = _cdfs(mixes, left)
        parts: list[list[int]] = [[] for _ in range(count)]
        for device, u in zip(_turns(self._sizes(len(labels), count, rng), rng), rng.random(len(labels)), strict=True):
            pool = left[int(np.searchsorted(cdfs[device], u, side="right"))]
            parts[device].append(pool.pop())
            if not pool:
                cdfs = _cdfs(mixes, left)
        return [np.array(part, dtype=np.int64) for part in parts]

    def _sizes(self, samples: int, count: int, rng: np.random.Generator) -> Indices:
        if self.size_sigma is None:
            return quotas(samples, count)
        normals = rng.standard_normal(count)
        return apportion(np.exp(self.size_sigma * (normals - normals.max())), samples)


def _turns(sizes: Indices, rng: np.random.Generator) -> list[int]:
    """Whose turn it is, sample by sample: uniform over the devices that still have room."""
    open_devices, room, turns = list(range(len(sizes))), sizes.tolist(), []
    for u in rng.random(int(sizes.sum())):
        place = int(u * len(open_devices))
        device = open_devices[place]
        turns.append(device)
        room[device] -= 1
        if not room[device]:
            open_devices[place] = open_devices[-1]
            open_devices.pop()
    return turns


def _cdfs(mixes: np.ndarray, left: list[list[int]]) -> np.ndarray:
    """Cumulative class probabilities [device, class] over the classes that are left."""
    some_left = np.array([bool(pool) for pool in left])
    weights = mixes * some_left
    totals = weights.sum(axis=1, keepdims=True)
    weights = np.where(totals > 0, weights / np.where(totals > 0, totals, 1), some_left / max(some_left.sum(), 1))
    cdfs = np.cumsum(weights, axis=1)
    cdfs[:, _last(some_left) :] = 1.0  # rounding must not leave a gap above the last class that is left
    return cdfs


def _last(flags: np.ndarray) -> int:
    return int(np.flatnonzero(flags)[-1]) if flags.any() else 0
