"""Groups of devices that take turns: one is present in each session (dynamic-devices paper)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from edgefl.core.arrays import Bools, Ids
from edgefl.core.errors import InputError


@dataclass(eq=False)
class SessionGroups:
    """Returns the devices that may take part in a session, and the classes on which its model is tested."""

    group: Ids  # [devices] the group of each device, from 0
    first: int  # the group of the first session, from 0
    classes: Sequence[tuple[int, ...] | None]  # [groups] the classes of each group's samples; None: all classes

    def __post_init__(self) -> None:
        self._members: dict[int, Bools] = {}  # by group; comparing a million devices takes long

    @classmethod
    def divide(
        cls, count: int, first: int, train_y: Ids, test_y: Ids, parts: Sequence[Ids], classes: int
    ) -> SessionGroups:
        """Divide the devices into groups of consecutive ids whose sizes differ by at most one.

        Args:
            count: number of groups; 1 without sessions.
            first: the group of the first session, from 0.
            train_y: [n] classes of the training samples.
            test_y: [m] classes of the test samples.
            parts: [devices] the training samples of each device.
            classes: number of classes in the data; 0 where samples do not have one class each.

        Raises:
            InputError: no test sample is of a class that a group has.
        """
        devices = len(parts)
        if count == 1:
            return cls(np.zeros(devices, dtype=np.int64), 0, [None])
        borders = np.arange(1, count) * devices // count
        group = np.searchsorted(borders, np.arange(devices), side="right")
        labels: list[tuple[int, ...] | None] = []
        for number in range(count):
            members = np.flatnonzero(group == number).tolist()
            found = np.unique(train_y[np.concatenate([parts[device] for device in members])])
            if not classes or len(found) == classes:
                labels.append(None)  # all test samples count
                continue
            if not np.isin(test_y, found).any():
                raise InputError(
                    f"sessions.groups: no test sample is of a class that group {number + 1} has: choose fewer groups, "
                    "or another data.partition"
                )
            labels.append(tuple(found.tolist()))
        return cls(group, first, labels)

    @property
    def count(self) -> int:
        """Return the number of groups."""
        return len(self.classes)

    @property
    def several(self) -> bool:
        """True if there is more than one group."""
        return self.count > 1

    def members(self, session: int) -> Bools:
        """Return which devices [devices] may take part in a session; the array is read-only."""
        group = self._group_of(session)
        if group not in self._members:
            members = np.asarray(self.group == group)
            members.setflags(write=False)
            self._members[group] = members
        return self._members[group]

    def labels(self, session: int) -> tuple[int, ...] | None:
        """Return the classes on which the model of a session is tested; None for all."""
        return self.classes[self._group_of(session)]

    def _group_of(self, session: int) -> int:
        """Return the group that is present in a session; the first group follows the last."""
        return (self.first + session - 1) % self.count
