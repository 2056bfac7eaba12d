"""Devices whose stays repeat for ever, each with its own period."""

from collections.abc import Sequence

import numpy as np

from edgefl.core.arrays import Bools, Floats, Ids
from edgefl.world.churn.alternating import AlternatingPresence
from edgefl.world.churn.recordings import Recording

LEAST_PROBABILITY = 1e-4  # of a device that is never present: algorithms divide by it


class RepeatingPresence(AlternatingPresence):
    """The presence that recordings [devices] describe, of a run that begins at `at_s` on their clock."""

    def __init__(self, recordings: Sequence[Recording], at_s: float) -> None:
        changes = [_changes(recording, at_s) for recording in recordings]
        self._begin_present = np.array([present for present, _ in changes])
        self._count = np.array([len(times_s) for _, times_s in changes], dtype=np.int64)  # in a period
        self._first_row = np.cumsum(self._count) - self._count
        # One entry more, so that a device without changes at the end of the list has a row to look at, too.
        self._times_s = np.concatenate([*(times_s for _, times_s in changes), [np.inf]])
        self._period_s = np.array([recording.period_s for recording in recordings])
        present_s = np.array([sum(off_s - on_s for on_s, off_s in recording.stays) for recording in recordings])
        super().__init__(np.clip(present_s / self._period_s, LEAST_PROBABILITY, 1.0))

    def initial_state(self) -> tuple[Bools, Floats]:
        """Return which devices [devices] are present at time 0, and their first changes [devices]."""
        ids = np.arange(len(self._count))
        return self._begin_present.copy(), self._change_s(ids, np.zeros(len(ids), dtype=np.int64))

    def next_change_s(self, ids: Ids, present: Bools, since_s: Floats, number: Ids) -> Floats:
        """Return the next time [n] of the recordings."""
        return self._change_s(ids, number)

    def _change_s(self, ids: Ids, number: Ids) -> Floats:
        """Return the times [n] of the changes `number` [n], from 0, of devices [n]; inf for those that never change."""
        count = self._count[ids]
        periods, place = np.divmod(number, np.maximum(count, 1))
        times_s = self._times_s[self._first_row[ids] + np.where(count > 0, place, 0)] + periods * self._period_s[ids]
        return np.where(count > 0, times_s, np.inf)


def _changes(recording: Recording, at_s: float) -> tuple[bool, Floats]:
    """Return whether a device is present when the run begins, and when it changes in the first period after."""
    times_s = np.array([time_s for stay in recording.stays for time_s in stay])
    phase_s = (at_s - recording.begin_s) % recording.period_s
    present = any(on_s <= phase_s < off_s for on_s, off_s in recording.stays)
    if times_s.size and times_s[0] == 0 and times_s[-1] == recording.period_s:
        times_s = times_s[1:-1]  # the last stay continues in the first one of the next period
    # A change at the very beginning has happened: the next one like it comes a period later.
    after_s = recording.period_s - (phase_s - times_s) % recording.period_s
    return present, np.sort(after_s)
