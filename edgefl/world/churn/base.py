"""What churn is: which devices are there, and when they come and go."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar, NamedTuple

import numpy as np

from edgefl.core.arrays import Bools, Floats, Ids
from edgefl.core.catalogue import Member
from edgefl.core.streams import Streams

Covered = Callable[[Ids, float], Bools]  # whether devices [n] are where a base station reaches them at a time
Holds = Callable[[Ids, float], Floats]  # the times [n] until which that certainly remains so


class Changes(NamedTuple):
    """Arrivals and departures [n], in order of time, then device."""

    times_s: Floats
    ids: Ids
    came: Bools  # or left

    def only(self, mine: Bools) -> Changes:
        """Those of some devices [devices]."""
        rows = mine[self.ids]
        return Changes(self.times_s[rows], self.ids[rows], self.came[rows])


NO_CHANGES = Changes(np.empty(0), np.empty(0, dtype=np.int64), np.empty(0, dtype=bool))


class Presence:
    """Who is there: the population of one run, evaluated when asked; as it stands, everybody always is.

    Args:
        chances: [devices] with which each is there in a round, or at a time; 1 where it always is, or nobody knows.
    """

    by_round: ClassVar[bool] = False  # whether it depends on the round rather than on time

    def __init__(self, chances: Floats) -> None:
        self.probabilities = chances

    def observe_coverage(self, covered: Covered, holds_s: Holds | None = None) -> None:
        """Take how to see who is in coverage, and how long that lasts, before anything is asked."""

    def present(self, time_s: float, index: int) -> Ids:
        """Ids of the devices that are there at a time, when the round `index` begins."""
        return np.arange(len(self.probabilities), dtype=np.int64)

    def stays_until_s(self, ids: Ids, time_s: float) -> Floats:
        """The times [n] until which devices `ids` [n] stay at least: `time_s` for who is not there, inf for ever.

        Where a device is still there at that time, it is to be asked for again.
        """
        return np.full(len(ids), np.inf)

    def arrivals(self, time_s: float, among: Ids | None = None) -> tuple[float, Ids]:
        """When the next of those who are away come: inf if none ever do, `time_s` itself where that depends on no time.

        Only those `among` some are looked at, if that is given.
        """
        return time_s, np.arange(len(self.probabilities), dtype=np.int64)

    def next_arrival_s(self, time_s: float) -> float:
        """When the next device comes; see `arrivals`."""
        return self.arrivals(time_s)[0]

    def changes(self, after_s: float, until_s: float) -> Changes:
        """Who came and left after `after_s` and not later than `until_s`; to be asked for in order of time."""
        return NO_CHANGES


class Churn(Member):
    """Base of all churn models."""

    by_round: ClassVar[bool] = False
    """Devices come and go with rounds rather than with time."""

    always_present: ClassVar[bool] = False
    """No device ever arrives or leaves, unless by its movement."""

    def check(self, count: int) -> str | None:
        """Why this churn cannot be that of `count` devices; None if it can."""
        return None

    def presence(self, count: int, lowest_label: Ids, classes: int, streams: Streams) -> Presence:
        """The population of `count` devices.

        Args:
            count: how many devices there are in all.
            lowest_label: [count] the first of the classes that each device has samples of; 0 without labels.
            classes: in the data.
            streams: keyed randomness.

        Raises:
            InputError: a device draws what cannot be.
        """
        raise NotImplementedError
