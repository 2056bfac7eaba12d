"""Devices that arrive and leave while rounds run: their events and columns, and what a departure costs."""

from __future__ import annotations

import logging

import numpy as np
import simpy

from edgefl.core.arrays import Ids
from edgefl.records.ledger import Ledger
from edgefl.server.departed_state import DepartedState
from edgefl.server.observer import EndedRound, Observer, RoundColumns
from edgefl.server.round_counter import RoundCounter
from edgefl.server.session_groups import SessionGroups
from edgefl.world.churn.base import Changes
from edgefl.world.world import World

LISTED = 10_000  # in populations up to this size each arrival and departure is an event

log = logging.getLogger(__name__)


class Population(Observer):
    """Counts arrivals and departures, which are events, too, in small populations.

    Args:
        env: the clock.
        world: the devices, their presence and their batteries.
        ledger: records the events.
        groups: the groups of devices, one of which is present in each session.
        rounds: the index of the selection that was last.
        departed: makes departed devices lose their state.
        wanted: how many devices a round asks for; 0: all that are present.
    """

    def __init__(
        self,
        *,
        env: simpy.Environment,
        world: World,
        ledger: Ledger,
        groups: SessionGroups,
        rounds: RoundCounter,
        departed: DepartedState,
        wanted: int,
    ) -> None:
        self._env = env
        self._world = world
        self._ledger = ledger
        self._groups = groups
        self._rounds = rounds
        self._departed = departed
        self._wanted = wanted
        self._present = 0  # devices that were present when the present round began
        self._left: Ids = np.empty(0, dtype=np.int64)  # devices that left during the round that ended last
        self._warned = False

    def round_begins(self, number: int, present: int) -> None:
        """Keep how many devices are present; warn once if the round asks for more."""
        self._present = present
        if present < self._wanted and not self._warned:
            self._warned = True
            text = "round %d: %d devices are present, fewer than server.participants: %d; it goes on with these"
            log.warning(text, number, present, self._wanted)

    def round_ends(self, ended: EndedRound) -> RoundColumns:
        """Return the columns of devices that came and left, and of batteries."""
        now_s = ended.until_s
        battery_columns: RoundColumns = {}
        batteries = self._world.batteries
        if batteries is not None:
            battery_columns = batteries.columns(now_s)
            self._note(batteries.changes(), "battery_charged", "battery_empty")
        members = self._groups.members(ended.key.session)
        changes = self._world.presence.changes(ended.since_s, now_s).only(members)
        self._note(changes, "arrival", "departure")
        arrivals = int(changes.came.sum())
        self._left = changes.ids[~changes.came]
        return {"present": self._present, "arrivals": arrivals, "departures": len(self._left), **battery_columns}

    def round_recorded(self, number: int) -> None:
        """Let devices that left during the round lose their state."""
        self._departed.lose(self._left)

    def session_changes(self, before: int, after: int) -> None:
        """Let the next session's group replace the one before; count arrivals and departures in the last round."""
        if not self._groups.several:
            return
        leaving = self._groups.members(before)
        coming = self._groups.members(after)
        now_s = self._env.now
        presence = self._world.presence
        index = self._rounds.selection
        departed = np.intersect1d(presence.present(now_s, index), np.flatnonzero(leaving & ~coming))
        arrived = np.intersect1d(presence.present(now_s, index + 1), np.flatnonzero(coming & ~leaving))
        ids = np.concatenate([departed, arrived])
        came = np.arange(len(ids)) >= len(departed)  # departures stand first in ids
        self._note(Changes(np.full(len(ids), now_s), ids, came), "arrival", "departure")
        self._ledger.add_to_last_round({"arrivals": len(arrived), "departures": len(departed)})
        self._departed.lose(departed)

    def _note(self, changes: Changes, came: str, left: str) -> None:
        """Record changes in small populations as events of kind `came` or `left`."""
        if len(self._world.presence.probabilities) > LISTED:
            return
        rows = zip(changes.times_s.tolist(), changes.ids.tolist(), changes.came.tolist(), strict=True)
        for time_s, device, has_come in rows:
            kind = came if has_come else left
            self._ledger.event(time_s, kind, device)
