"""Which devices are busy, and the participations that have ended since the last round did."""

from collections.abc import Sequence

import numpy as np

from edgefl.core.arrays import Ids
from edgefl.records.statuses import OUT_OF_MEMORY, POLLED, RECEIVED
from edgefl.server.participation import Participation


class Roster:
    """Keeps participations that have ended until their round takes them, and which devices are busy until then."""

    def __init__(self) -> None:
        self._busy: set[int] = set()  # devices that are taking part, or whose update has not been aggregated yet
        self._refusing: set[int] = set()  # devices that have refused to train, which they would do again
        self._ended: list[Participation] = []  # participations that ended since the last round did
        self._reports: list[Participation] = []  # on channels, since the last round ended
        self._answers: dict[int, Participation] = {}  # answers to the poll by device, until participants are chosen

    # Devices

    @property
    def busy(self) -> int:
        """Return how many devices are taking part, or have sent an update that has not been aggregated yet."""
        return len(self._busy)

    def not_busy(self, ids: Ids) -> Ids:
        """Return those of devices [n] that are not busy, and have not refused to train."""
        taken = self._busy | self._refusing
        if not taken:
            return ids
        return ids[~np.isin(ids, list(taken))]

    def occupy(self, ids: Ids) -> None:
        """Note that devices [n] take part from now on."""
        self._busy.update(ids.tolist())

    def release(self, device: int) -> None:
        """Note that a device is not busy any more."""
        self._busy.discard(device)

    # Participations

    def ask_again(self, ids: Ids, time_s: float) -> None:
        """Note that devices [n] are asked at a time [s]: one that failed in this round stops waiting for its end."""
        for earlier in self._ended:
            if earlier.device in ids:
                earlier.stop_waiting(time_s)

    def add(self, part: Participation) -> None:
        """Keep a participation that has ended."""
        if part.status == OUT_OF_MEMORY:
            self._refusing.add(part.device)
        self._ended.append(part)

    def add_reports(self, reports: Sequence[Participation]) -> None:
        """Count reports on channels with the participations of their round."""
        self._reports += reports

    def received(self) -> int:
        """Return how many updates have arrived since the last round ended."""
        return sum(part.status == RECEIVED for part in self._ended)

    def senders(self) -> Ids:
        """Return the devices whose updates have arrived since the last round ended, ascending."""
        return np.array(sorted(part.device for part in self._ended if part.status == RECEIVED), dtype=np.int64)

    def take_ended(self) -> list[Participation]:
        """Return the reports and participations that have ended since the last round did, in order of their devices.

        Devices whose update has arrived are not busy any more.
        """
        parts = sorted([*self._reports, *self._ended], key=lambda part: part.device)
        self._reports = []
        self._ended = []
        self._busy -= {part.device for part in parts if part.status == RECEIVED}
        return parts

    # Answers to polls

    @property
    def answered(self) -> Ids:
        """Return the devices whose answers can still be continued, in any order."""
        return np.array(list(self._answers), dtype=np.int64)

    def forget_answers(self) -> None:
        """Note that no answer can be continued any more."""
        self._answers = {}

    def take_answers(self) -> Ids:
        """Return the devices, ascending, that have answered a poll; each continues from there if it takes part."""
        self._answers = {part.device: part for part in self._ended if part.status == POLLED}
        # Every candidate counts as passed over for now. Those that answered can still be chosen, and then continue.
        for part in self._ended:
            part.pass_over()
        return np.array(sorted(self._answers), dtype=np.int64)

    def resume(self, parts: Sequence[Participation]) -> None:
        """Let participations continue where their devices' answers to the poll ended, if they have answered one."""
        if not self._answers:
            return
        for part in parts:
            answer = self._answers.pop(part.device, None)
            if answer is not None:
                self._ended.remove(answer)  # its cost is counted with the participation that continues it
                part.resume_after_poll(answer)
