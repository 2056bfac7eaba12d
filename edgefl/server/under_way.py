"""Participations from their beginning to their end."""

from collections.abc import Callable, Container, Sequence
from dataclasses import dataclass

import numpy as np
import simpy

from edgefl.core.arrays import Ids
from edgefl.radio.drop import Drop
from edgefl.radio.link import Link
from edgefl.records.ledger import Ledger
from edgefl.records.statuses import LATE, RECEIVED
from edgefl.server.dispatcher import Dispatcher
from edgefl.server.observer import Begun, Observer
from edgefl.server.participation import (
    ARRIVED,
    Meter,
    ParticipantProcess,
    Participation,
    ProcessFactory,
    participations,
)
from edgefl.server.replay import Replay
from edgefl.server.roster import Roster
from edgefl.server.round_counter import RoundCounter
from edgefl.world.world import World


@dataclass(kw_only=True, eq=False)
class UnderWay:
    """Runs participations: each device's process, and its effects on learning, the roster and observers."""

    env: simpy.Environment
    world: World
    link: Link
    dispatcher: Dispatcher  # which updates the scenario drops, and which devices have downloaded what is sent once
    replay: Replay  # learns from updates
    ledger: Ledger  # records participations that fail
    rounds: RoundCounter  # the round under way
    roster: Roster  # keeps participations that have ended
    observers: Sequence[Observer]  # what else follows participations
    lacking: Container[int] = ()  # devices that cannot hold a step of training

    def __post_init__(self) -> None:
        # A call for each participation is dear, and most observers do nothing at its end.
        self._notified = [observer for observer in self.observers if type(observer).ends is not Observer.ends]
        self._meters = [observer for observer in self.observers if isinstance(observer, Meter)]

    def begin(
        self, ids: Ids, processes_of: Callable[[Drop], ProcessFactory], index: int, link: Link | None = None
    ) -> list[simpy.Process]:
        """Begin the participations of devices [n], and return their processes in the same order.

        A device that has answered a poll continues where its answer ended.

        Args:
            ids: the devices.
            processes_of: returns the factory of their processes, given their large-scale channel by id.
            index: it keys the draws of that channel.
            link: the radio over which they take part; that of rounds if None.
        """
        if not len(ids):
            return []
        ordered = np.sort(ids)
        self.roster.ask_again(ordered, self.env.now)
        begun = participations(
            world=self.world,
            link=self.link,
            ids=ordered,
            tx_power_w=self.world.tx_power_w(ordered),
            version=self.rounds.ended,
            now_s=self.env.now,
            index=index,
            meters=self._meters,
            lacking=self.lacking,
        )
        drop = begun[0].drop
        self.roster.resume(begun)
        process_of = processes_of(drop)
        self.roster.occupy(ordered)
        # The link takes devices in order of their ids. Processes begin in the order of the selection: the
        # policy `sequential` visits devices in this order.
        part_of = {part.device: part for part in begun}
        parts = [part_of[device] for device in ids.tolist()]
        # A policy only ever waits for a process or interrupts it; it knows nothing else of a participation.
        processes = [self.env.process(self._participate(part, process_of(part))) for part in parts]
        together = Begun(parts, processes, drop, link or self.link, index)
        for observer in self.observers:
            observer.begins(together)
        return processes

    def _participate(self, part: Participation, process: ParticipantProcess) -> ParticipantProcess:
        """Run a participation to its end, record how it ended, and return its status."""
        outcome = yield from process
        status = outcome
        if outcome == RECEIVED and self.dispatcher.workload.dropped(part.device, part.version):
            status = LATE  # the update arrived, but the scenario drops what this straggler did
        part.finish(status, self.env.now, arrived=outcome in ARRIVED)
        self.roster.add(part)
        for observer in self._notified:
            observer.ends(part)
        if part.down.delivered:
            self.dispatcher.note_download(part.device)
        if status == RECEIVED:
            self.replay.submit(part)  # the device stays busy until its update has been learned from
        else:
            self.replay.lose(part.device)
            # A round that learned from an earlier update of the device may have freed it already.
            self.roster.release(part.device)
            self.ledger.event(self.env.now, status, part.device, part.serving)
        return status
