"""The kit for authors of ways to share the uplink passes what is shipped, and names what is wrong with broken ones."""

import numpy as np
import pytest

from edgefl.radio.multiple_access import MULTIPLE_ACCESS, MultipleAccess
from edgefl.radio.multiple_access.noma import Noma
from edgefl.testing import ConformanceError, check, check_multiple_access


@pytest.mark.parametrize("name", MULTIPLE_ACCESS.members)
def test_shipped_members_conform(name):
    assert check_multiple_access(MULTIPLE_ACCESS.load(name)).ok


def test_keys_are_passed_on_and_kinds_are_known():
    assert check_multiple_access(Noma, users_per_group=2, residual=0.1).ok
    assert check(Noma, residual=1.0).ok


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


@pytest.mark.parametrize(
    ("member", "text"),
    [
        (Beyond, "Beyond.groups returned a group outside of 0 to 0 for 1 uploads"),
        (Halves, "Halves.groups returned an array"),
        (Unasked, "Unasked.groups puts uploads together, and is not asked"),
        (InWatts, "InWatts.interference does not go with the powers"),
        (Itself, "Itself.interference lets an upload hear others that are not there"),
        (AllGroups, "AllGroups.interference lets a group hear another one"),
        (Flat, "Flat.interference returned an array"),
        (Negative, "Negative.interference returned a power below 0"),
    ],
)
def test_faults_are_named(member, text):
    with pytest.raises(ConformanceError, match=text):
        check_multiple_access(member)
