"""Devices that come and go while rounds run: who leaves during a round, who arrives, how many are present."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence

import numpy as np
import simpy

from edgefl.coordination.policies.base import DEPARTED
from edgefl.core.arrays import Bools, Ids
from edgefl.core.errors import RunError
from edgefl.core.times import call_at
from edgefl.server.ledger import Ledger
from edgefl.server.participation import Participation
from edgefl.world.batteries import Batteries
from edgefl.world.churn import Presence
from edgefl.world.churn.base import Changes

LISTED = 10_000  # devices in all up to which single arrivals and departures are events

log = logging.getLogger(__name__)


class Population:
    """The population as the rounds of a run meet it.

    Args:
        env: the clock.
        presence: which devices are present.
        batteries: what they run on, where they have any.
        ledger: where arrivals and departures are entered as events.
        wanted: how many devices a round asks for; 0 is everybody who is present.
    """

    def __init__(
        self, env: simpy.Environment, presence: Presence, batteries: Batteries | None, ledger: Ledger, wanted: int
    ) -> None:
        self._env = env
        self._presence = presence
        self._batteries = batteries
        self._ledger = ledger
        self._wanted = wanted
        self._present = 0  # devices that were present when the round under way began
        self._warned = False

    # Between rounds

    def wait_s(self, members: Bools, index: int, *, someone: bool) -> float:
        """Return the seconds until a device arrives, or is charged, that could take part in the next round.

        Args:
            members: [devices] which may take part at all.
            index: of the round.
            someone: whether some devices are present, so that rounds may go on where none arrives any more.

        Raises:
            RunError: no device is present, and none will ever come.
        """
        now_s = self._env.now
        next_s = self._presence.next_arrival_s(now_s)
        without_charge = False
        if self._batteries is not None:
            ids = np.flatnonzero(members)
            without_charge = not self._batteries.with_charge(ids, now_s).size
            next_s = self._usable_s(self._batteries, ids, index, next_s, wait=without_charge or someone)
        if next_s < float("inf"):
            return next_s - now_s
        if someone:
            return 0.0
        if without_charge:
            raise RunError(
                f"devices.battery: no device has charge at {now_s:g} s, and none will be charged: "
                "give it charging, or a larger capacity_j"
            )
        raise RunError(
            f"churn: no device is there at {now_s:g} s, and none will come: "
            "end the run before with stop.time_s, or choose a churn whose devices come back"
        )

    def _usable_s(self, batteries: Batteries, ids: Ids, index: int, next_s: float, *, wait: bool) -> float:
        """Return when the next of devices [n] is charged, or arrives at `next_s` [s]; inf if none ever takes part."""
        now_s = self._env.now
        charged_s = batteries.next_charged_s(ids, now_s)
        if not batteries.with_charge(ids, now_s).size and charged_s == float("inf"):
            return charged_s
        if next_s <= now_s:  # presence does not depend on time: the next round may find others
            if wait:
                return charged_s
            return now_s
        # A device without charge that is present may be charged before the next one arrives.
        present = np.intersect1d(ids, self._presence.present(now_s, index))
        return min(next_s, batteries.next_charged_s(present, now_s))

    # Rounds

    def begin_round(self, present: int, number: int) -> None:
        """Begin round `number`, from 1, with so many devices; warn once if they are fewer than it asks for."""
        self._present = present
        if present < self._wanted and not self._warned:
            self._warned = True
            text = "round %d: %d devices are there, server.participants: %d asks for more; it takes whom it gets"
            log.warning(text, number, present, self._wanted)

    def end_round(self, members: Bools, began_s: float) -> tuple[dict[str, float], Ids]:
        """End a round: return its columns of rounds.csv, and the ids of the devices that have left during it.

        In small populations each change is an event.

        Args:
            members: [devices] which may take part in the session.
            began_s: when the round before it ended [s].
        """
        now_s = self._env.now
        battery_columns: dict[str, float] = {}
        if self._batteries is not None:
            battery_columns = self._batteries.columns(now_s)
            self._note(self._batteries.changes(), "battery_charged", "battery_empty")
        changes = self._presence.changes(began_s, now_s).only(members)
        self._note(changes, "arrival", "departure")
        arrivals = int(changes.came.sum())
        departed = changes.ids[~changes.came]
        columns = {"present": self._present, "arrivals": arrivals, "departures": len(departed), **battery_columns}
        return columns, departed

    def change_groups(self, before: Bools, after: Bools, index: int) -> tuple[Ids, Ids]:
        """Let a session's group make room for the next one's, after round `index`: return who arrives and who leaves.

        Each change is an event.

        Args:
            before: [devices] the group that leaves.
            after: [devices] the group that arrives.
            index: of the round that has ended.
        """
        now_s = self._env.now
        departed = np.intersect1d(self._presence.present(now_s, index), np.flatnonzero(before & ~after))
        arrived = np.intersect1d(self._presence.present(now_s, index + 1), np.flatnonzero(after & ~before))
        ids = np.concatenate([departed, arrived])
        came = np.arange(len(ids)) >= len(departed)  # those that leave come first in ids
        self._note(Changes(np.full(len(ids), now_s), ids, came), "arrival", "departure")
        return arrived, departed

    def _note(self, changes: Changes, came: str, left: str) -> None:
        """Enter changes in small populations as events of these kinds."""
        if len(self._presence.probabilities) > LISTED:
            return
        rows = zip(changes.times_s.tolist(), changes.ids.tolist(), changes.came.tolist(), strict=True)
        for time_s, device, has_come in rows:
            self._ledger.event(time_s, came if has_come else left, device)

    # During a round

    def watch(
        self,
        processes: Sequence[simpy.Process],
        parts: Sequence[Participation],
        on_departure: Callable[[Participation], None],
    ) -> None:
        """Interrupt the processes of participations [n] whose devices leave during them.

        Args:
            processes: [n] of them.
            parts: [n].
            on_departure: called with a participation that has ended and whose device leaves before the round does.
        """
        ids = np.array([part.device for part in parts], dtype=np.int64)
        stays_until_s = self._presence.stays_until_s(ids, self._env.now).tolist()
        for process, part, time_s in zip(processes, parts, stays_until_s, strict=True):
            self._check_at(time_s, process, part, on_departure)

    def _check_at(
        self,
        time_s: float,
        process: simpy.Process,
        part: Participation,
        on_departure: Callable[[Participation], None],
    ) -> None:
        """Check whether a device leaves at the time until which it certainly stays, while its round goes on."""
        if time_s == float("inf"):
            return

        def check() -> None:
            if part.closed:  # a later round has the device, and looks for itself
                return
            # The bound may have moved on: presence knows only a time until which a device certainly stays.
            stays_until_s = float(self._presence.stays_until_s(np.array([part.device]), self._env.now)[0])
            if stays_until_s > self._env.now:
                self._check_at(stays_until_s, process, part, on_departure)
            elif process.is_alive:
                process.interrupt(DEPARTED)
            else:
                on_departure(part)

        call_at(self._env, time_s, check)
