"""Ways to share the uplink, healthy and broken."""

import numpy as np

from edgefl.radio.multiple_access import MULTIPLE_ACCESS, MultipleAccess
from edgefl.radio.multiple_access.noma import Noma


class Beyond(Noma):
    """A group too many."""

    def groups(self, received):
        return np.arange(len(received)) + 1


class Halves(Noma):
    """Numbers that are none of groups."""

    def groups(self, received):
        return np.arange(len(received)) / 2


class Unasked(MultipleAccess):
    """Groups without the flag."""

    def groups(self, received):
        return np.zeros(len(received), dtype=np.int64)


class InWatts(Noma):
    """Interference is at most 1e-12 W, whatever is received."""

    def interference(self, received):
        return np.minimum(super().interference(received), 1e-12)


class Itself(Noma):
    """Hears itself."""

    def interference(self, received):
        return received.copy()


class AllGroups(Noma):
    """Hears all groups."""

    def interference(self, received):
        return np.where(received > 0, received.sum() - received.sum(axis=1, keepdims=True), 0.0)


class Flat(Noma):
    """One number a group."""

    def interference(self, received):
        return received.sum(axis=1)


class Negative(Noma):
    """Less than nothing."""

    def interference(self, received):
        return -super().interference(received)


HEALTHY = [
    *((MULTIPLE_ACCESS.load(name), {}) for name in MULTIPLE_ACCESS.members),
    (Noma, {"users_per_group": 2, "residual": 0.1}),
]
BROKEN = [
    (Beyond, {}, "returns", "Beyond.groups returned an array [1] of int64 from 1 to 1, expected whole numbers"),
    (Halves, {}, "returns", "Halves.groups returned an array [1] of float64"),
    (Unasked, {}, "returns", "Unasked.groups puts uploads together, and is not asked"),
    (InWatts, {}, "returns", "InWatts.interference does not go with the powers"),
    (Itself, {}, "returns", "Itself.interference lets an upload hear others that are not there"),
    (AllGroups, {}, "returns", "AllGroups.interference lets a group hear another one"),
    (Flat, {}, "returns", "Flat.interference returned an array [2]"),
    (Negative, {}, "returns", "to -0, expected finite numbers [2, 2] at least 0"),
]
