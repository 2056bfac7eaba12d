"""Two groups of devices whose label sets overlap: they take turns, session by session."""

from __future__ import annotations

from typing import Annotated, ClassVar

import numpy as np
from pydantic import Field, PositiveFloat

from edgefl.core.arrays import Bools, Floats, Indices
from edgefl.core.errors import InputError
from edgefl.learning.partitions.base import Partition, by_class, deal, quotas, whole


class LabelOverlap(Partition):
    """Labels halved between two groups of devices, some in both, Dirichlet inside (dynamic-devices paper, sec. VI)."""

    groups: ClassVar[int] = 2

    overlap: Annotated[float, Field(ge=0, lt=1)] = 0.2  # of a group's labels, that the other has too
    alpha: PositiveFloat = 0.3

    def split(self, labels: Indices, count: int, rng: np.random.Generator) -> list[Indices]:
        """The first half of the devices is one group; a label of both is there in full twice, so samples are too."""
        pools = by_class(labels)
        if count % 2:
            raise InputError(f"devices.count: {count} devices make no two groups of equal size")
        parts: list[Indices] = []
        for group in label_sets(len(pools), self.overlap):
            mine = [rng.permutation(pools[label]) for label in group]
            parts += deal(mine, fill(np.array([len(pool) for pool in mine]), count // 2, self.alpha, rng))
        return parts


def label_sets(classes: int, overlap: float) -> tuple[range, range]:
    """The labels of both groups: G = floor(L / (2 - o)) each, the last floor(G o) of the first are the second's too.

    Without any in common they are halved. Labels beyond the second group's are unused.

    Raises:
        InputError: fewer than two classes.
    """
    if classes < 2:
        raise InputError(f"data.partition: {classes} class cannot be divided between two groups")
    size = whole(classes / (2 - overlap))
    common = whole(size * overlap)
    if not common:
        return range(classes // 2), range(classes // 2, classes)
    return range(size), range(size - common, 2 * size - common)


def fill(sizes: Indices, count: int, alpha: float, rng: np.random.Generator) -> Indices:
    """How many samples of each class each of `count` devices gets [class, device]: equal quotas, one after the other.

    A device draws its mix from Dirichlet(alpha), then class by class from the mix until it meets one that is not used
    up, in at most 3 L + 5 tries, then uniformly. Late devices get what is left over.

    Args:
        sizes: [class] samples; all are used.
        count: devices.
        alpha: the smaller, the fewer classes a device has.
        rng: for mixes and draws.

    Raises:
        InputError: more devices than samples.
    """
    left, table = sizes.copy(), np.zeros((len(sizes), count), dtype=np.int64)
    for device, quota in enumerate(quotas(int(sizes.sum()), count)):
        mix = rng.dirichlet(np.full(len(sizes), alpha))
        chances = np.cumsum(_chances(mix, left > 0))
        for u in rng.random(quota):
            label = min(int(np.searchsorted(chances, u, side="right")), int(np.flatnonzero(left)[-1]))
            left[label] -= 1
            table[label, device] += 1
            if not left[label] and left.any():
                chances = np.cumsum(_chances(mix, left > 0))
    return table


def _chances(mix: Floats, some_left: Bools) -> Floats:
    """The law [class] of the class that is drawn in the end."""
    hit, uniform = mix * some_left, some_left / some_left.sum()
    share = min(float(hit.sum()), 1.0)
    miss = (1 - share) ** (3 * len(mix) + 5)
    return np.asarray(hit / share * (1 - miss) + uniform * miss if share > 0 else uniform)
