"""Devices that arrive and leave while rounds run: how many are present, and how long to wait for one."""

from __future__ import annotations

import logging

import numpy as np
import simpy

from edgefl.core.arrays import Bools, Ids
from edgefl.core.errors import RunError
from edgefl.records.ledger import Ledger
from edgefl.world.batteries import Batteries
from edgefl.world.churn import Presence
from edgefl.world.churn.base import Changes

LISTED = 10_000  # in populations up to this size each arrival and departure is an event

log = logging.getLogger(__name__)


class Population:
    """Watches arrivals and departures for the rounds of a run.

    Args:
        env: the clock.
        presence: which devices are present.
        batteries: their batteries; None if no device has one.
        ledger: records arrivals and departures as events.
        wanted: how many devices a round asks for; 0: all that are present.
    """

    def __init__(
        self, env: simpy.Environment, presence: Presence, batteries: Batteries | None, ledger: Ledger, wanted: int
    ) -> None:
        self._env = env
        self._presence = presence
        self._batteries = batteries
        self._ledger = ledger
        self._wanted = wanted
        self._present = 0  # devices that were present when the present round began
        self._warned = False

    # Between rounds

    def wait_s(self, members: Bools, index: int, *, any_present: bool) -> float:
        """Return the seconds until a device arrives, or is charged, that could take part in the next round.

        Args:
            members: [devices] which may take part in the session.
            index: index of the next selection, from 0.
            any_present: whether any device is present; then rounds go on even if no other ever arrives.

        Raises:
            RunError: no device is present, and none will ever come.
        """
        now_s = self._env.now
        next_s = self._presence.next_arrival_s(now_s)
        without_charge = False
        if self._batteries is not None:
            ids = np.flatnonzero(members)
            without_charge = not self._batteries.with_charge(ids, now_s).size
            next_s = self._usable_s(self._batteries, ids, index, next_s, wait=without_charge or any_present)
        if next_s < float("inf"):
            return next_s - now_s
        if any_present:
            return 0.0
        if without_charge:
            raise RunError(
                f"devices.battery: no device has charge at {now_s:g} s, and none will be charged: "
                "add charging, or set a larger capacity_j"
            )
        raise RunError(
            f"churn: no device is present at {now_s:g} s, and none will arrive: "
            "set stop.time_s to an earlier time, or choose a churn whose devices come back"
        )

    def _usable_s(self, batteries: Batteries, ids: Ids, index: int, next_s: float, *, wait: bool) -> float:
        """Return when the next of devices [n] can take part: one arrives at `next_s`, or one is charged; inf: never."""
        now_s = self._env.now
        charged_s = batteries.next_charged_s(ids, now_s)
        if not batteries.with_charge(ids, now_s).size and charged_s == float("inf"):
            return charged_s
        if next_s <= now_s:
            # Presence is drawn for each round and not for each time: another round may find other devices right now.
            if wait:
                return charged_s
            return now_s
        # A device without charge that is present may be charged before the next one arrives.
        present = np.intersect1d(ids, self._presence.present(now_s, index))
        return min(next_s, batteries.next_charged_s(present, now_s))

    # Rounds

    def begin_round(self, present: int, number: int) -> None:
        """Begin round `number`, from 1, with `present` devices; warn once if the round asks for more."""
        self._present = present
        if present < self._wanted and not self._warned:
            self._warned = True
            text = "round %d: %d devices are present, fewer than server.participants: %d; it goes on with these"
            log.warning(text, number, present, self._wanted)

    def end_round(self, members: Bools, began_s: float) -> tuple[dict[str, float], Ids]:
        """End a round: return its columns of rounds.csv, and the ids of the devices that left during it.

        In small populations each arrival and departure is recorded as an event.

        Args:
            members: [devices] which may take part in the session.
            began_s: when the previous round ended [s].
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
        """Replace a session's group by the next one's; return the devices that arrive and those that leave.

        In small populations each arrival and departure is recorded as an event.

        Args:
            before: [devices] the group that leaves.
            after: [devices] the group that arrives.
            index: index of the selection that was last, from 0.
        """
        now_s = self._env.now
        departed = np.intersect1d(self._presence.present(now_s, index), np.flatnonzero(before & ~after))
        arrived = np.intersect1d(self._presence.present(now_s, index + 1), np.flatnonzero(after & ~before))
        ids = np.concatenate([departed, arrived])
        came = np.arange(len(ids)) >= len(departed)  # departures stand first in ids
        self._note(Changes(np.full(len(ids), now_s), ids, came), "arrival", "departure")
        return arrived, departed

    def _note(self, changes: Changes, came: str, left: str) -> None:
        """Record changes in small populations as events of kind `came` or `left`."""
        if len(self._presence.probabilities) > LISTED:
            return
        rows = zip(changes.times_s.tolist(), changes.ids.tolist(), changes.came.tolist(), strict=True)
        for time_s, device, has_come in rows:
            kind = came if has_come else left
            self._ledger.event(time_s, kind, device)
