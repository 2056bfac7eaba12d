"""Devices that come and go by moving."""

from __future__ import annotations

from typing import Annotated

import numpy as np
from pydantic import Field

from edgefl.churn.base import NO_CHANGES, Bools, Changes, Churn, Covered, Floats, Ids, Presence
from edgefl.streams import Streams

AHEAD = 60  # checks that are looked ahead for who is asked when it leaves
PATIENCE = 100_000  # checks until an empty place is given up


class CoverageChurn(Churn):
    """A device is there while it is within `cells.radius_m` of a base station and its movement has not left the map.

    Looked at every `check_s`; in between nothing changes.
    """

    check_s: Annotated[float, Field(ge=1e-3, le=1e6)] = 1.0

    def presence(self, count: int, lowest_label: Ids, classes: int, streams: Streams) -> Presence:
        """By the movement that the world shows it."""
        return _Covered(count, self.check_s)


class _Covered(Presence):
    """Keeps nothing: each answer is read off the movement."""

    def __init__(self, count: int, check_s: float) -> None:
        super().__init__(np.ones(count))
        self._everybody = np.arange(count, dtype=np.int64)
        self._check_s = check_s
        self._covered: Covered

    def follow(self, covered: Covered) -> None:
        """Take how to see who is in coverage."""
        self._covered = covered

    def _check(self, time_s: float) -> int:
        """The last check at a time; times that round to one are one."""
        return int(np.floor(time_s / self._check_s + 1e-9))

    def _there(self, ids: Ids, check: int) -> Bools:
        return self._covered(ids, check * self._check_s)

    def present(self, time_s: float, index: int) -> Ids:
        """Those who were covered at the last check."""
        return self._everybody[self._there(self._everybody, self._check(time_s))]

    def stays_s(self, ids: Ids, time_s: float) -> Floats:
        """The first check at which each is not covered; as far as one looks ahead."""
        first = self._check(time_s)
        stays = np.where(self._there(ids, first), (first + AHEAD) * self._check_s, time_s)
        staying = np.flatnonzero(stays > time_s)
        for check in range(first + 1, first + AHEAD):
            there = self._there(ids[staying], check)
            stays[staying[~there]] = check * self._check_s
            staying = staying[there]
        return stays

    def next_arrival_s(self, time_s: float) -> float:
        """The first check at which somebody is covered who was not at the one before; inf after very many of them."""
        first = self._check(time_s)
        before = self._there(self._everybody, first)
        for check in range(first + 1, first + PATIENCE):
            there = self._there(self._everybody, check)
            if (there & ~before).any():
                return check * self._check_s
            before = there
        return np.inf

    def changes(self, after_s: float, until_s: float) -> Changes:
        """From check to check."""
        first, last = self._check(after_s), self._check(until_s)
        if first == last:
            return NO_CHANGES
        masks = np.array([self._there(self._everybody, check) for check in range(first, last + 1)])
        step, ids = np.nonzero(masks[1:] != masks[:-1])
        return Changes(np.asarray((first + 1 + step) * self._check_s), ids, masks[1:][step, ids])
