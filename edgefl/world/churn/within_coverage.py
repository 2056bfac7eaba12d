"""Churn of devices that may move out of coverage."""

import numpy as np

from edgefl.core.arrays import Bools, Floats, Ids
from edgefl.world.churn.base import Changes, CoverageHorizon, CoverageTest, Presence
from edgefl.world.churn.coverage import Coverage


def within_coverage(presence: Presence) -> Presence:
    """Return the same churn for devices that are present only while a base station covers them."""
    if presence.follows_coverage:  # `churn: coverage` has its own checks
        return presence
    if presence.always_present:
        return Coverage(len(presence.probabilities))
    return ChurnWithinCoverage(presence)


class ChurnWithinCoverage(Presence):
    """A device is present while `churn` has it present and it is covered."""

    def __init__(self, churn: Presence) -> None:
        super().__init__(churn.probabilities)
        self._churn = churn
        self._coverage = Coverage(len(churn.probabilities))

    def observe_coverage(self, is_covered: CoverageTest, holds_until_s: CoverageHorizon | None = None) -> None:
        """See Presence."""
        self._coverage.observe_coverage(is_covered, holds_until_s)

    def present(self, time_s: float, index: int) -> Ids:
        """Return the devices that are present by their churn and covered."""
        by_churn = self._churn.present(time_s, index)
        covered = self._coverage.present(time_s, index)
        return np.intersect1d(by_churn, covered, assume_unique=True)

    def stays_until_s(self, ids: Ids, time_s: float) -> Floats:
        """Return when devices [n] may leave by churn or coverage."""
        return np.minimum(self._churn.stays_until_s(ids, time_s), self._coverage.stays_until_s(ids, time_s))

    def arrivals(self, time_s: float, among: Ids | None = None) -> tuple[float, Ids]:
        """Return the first time at which devices arrive by churn while they are covered, or are covered while present.

        If churn goes by rounds, the next round may be tried at once as soon as a device is covered.
        """
        covered = self._coverage.present(time_s, 0)
        moved_s, movers = self._coverage.arrivals(time_s, among)
        if self._churn.by_round:
            if covered.size:
                return time_s, covered
            return moved_s, movers
        # An arrival by one counts only if the other has the device present then; otherwise the search continues.
        while True:
            comes_s, comers = self._churn.arrivals(time_s, among=covered)
            time_s = min(comes_s, moved_s)
            if time_s == np.inf:
                return time_s, comers[:0]
            arriving = movers[:0]
            if comes_s <= time_s:  # both may happen at once
                arriving = np.union1d(arriving, comers)
            if moved_s <= time_s:
                arriving = np.union1d(arriving, movers)
            came = np.intersect1d(arriving, self.present(time_s, 0))
            if came.size:
                return time_s, came
            # None yet: continue from there, with the devices that are covered by now.
            covered = self._coverage.present(time_s, 0)
            if moved_s <= time_s:
                moved_s, movers = self._coverage.arrivals(time_s, among)

    def changes(self, after_s: float, until_s: float) -> Changes:
        """Return changes by churn of covered devices, and changes of coverage of devices that churn has present."""
        moved = self._coverage.changes(after_s, until_s)
        if self._churn.by_round:  # coins have no time, so only movements are changes
            return moved
        churned = self._churn.changes(after_s, until_s)
        both = Changes.concatenate([churned, moved])
        is_move = np.repeat([False, True], [len(churned.ids), len(moved.ids)])
        by_churn = self._present_before(self._churn, churned, until_s)
        by_coverage = self._present_before(self._coverage, moved, until_s)
        # Walk through both kinds of changes in order of time; at equal times churn comes first.
        visible = []
        for row in np.lexsort((is_move, both.ids, both.times_s)).tolist():
            device = both.ids[row]
            if is_move[row]:
                by_coverage[device] = both.came[row]
                is_visible = by_churn[device]
            else:
                by_churn[device] = both.came[row]
                is_visible = by_coverage[device]
            if is_visible:
                visible.append(row)
        return both.take(np.array(visible, dtype=np.int64))

    def _present_before(self, source: Presence, changes: Changes, until_s: float) -> Bools:
        """Return which devices [devices] a source had present before its changes up to a time.

        After an even number of changes a device is as it was before.
        """
        after = np.zeros(len(self.probabilities), dtype=bool)
        after[source.present(until_s, 0)] = True
        changed_oddly = np.bincount(changes.ids, minlength=len(after)) % 2 == 1
        return np.asarray(after ^ changed_oddly)
