"""Devices that arrive and leave while rounds run: their events and columns, and the state that departures lose."""

import logging
from dataclasses import dataclass

import numpy as np
import simpy

from edgefl.core.arrays import Ids
from edgefl.records.ledger import Ledger
from edgefl.server.dispatcher import Dispatcher
from edgefl.server.observer import EndedRound, Observer, RoundColumns
from edgefl.server.replay import Replay
from edgefl.server.round_counter import RoundCounter
from edgefl.server.session_groups import SessionGroups
from edgefl.world.churn.base import Changes
from edgefl.world.world import World

LISTED = 10_000  # in populations up to this size each arrival and departure is an event

log = logging.getLogger(__name__)


@dataclass(eq=False)
class DepartedState:
    """Makes departed devices lose their state, if the scenario says so; they will download all of it again."""

    state: str  # the scenario's `server.departed_state`
    dispatcher: Dispatcher  # knows which devices have downloaded what is sent once
    replay: Replay  # the server's side of learning

    def lose(self, ids: Ids) -> None:
        """Note that devices [n] have left."""
        if self.state == "kept":
            return
        self.dispatcher.forget(ids)
        self.replay.depart(ids, forget=self.state == "forgotten")


@dataclass(kw_only=True, eq=False)
class Population(Observer):
    """Counts arrivals and departures, which in small populations are events, too."""

    env: simpy.Environment
    world: World  # the devices, their presence and their batteries
    ledger: Ledger  # records the events
    groups: SessionGroups  # the groups of devices; one is present in each session
    rounds: RoundCounter  # the index of the selection that was last
    departed: DepartedState  # makes departed devices lose their state
    wanted: int  # how many devices a round asks for; 0: all that are present

    def __post_init__(self) -> None:
        self._present = 0  # devices that were present when the present round began
        self._left: Ids = np.empty(0, dtype=np.int64)  # devices that left during the round that ended last
        self._warned = False

    def round_begins(self, number: int, present: int) -> None:
        """Keep how many devices are present; warn once if the round asks for more."""
        self._present = present
        if present < self.wanted and not self._warned:
            self._warned = True
            text = "round %d: %d devices are present, fewer than server.participants: %d; it goes on with these"
            log.warning(text, number, present, self.wanted)

    def round_ends(self, ended: EndedRound) -> RoundColumns:
        """Return the columns of arrivals, departures and batteries."""
        now_s = ended.until_s
        battery_columns: RoundColumns = {}
        batteries = self.world.batteries
        if batteries is not None:
            battery_columns = batteries.columns(now_s)
            self._note(batteries.changes(), "battery_charged", "battery_empty")
        members = self.groups.members(ended.key.session)
        changes = self.world.presence.changes(ended.since_s, now_s).only(members)
        self._note(changes, "arrival", "departure")
        arrivals = int(changes.came.sum())
        self._left = changes.ids[~changes.came]
        return {"present": self._present, "arrivals": arrivals, "departures": len(self._left), **battery_columns}

    def round_recorded(self, number: int) -> None:
        """Let devices that left during the round lose their state."""
        self.departed.lose(self._left)

    def session_changes(self, before: int, after: int) -> None:
        """Let the next session's group replace the last; count arrivals and departures in the last round."""
        if not self.groups.several:
            return
        leaving = self.groups.members(before)
        coming = self.groups.members(after)
        now_s = self.env.now
        presence = self.world.presence
        index = self.rounds.selection
        departed = np.intersect1d(presence.present(now_s, index), np.flatnonzero(leaving & ~coming))
        arrived = np.intersect1d(presence.present(now_s, index + 1), np.flatnonzero(coming & ~leaving))
        ids = np.concatenate([departed, arrived])
        came = np.arange(len(ids)) >= len(departed)  # departures stand first in ids
        self._note(Changes(np.full(len(ids), now_s), ids, came), "arrival", "departure")
        self.ledger.add_to_last_round({"arrivals": len(arrived), "departures": len(departed)})
        self.departed.lose(departed)

    def _note(self, changes: Changes, came: str, left: str) -> None:
        """Record changes in small populations as events of kind `came` or `left`."""
        if len(self.world.presence.probabilities) > LISTED:
            return
        rows = zip(changes.times_s.tolist(), changes.ids.tolist(), changes.came.tolist(), strict=True)
        for time_s, device, has_come in rows:
            kind = came if has_come else left
            self.ledger.event(time_s, kind, device)
