"""Two groups of devices with overlapping label sets, which alternate from session to session."""

from typing import Annotated, ClassVar

import numpy as np
from pydantic import Field, PositiveFloat

from edgefl.core.arrays import Bools, Floats, Indices
from edgefl.core.errors import InputError
from edgefl.learning.partitions.base import Partition, by_class, deal, quotas, whole


class LabelOverlap(Partition):
    """Labels halved between two groups of devices, some in both, Dirichlet inside (dynamic-devices paper, sec. VI)."""

    groups: ClassVar[int] = 2

    overlap: Annotated[float, Field(ge=0, lt=1)] = 0.2  # Share of a group's labels that the other group has, too.
    alpha: PositiveFloat = 0.3  # Concentration; the smaller, the fewer classes a device has.

    def split(self, labels: Indices, count: int, rng: np.random.Generator) -> list[Indices]:
        """Divide each group's samples among its half of the devices; both groups hold all samples of common labels."""
        pools = by_class(labels)
        if count % 2:
            raise InputError(f"devices.count: {count} devices make no two groups of equal size: set an even number")
        parts: list[Indices] = []
        for group in label_sets(len(pools), self.overlap):
            # Each group is shuffled separately: common labels are dealt differently in the two.
            shuffled = [rng.permutation(pools[label]) for label in group]
            sizes = np.array([len(pool) for pool in shuffled])
            parts += deal(shuffled, fill(sizes, count // 2, self.alpha, rng))
        return parts


def label_sets(classes: int, overlap: float) -> tuple[range, range]:
    """Return the labels of both groups.

    Each has `G = floor(L / (2 - o))` labels; the last `floor(G o)` labels of the first group are also the second's.
    Without common labels the labels are halved. Labels beyond the second group's stay unused.
    """
    if classes < 2:
        raise InputError(f"data.partition: {classes} class cannot be divided between two groups")
    size = whole(classes / (2 - overlap))  # two sets of G labels, G o of them in both, make L = G (2 - o)
    common = whole(size * overlap)
    if not common:
        return range(classes // 2), range(classes // 2, classes)
    return range(size), range(size - common, 2 * size - common)


def fill(sizes: Indices, count: int, alpha: float, rng: np.random.Generator) -> Indices:
    """Return how many samples of each class each of `count` devices gets [class, device], filling device after device.

    All devices have the same quota of the `sizes` [class]. A device draws its mix from Dirichlet(alpha), and a class
    for each sample from the mix, until it meets a class that is not used up: in at most `3 L + 5` tries, then
    uniformly. So late devices get what earlier ones have left.
    """
    left = sizes.copy()
    table = np.zeros((len(sizes), count), dtype=np.int64)
    for device, quota in enumerate(quotas(int(sizes.sum()), count)):
        mix = rng.dirichlet(np.full(len(sizes), alpha))
        cumulative = np.cumsum(_class_probabilities(mix, left > 0))
        for u in rng.random(quota):
            # Inverse transform sampling of the class.
            drawn = int(np.searchsorted(cumulative, u, side="right"))
            last_left = int(np.flatnonzero(left)[-1])
            label = min(drawn, last_left)  # rounding may leave a gap above the last class
            left[label] -= 1
            table[label, device] += 1
            if not left[label] and left.any():  # a class is used up: later draws miss it
                cumulative = np.cumsum(_class_probabilities(mix, left > 0))
    return table


def _class_probabilities(mix: Floats, remaining: Bools) -> Floats:
    """Return the distribution [class] of the class after all tries.

    A try hits a remaining class with probability `s`, the mix's weight on those. All `3 L + 5` tries miss with
    probability `(1 - s)^(3 L + 5)`; the class is then uniform over the remaining ones.
    """
    hit = mix * remaining
    uniform = remaining / remaining.sum()
    share = min(float(hit.sum()), 1.0)  # rounding may exceed 1, and 1 - s become negative
    if share <= 0:
        return np.asarray(uniform)
    miss = (1 - share) ** (3 * len(mix) + 5)
    return np.asarray(hit / share * (1 - miss) + uniform * miss)
