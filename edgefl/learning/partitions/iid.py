"""IID partition."""

from collections.abc import Sequence
from typing import ClassVar

import numpy as np

from edgefl.core.arrays import Indices
from edgefl.learning.partitions.base import NOT_ONE_CLASS, Partition, Pieces, by_class, quotas


class Iid(Partition):
    """A random permutation cut into equal parts (McMahan et al., AISTATS 2017, section 3)."""

    # Whether every device gets equally many of each class, up to one (FedSSG's code on CIFAR-100).
    stratified: bool = False

    by_labels: ClassVar[bool] = False

    def check_classes(self) -> str | None:
        """Return why samples that do not have one class each cannot be divided this way; None if they can."""
        if self.stratified:
            return f"stratified needs classes, and {NOT_ONE_CLASS}: leave it out"
        return None

    def split(self, labels: Indices, count: int, rng: np.random.Generator) -> Sequence[Indices]:
        """Return parts whose sizes differ by one sample at most."""
        ends = np.cumsum(quotas(len(labels), count))
        if self.stratified:
            ordered = np.concatenate(by_class(labels, rng))
            # Dealt like cards from a deck in the order of classes: a device gets every N-th of each.
            return [ordered[device::count] for device in range(count)]
        return Pieces(rng.permutation(len(labels)), ends)
