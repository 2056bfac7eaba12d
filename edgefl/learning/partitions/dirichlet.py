"""Dirichlet partition with a prior for each device."""

from typing import Annotated

import numpy as np
from pydantic import Field, PositiveFloat

from edgefl.core.arrays import Bools, Floats, Indices
from edgefl.learning.partitions.base import Partition, apportion, by_class, check_count, quotas


class Dirichlet(Partition):
    """Each device's class mix drawn from Dirichlet(alpha), equal sizes (Acar et al., ICLR 2021; FedSSG, Table 1)."""

    alpha: PositiveFloat = 0.3  # Concentration; the smaller, the fewer classes a device has.
    # Deviation of lognormal sizes (FedDyn's `unbalanced_sgm`); by default all sizes are equal.
    size_sigma: Annotated[float, Field(gt=0, le=100)] | None = None

    def split(self, labels: Indices, count: int, rng: np.random.Generator) -> list[Indices]:
        """Deal sample by sample: a random device with room draws a class from its mix, until all have their quota.

        A class that is used up is drawn again, which renormalises the mix over the remaining classes. A device whose
        mix has no weight on any remaining class draws uniformly from them.
        """
        check_count(len(labels), count)
        left = [list(pool) for pool in by_class(labels, rng)]
        mixes = rng.dirichlet(np.full(len(left), self.alpha), size=count)
        distributions = _cumulative(mixes, left)
        parts: list[list[int]] = [[] for _ in range(count)]
        receivers = _receivers(self._sizes(len(labels), count, rng), rng)
        for device, u in zip(receivers, rng.random(len(labels)), strict=True):
            # Inverse transform sampling of the class.
            pool = left[int(np.searchsorted(distributions[device], u, side="right"))]
            parts[device].append(pool.pop())
            if not pool:  # only then do the mixes change: L times, not once a sample
                distributions = _cumulative(mixes, left)
        return [np.array(part, dtype=np.int64) for part in parts]

    def _sizes(self, samples: int, count: int, rng: np.random.Generator) -> Indices:
        """Return the quota of each device [count]: equal, or lognormal."""
        if self.size_sigma is None:
            return quotas(samples, count)
        normals = rng.standard_normal(count)
        # Subtracting the largest keeps exp from overflowing; only ratios of the weights matter.
        weights = np.exp(self.size_sigma * (normals - normals.max()))
        return apportion(weights, samples)


def _receivers(sizes: Indices, rng: np.random.Generator) -> list[int]:
    """Return which device receives the next sample, sample by sample: uniform over the devices with room."""
    with_room = list(range(len(sizes)))
    room = sizes.tolist()
    receivers = []
    for u in rng.random(int(sizes.sum())):
        position = int(u * len(with_room))
        device = with_room[position]
        receivers.append(device)
        room[device] -= 1
        if not room[device]:
            # Removal in constant time: the last device takes the place of the full one.
            with_room[position] = with_room[-1]
            with_room.pop()
    return receivers


def _cumulative(mixes: Floats, left: list[list[int]]) -> Floats:
    """Return cumulative class probabilities [device, class] over the classes that have samples left."""
    remaining: Bools = np.array([bool(pool) for pool in left])
    weights = mixes * remaining
    totals = weights.sum(axis=1, keepdims=True)
    uniform = remaining / max(remaining.sum(), 1)
    weights = np.where(totals > 0, weights / np.where(totals > 0, totals, 1), uniform)
    cumulative = np.cumsum(weights, axis=1)
    # Rounding must not leave a gap above the last remaining class.
    last = int(np.flatnonzero(remaining)[-1]) if remaining.any() else 0
    cumulative[:, last:] = 1.0
    return np.asarray(cumulative)
