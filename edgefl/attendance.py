"""Devices that come and go while rounds run: who leaves in the middle, how long nobody comes, how many there were."""

from __future__ import annotations

import logging
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import simpy

from edgefl.churn import Presence
from edgefl.errors import RunError
from edgefl.ledger import Ledger
from edgefl.protocols.base import DEPARTED

Ids = npt.NDArray[np.int64]

LISTED = 10_000  # devices in all whose single arrivals and departures are events

log = logging.getLogger(__name__)


class Attendance:
    """The population as the rounds of a run meet it.

    Args:
        env: the clock.
        presence: who is there.
        ledger: where arrivals and departures are entered.
        wanted: how many devices a round asks for; 0 is whoever is there.
    """

    def __init__(self, env: simpy.Environment, presence: Presence, ledger: Ledger, wanted: int) -> None:
        self.env, self.presence, self.ledger, self.wanted = env, presence, ledger, wanted
        self._present = 0  # when the last round began
        self._warned = False

    def arrival_s(self, *, someone: bool) -> float:
        """How long to wait before a round that nobody, or not yet the right one, could take part in.

        Args:
            someone: whether anybody is there, so that rounds may go on where nobody comes any more.

        Raises:
            RunError: nobody is there, and nobody will ever come.
        """
        wait_s = self.presence.next_arrival_s(self.env.now) - self.env.now
        if wait_s < float("inf"):
            return wait_s
        if someone:
            return 0.0
        raise RunError(f"churn: no device is there at {self.env.now:g} s, and none will come")

    def enter(self, present: int) -> None:
        """Begin a round with so many devices; say once if they are fewer than are asked for."""
        self._present = present
        if present < self.wanted and not self._warned:
            self._warned = True
            text = "round %d: %d devices are there, server.participants: %d asks for more; it takes whom it gets"
            log.warning(text, len(self.ledger.rounds) + 1, present, self.wanted)

    def leave(self) -> dict[str, int]:
        """End a round: its columns of rounds.csv, and in small populations an event for each change."""
        changes = self.presence.changes(self.ledger.time_s, self.env.now)
        if len(self.presence.chances) <= LISTED:
            for time_s, device, came in zip(*(column.tolist() for column in changes), strict=True):
                self.ledger.event(time_s, "arrival" if came else "departure", device)
        arrivals = int(changes.came.sum())
        return {"present": self._present, "arrivals": arrivals, "departures": len(changes.came) - arrivals}

    def watch(self, processes: Sequence[simpy.Process], ids: Ids) -> None:
        """Interrupt the processes of devices [n] when these leave."""
        for process, device, until_s in zip(processes, ids, self.presence.stays_s(ids, self.env.now), strict=True):
            self._look_at(float(until_s), process, device)

    def _look_at(self, time_s: float, process: simpy.Process, device: np.int64) -> None:
        """Look at a device at the time until which it certainly stays."""
        if time_s == float("inf"):
            return

        def look(_: simpy.Event) -> None:
            if not process.is_alive:
                return
            until_s = float(self.presence.stays_s(np.array([device]), self.env.now)[0])
            if until_s > self.env.now:
                self._look_at(until_s, process, device)
            else:
                process.interrupt(DEPARTED)

        timeout = self.env.timeout(max(time_s - self.env.now, 0.0))
        assert timeout.callbacks is not None  # noqa: S101 - it has not been processed
        timeout.callbacks.append(look)
