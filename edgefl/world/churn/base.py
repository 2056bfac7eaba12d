"""Churn models say which devices are present, and when they arrive and leave.

To write a churn model:

1. One file in this folder with a subclass of `Churn`. Its fields are its keys under `churn`, and the first line of its
   docstring, which names the source, is what `edgefl list churn` prints.
2. `presence`, which returns the population of one run: a subclass of `Presence`, or of `AlternatingPresence`
   (`alternating.py`) if each device's next change follows from its changes before. Presence is a function of (device,
   time): it depends neither on the population nor on earlier questions.
3. `check`, and the flags that differ.
4. One line in the table of contents (`members.csv`), one test in `tests/world/`, one row in `docs/churn.md`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import ClassVar, NamedTuple

import numpy as np

from edgefl.core.arrays import Bools, Floats, Ids
from edgefl.core.catalogue import Member
from edgefl.core.streams import Streams

CoverageTest = Callable[[Ids, float], Bools]
"""Returns whether each of devices [n] is covered by a base station at a time."""

CoverageHorizon = Callable[[Ids, float], Floats]
"""Returns the times [n] until which the answer of the `CoverageTest` certainly remains the same."""


class Changes(NamedTuple):
    """Arrivals and departures [n]."""

    times_s: Floats  # since the run's beginning
    ids: Ids  # of the devices
    came: Bools  # True: an arrival; False: a departure

    @classmethod
    def concatenate(cls, pieces: Sequence[Changes]) -> Changes:
        """Return the changes of all pieces, in their order."""
        if not pieces:
            return NO_CHANGES
        return cls(
            times_s=np.concatenate([piece.times_s for piece in pieces]),
            ids=np.concatenate([piece.ids for piece in pieces]),
            came=np.concatenate([piece.came for piece in pieces]),
        )

    def take(self, rows: Ids | Bools) -> Changes:
        """Return the changes in some rows, or of a mask [n]."""
        return Changes(self.times_s[rows], self.ids[rows], self.came[rows])

    def only(self, members: Bools) -> Changes:
        """Return the changes of the devices that `members` [devices] marks."""
        return self.take(members[self.ids])


NO_CHANGES = Changes(np.empty(0), np.empty(0, dtype=np.int64), np.empty(0, dtype=bool))


class Presence:
    """The presence of devices in one run: as it stands, all are always present.

    `probabilities` [devices] is the chance that each is present in a round, or at a time; 1 if always, or if unknown.
    """

    by_round: ClassVar[bool] = False
    """Presence depends on the round rather than on time."""

    always_present: ClassVar[bool] = False
    """No device ever arrives or leaves."""

    follows_coverage: ClassVar[bool] = False
    """Devices are present exactly while a base station covers them."""

    def __init__(self, probabilities: Floats) -> None:
        self.probabilities = probabilities  # for selections and algorithms that correct for availability

    def observe_coverage(self, is_covered: CoverageTest, holds_until_s: CoverageHorizon | None = None) -> None:
        """Take the functions that tell whether devices are covered, and how long that holds; if None, for no time."""

    def present(self, time_s: float, index: int) -> Ids:
        """Return the ids of the devices that are present at a time, when the round `index` begins."""
        return np.arange(len(self.probabilities), dtype=np.int64)

    def stays_until_s(self, ids: Ids, time_s: float) -> Floats:
        """Return the times [n] until which devices [n] certainly stay: `time_s` for those that are away, inf for ever.

        A device may stay even longer: ask again then.
        """
        return np.full(len(ids), np.inf)

    def arrivals(self, time_s: float, among: Ids | None = None) -> tuple[float, Ids]:
        """Return when the next devices arrive of those that are away, of `among` or of all, and which ones.

        The time is inf if no device ever arrives, and `time_s` itself if presence does not depend on time.
        """
        return time_s, np.arange(len(self.probabilities), dtype=np.int64)

    def next_arrival_s(self, time_s: float) -> float:
        """Return when the next device arrives; see `arrivals`."""
        return self.arrivals(time_s)[0]

    def changes(self, after_s: float, until_s: float) -> Changes:
        """Return all changes after `after_s` and not later than `until_s`, by time, then device.

        Calls must be in order of time: each change is returned once.
        """
        return NO_CHANGES


class Churn(Member):
    """Base class of all churn models; its class variables are flags, which the checks of a scenario read."""

    by_round: ClassVar[bool] = False
    """Devices come and go with rounds rather than with time."""

    always_present: ClassVar[bool] = False
    """No device ever arrives or leaves, unless by its movement."""

    @property
    def by_classes(self) -> bool:
        """True if a device's presence depends on the classes of its samples."""
        return False

    def check(self, count: int) -> str | None:
        """Return why `count` devices cannot have this churn; None if they can."""
        return None

    def presence(self, count: int, lowest_label: Ids, classes: int, streams: Streams) -> Presence:
        """Return which of the devices are present, for one run.

        Args:
            count: number of devices.
            lowest_label: [count] the first class of each device's samples; 0 without labels.
            classes: number of classes of the data.
            streams: keyed randomness.

        Raises:
            InputError: a device draws a value that is not allowed.
        """
        raise NotImplementedError
