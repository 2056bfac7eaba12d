"""Devices that are present and away by turns."""

import numpy as np

from edgefl.core.arrays import Bools, Floats, Ids
from edgefl.world.churn.base import Changes, Presence
from edgefl.world.next_events import advance_to


class AlternatingPresence(Presence):
    """Each device keeps its state until its next change, which is a function of the device and its changes before.

    An alternating renewal process is of this kind. States that were computed are kept, which alters no answer: for an
    earlier time, computing starts again. Each round costs a comparison for each device and a draw or two for each
    change.
    """

    def __init__(self, probabilities: Floats) -> None:
        super().__init__(probabilities)
        self._restart()

    def initial_state(self) -> tuple[Bools, Floats]:
        """Return which devices [devices] are present at time 0, and until when [devices] each remains so."""
        raise NotImplementedError

    def next_change_s(self, ids: Ids, present: Bools, since_s: Floats, number: Ids) -> Floats:
        """Return when [n] devices that have just arrived or left change again.

        Args:
            ids: [n] the devices.
            present: [n] True: it has arrived; False: it has left.
            since_s: [n] when.
            number: [n] of the change, from 1 for each device.
        """
        raise NotImplementedError

    def _restart(self) -> None:
        self._now_s = 0.0
        # One state, one next change and one count for each device [devices].
        self._is_present, self._until_s = self.initial_state()
        self._changes_made = np.zeros(len(self.probabilities), dtype=np.int64)
        self._not_reported: list[Changes] = []  # for `changes`, in the order of handling

    def _advance(self, time_s: float, ids: Ids | None = None) -> None:
        if time_s < self._now_s:
            self._restart()  # states before now are not kept; to compute them again gives the same ones
        self._now_s = time_s
        advance_to(time_s, self._until_s, self._change, ids)

    def _change(self, ids: Ids) -> None:
        """Let devices [n] arrive or leave, each at the time of its next change."""
        since_s = self._until_s[ids]
        present = ~self._is_present[ids]
        self._changes_made[ids] += 1
        self._is_present[ids] = present
        self._until_s[ids] = self.next_change_s(ids, present, since_s, self._changes_made[ids])
        self._not_reported.append(Changes(since_s, ids, present))

    def present(self, time_s: float, index: int) -> Ids:
        """Return the devices that are present at a time, whatever the round."""
        self._advance(time_s)
        return np.flatnonzero(self._is_present)

    def stays_until_s(self, ids: Ids, time_s: float) -> Floats:
        """Return when devices [n] leave."""
        self._advance(time_s, np.unique(ids))  # a device that is named twice must change once
        return np.where(self._is_present[ids], self._until_s[ids], time_s)

    def arrivals(self, time_s: float, among: Ids | None = None) -> tuple[float, Ids]:
        """Return when the first of the devices that are away arrive, and which ones."""
        self._advance(time_s)
        ids = np.arange(len(self.probabilities)) if among is None else among
        away = ids[~self._is_present[ids]]
        next_s = float(self._until_s[away].min(initial=np.inf))  # inf if no device is away
        return next_s, away[self._until_s[away] == next_s]

    def changes(self, after_s: float, until_s: float) -> Changes:
        """Return the changes since the last call, and forget them."""
        self._advance(until_s)
        found = Changes.concatenate(self._not_reported)
        self._not_reported = []
        # They were handled device by device.
        order = np.lexsort((found.ids, found.times_s))
        return found.take(order[found.times_s[order] > after_s])
