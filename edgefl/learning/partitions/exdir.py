"""Extended Dirichlet partition."""

import numpy as np
from pydantic import PositiveFloat

from edgefl.core.arrays import Bools, Indices
from edgefl.core.errors import InputError
from edgefl.core.section import Count
from edgefl.learning.partitions.base import MAX_DRAWS, Partition, by_class, check_count, deal, first_success
from edgefl.learning.partitions.classwise import cut_until


class ExDir(Partition):
    """ExDir(C, alpha): C classes a device, each cut by Dirichlet(alpha) among its devices (sequential-FL, G.1)."""

    classes: Count = 1  # Number of classes of each device, C.
    alpha: PositiveFloat = 10.0  # Concentration; the smaller, the more unequal the devices' parts of a class.
    min_samples: Count = 10  # Least number of samples of a device: with fewer it is drawn again.

    def split(self, labels: Indices, count: int, rng: np.random.Generator) -> list[Indices]:
        """Allocate classes to devices, then cut each class; a device with n / N samples gets no other share."""
        check_count(len(labels), count)
        pools = by_class(labels, rng)
        sizes = np.array([len(pool) for pool in pools])
        owners = allocation(self.classes, len(pools), count, rng)
        table = cut_until(self.min_samples, sizes, owners, self.alpha, len(labels) / count, rng)
        return deal(pools, table)


def allocation(each: int, classes: int, count: int, rng: np.random.Generator) -> Bools:
    """Return which device may hold which class [class, device]: `each` classes a device, uniformly at random.

    The draw is repeated until every class has at least one device, and a fifth of the devices that it has on average.

    Raises:
        InputError: there are fewer classes than that, or the devices cannot hold all classes.
    """
    if each > classes:
        raise InputError(f"data.partition.classes: {each} classes a device, but there are only {classes}")
    if each * count < classes:
        raise InputError(
            f"data.partition.classes: {count} devices with {each} classes each cannot hold all {classes} classes"
        )
    fewest = max(each * count // classes // 5, 1)  # a fifth of the average, which is each * count / classes
    chosen = np.arange(classes) < each

    def draw() -> Bools | None:
        # A permutation of each device's row: `each` classes of all, every choice as likely.
        owners = rng.permuted(np.tile(chosen, (count, 1)), axis=1).T
        if owners.sum(axis=1).min() < fewest:
            return None
        return owners

    why = f"no draw of {each} classes for each of {count} devices left every class an owner: raise it or devices.count"
    # The hardest case, one class each and as many classes as devices, succeeds once in 3,000 draws for 10 devices.
    return first_success(draw, f"data.partition.classes: {why}", 100 * MAX_DRAWS)
