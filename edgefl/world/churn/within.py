"""Who is there by churn, and is where a base station reaches it."""

from __future__ import annotations

import numpy as np

from edgefl.core.arrays import Bools, Floats, Ids
from edgefl.world.churn.base import NO_CHANGES, Changes, Covered, Holds, Presence
from edgefl.world.churn.coverage import Coverage


def covered(presence: Presence) -> Presence:
    """The same churn of devices whose movement can lead them out of coverage."""
    if isinstance(presence, Coverage):
        return presence
    return Coverage(len(presence.probabilities)) if type(presence) is Presence else ChurnWithinCoverage(presence)


class ChurnWithinCoverage(Presence):
    """Both at once: who has moved out of coverage has left, whatever its churn is.

    Args:
        churn: who would be there.
    """

    def __init__(self, churn: Presence) -> None:
        super().__init__(churn.probabilities)
        self._churn, self._coverage = churn, Coverage(len(churn.probabilities))

    def observe_coverage(self, covered: Covered, holds_s: Holds | None = None) -> None:
        """Take how to see who is in coverage."""
        self._coverage.observe_coverage(covered, holds_s)

    def present(self, time_s: float, index: int) -> Ids:
        """Who is there by both."""
        there = self._churn.present(time_s, index), self._coverage.present(time_s, index)
        return np.intersect1d(*there, assume_unique=True)

    def stays_until_s(self, ids: Ids, time_s: float) -> Floats:
        """Until the first of them ends."""
        return np.minimum(self._churn.stays_until_s(ids, time_s), self._coverage.stays_until_s(ids, time_s))

    def arrivals(self, time_s: float, among: Ids | None = None) -> tuple[float, Ids]:
        """The first time at which one of them lets somebody in whom the other has there.

        Where churn goes by rounds, the next one may be tried at once if somebody is covered.
        """
        reached, (moved_s, movers) = self._coverage.present(time_s, 0), self._coverage.arrivals(time_s, among)
        if self._churn.by_round:
            return (time_s, reached) if reached.size else (moved_s, movers)
        while True:
            next_s, comers = self._churn.arrivals(time_s, among=reached)
            time_s = min(next_s, moved_s)
            if time_s == np.inf:
                return time_s, comers[:0]
            come = np.union1d(comers if next_s <= time_s else comers[:0], movers if moved_s <= time_s else movers[:0])
            if (come := np.intersect1d(come, self.present(time_s, 0))).size:
                return time_s, come
            reached = self._coverage.present(time_s, 0)
            if moved_s <= time_s:
                moved_s, movers = self._coverage.arrivals(time_s, among)

    def changes(self, after_s: float, until_s: float) -> Changes:
        """Of both together: who changes in one while it is there by the other."""
        moved = self._coverage.changes(after_s, until_s)
        if self._churn.by_round:
            return moved
        both = [self._churn.changes(after_s, until_s), moved]
        times, ids, came = (np.concatenate(column) for column in zip(*both, strict=True))
        by_movement = np.repeat([False, True], [len(each.ids) for each in both])
        there = {False: self._before(self._churn, both[0], until_s), True: self._before(self._coverage, moved, until_s)}
        rows = []
        for row in np.lexsort((by_movement, ids, times)).tolist():
            mine, other = there[bool(by_movement[row])], there[not by_movement[row]]
            mine[ids[row]] = came[row]
            if other[ids[row]]:
                rows.append(row)
        return Changes(times[rows], ids[rows], came[rows]) if rows else NO_CHANGES

    def _before(self, one: Presence, changes: Changes, until_s: float) -> Bools:
        """Who [devices] was there by one of them before its changes."""
        there = np.zeros(len(self.probabilities), dtype=bool)
        there[one.present(until_s, 0)] = True
        return np.asarray(there ^ (np.bincount(changes.ids, minlength=len(there)) % 2 == 1))
