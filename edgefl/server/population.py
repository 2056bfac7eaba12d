"""Devices that come and go while rounds run: who leaves in the middle, how long nobody comes, how many there were."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from typing import Protocol, TypeVar

import numpy as np
import simpy

from edgefl.coordination.policies.base import DEPARTED
from edgefl.core.arrays import Bools, Ids
from edgefl.core.errors import RunError
from edgefl.server.ledger import Ledger
from edgefl.world.batteries import Batteries
from edgefl.world.churn import Presence
from edgefl.world.churn.base import NO_CHANGES, Changes

LISTED = 10_000  # devices in all whose single arrivals and departures are events

log = logging.getLogger(__name__)


class Part(Protocol):
    """What is to be known of a device's part in a round."""

    device: int
    closed: bool  # whether the round has ended


P = TypeVar("P", bound=Part)


class Population:
    """The population as the rounds of a run meet it.

    Args:
        env: the clock.
        presence: who is there.
        batteries: what they run on, where they have any.
        ledger: where arrivals and departures are entered.
        wanted: how many devices a round asks for; 0 is whoever is there.
    """

    def __init__(
        self, env: simpy.Environment, presence: Presence, batteries: Batteries | None, ledger: Ledger, wanted: int
    ) -> None:
        self.env, self.presence, self.batteries, self.ledger, self.wanted = env, presence, batteries, ledger, wanted
        self._present = 0  # when the last round began
        self._warned = False

    def arrival_s(self, members: Bools, index: int, *, someone: bool) -> float:
        """How long to wait before a round that nobody, or not yet the right one, could take part in.

        Args:
            members: [devices] who may take part at all.
            index: of the round.
            someone: whether anybody is there, so that rounds may go on where nobody comes any more.

        Raises:
            RunError: nobody is there, and nobody will ever come.
        """
        now_s, empty = self.env.now, False
        next_s = self.presence.next_arrival_s(now_s)
        if self.batteries is not None:
            ids = np.flatnonzero(members)
            empty = not self.batteries.with_charge(ids, now_s).size
            next_s = self._usable_s(self.batteries, ids, index, next_s, wait=empty or someone)
        if next_s < float("inf"):
            return next_s - now_s
        if someone:
            return 0.0
        if empty:
            raise RunError(f"devices.battery: no device has charge at {now_s:g} s, and none will be charged")
        raise RunError(f"churn: no device is there at {now_s:g} s, and none will come")

    def _usable_s(self, batteries: Batteries, ids: Ids, index: int, next_s: float, *, wait: bool) -> float:
        """When the next of devices [n] is charged, or comes at `next_s`; inf: none ever is of any use."""
        now_s = self.env.now
        charged_s = batteries.next_charged_s(ids, now_s)
        if not batteries.with_charge(ids, now_s).size and charged_s == float("inf"):
            return charged_s
        if next_s <= now_s:  # who is there depends on no time
            return charged_s if wait else now_s
        here = np.intersect1d(ids, self.presence.present(now_s, index))
        return min(next_s, batteries.next_charged_s(here, now_s))

    def enter(self, present: int) -> None:
        """Begin a round with so many devices; say once if they are fewer than are asked for."""
        self._present = present
        if present < self.wanted and not self._warned:
            self._warned = True
            text = "round %d: %d devices are there, server.participants: %d asks for more; it takes whom it gets"
            log.warning(text, len(self.ledger.rounds) + 1, present, self.wanted)

    def leave(self, members: Bools) -> tuple[dict[str, float], Ids]:
        """End a round of `members` [devices]: its columns of rounds.csv, and the ids of those who have left.

        In small populations each change is an event.
        """
        batteries = self.batteries.columns(self.env.now) if self.batteries else {}
        self._note(self.batteries.changes() if self.batteries else NO_CHANGES, "battery_charged", "battery_empty")
        changes = self.presence.changes(self.ledger.time_s, self.env.now).only(members)
        self._note(changes, "arrival", "departure")
        came, gone = int(changes.came.sum()), changes.ids[~changes.came]
        return {"present": self._present, "arrivals": came, "departures": len(gone), **batteries}, gone

    def take_turns(self, before: Bools, after: Bools, index: int) -> Ids:
        """Let devices [devices] make room for others between the round `index` and the next: the ids of the former.

        It is in that round's row, and an event each.
        """
        gone = np.intersect1d(self.presence.present(self.env.now, index), np.flatnonzero(before & ~after))
        come = np.intersect1d(self.presence.present(self.env.now, index + 1), np.flatnonzero(after & ~before))
        row, ids = self.ledger.rounds[-1], np.concatenate([gone, come])
        row.update(arrivals=row["arrivals"] + len(come), departures=row["departures"] + len(gone))
        came = np.arange(len(ids)) >= len(gone)
        self._note(Changes(np.full(len(ids), self.env.now), ids, came), "arrival", "departure")
        return gone

    def _note(self, changes: Changes, better: str, worse: str) -> None:
        """Enter changes in small populations as events."""
        if len(self.presence.probabilities) <= LISTED:
            for time_s, device, came in zip(*(column.tolist() for column in changes), strict=True):
                self.ledger.event(time_s, better if came else worse, device)

    def watch(self, processes: Sequence[simpy.Process], parts: Sequence[P], left: Callable[[P], None]) -> None:
        """Interrupt the processes of parts [n] when their devices leave; tell of those that wait who has `left`."""
        ids = np.array([part.device for part in parts], dtype=np.int64)
        for process, part, until_s in zip(
            processes, parts, self.presence.stays_until_s(ids, self.env.now), strict=True
        ):
            self._look_at(float(until_s), process, part, left)

    def _look_at(self, time_s: float, process: simpy.Process, part: P, left: Callable[[P], None]) -> None:
        """Look at a device at the time until which it certainly stays, so long as its part's round goes on."""
        if time_s == float("inf"):
            return

        def look(_: simpy.Event) -> None:
            if part.closed:
                return
            until_s = float(self.presence.stays_until_s(np.array([part.device]), self.env.now)[0])
            if until_s > self.env.now:
                self._look_at(until_s, process, part, left)
            elif process.is_alive:
                process.interrupt(DEPARTED)
            else:
                left(part)

        timeout = self.env.timeout(max(time_s - self.env.now, 0.0))
        assert timeout.callbacks is not None  # noqa: S101 - it has not been processed
        timeout.callbacks.append(look)
