"""Devices that are there and away by turns."""

from __future__ import annotations

import numpy as np

from edgefl.core.arrays import Bools, Floats, Ids
from edgefl.world.churn.base import NO_CHANGES, Changes, Presence


class AlternatingPresence(Presence):
    """Each device keeps its state until its next change, which is a function of the device and its changes before.

    The changes are remembered, which never alters an answer: asked about an earlier time, it begins anew. Going on
    costs a comparison a device and a draw or two a change: a million devices cost milliseconds a round.
    """

    def __init__(self, chances: Floats) -> None:
        super().__init__(chances)
        self._restart()

    def begin(self) -> tuple[Bools, Floats]:
        """Who [devices] is there at time 0, and until when each remains so."""
        raise NotImplementedError

    def until_s(self, ids: Ids, there: Bools, since_s: Floats, turns: Ids) -> Floats:
        """When each of devices [n] changes again.

        Args:
            ids: [n] who have changed.
            there: [n] whether they have come or left.
            since_s: [n] when.
            turns: [n] how many changes each has made, with this one; their numbers differ.
        """
        raise NotImplementedError

    def _restart(self) -> None:
        self._now_s = 0.0
        self._there, self._until_s = self.begin()
        self._turns = np.zeros(len(self.probabilities), dtype=np.int64)
        self._log: list[Changes] = []

    def _go_on(self, time_s: float, ids: Ids | None = None) -> None:
        """Take in all that happens not later than a time, to some devices or to all."""
        if time_s < self._now_s:
            self._restart()
        self._now_s = time_s
        due = np.flatnonzero(self._until_s <= time_s) if ids is None else ids[self._until_s[ids] <= time_s]
        while due.size:
            since, there = self._until_s[due], ~self._there[due]
            self._turns[due] += 1
            self._there[due] = there
            self._until_s[due] = self.until_s(due, there, since, self._turns[due])
            self._log.append(Changes(since, due, there))
            due = due[self._until_s[due] <= time_s]

    def present(self, time_s: float, index: int) -> Ids:
        """Those who are there, whatever the round."""
        self._go_on(time_s)
        return np.flatnonzero(self._there)

    def stays_until_s(self, ids: Ids, time_s: float) -> Floats:
        """When they leave."""
        self._go_on(time_s, np.unique(ids))
        return np.where(self._there[ids], self._until_s[ids], time_s)

    def arrivals(self, time_s: float, among: Ids | None = None) -> tuple[float, Ids]:
        """The first return of those who are away."""
        self._go_on(time_s)
        away = np.flatnonzero(~self._there) if among is None else among[~self._there[among]]
        next_s = float(self._until_s[away].min(initial=np.inf))
        return next_s, away[self._until_s[away] == next_s]

    def changes(self, after_s: float, until_s: float) -> Changes:
        """From the memory, which then forgets them."""
        self._go_on(until_s)
        if not self._log:
            return NO_CHANGES
        times, ids, came = map(np.concatenate, zip(*self._log, strict=True))
        self._log = []
        order = np.lexsort((ids, times))
        order = order[times[order] > after_s]
        return Changes(times[order], ids[order], came[order])
