"""The server: the protocol of a round, where world, link, learning and ledger meet, as SimPy processes."""

from collections.abc import Generator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import simpy

from edgefl.coordination.server_view import ServerView
from edgefl.core.arrays import Ids
from edgefl.learning.payload import Payload
from edgefl.radio.link import Link
from edgefl.records.ledger import Ledger
from edgefl.records.statuses import ANSWERED, RECEIVED
from edgefl.scenario import RoundKey
from edgefl.server.accounting import RoundAccounts, device_reports
from edgefl.server.attendance import Attendance
from edgefl.server.choosing import Choosing
from edgefl.server.dispatcher import Dispatcher
from edgefl.server.observer import Observer
from edgefl.server.participant_processes import Exchange
from edgefl.server.replay import Replay
from edgefl.server.roster import Roster
from edgefl.server.round_counter import RoundCounter
from edgefl.server.stopping import Stopping
from edgefl.server.under_way import UnderWay
from edgefl.world.world import World

# The radio's draws are keyed by the index of a selection. Messages besides training count from here, so that they do
# not change the draws of the rounds.
FIRST_MESSAGE_INDEX = 2**31


class Limits(NamedTuple):
    """The limits of a run's rounds."""

    deadline_s: float  # the longest time that a round may last; inf without a deadline
    backhaul_s: float  # how long a model takes from the server to all base stations, which are sent it at once


class EndingRound(NamedTuple):
    """A round that ends after other phases, such as an evaluation of its model on devices."""

    phases: list[Generator[simpy.Event, Any, None]]  # one after the other
    merge: bool
    aggregated_s: float  # until when the server waited for updates


@dataclass(kw_only=True, eq=False)
class Server:
    """Runs the rounds of a policy, which sees it as a `Coordinator` (described in coordination.policies.base)."""

    env: simpy.Environment
    limits: Limits  # what bounds each round
    stopping: Stopping  # what ends the run before its last round
    world: World
    link: Link
    dispatcher: Dispatcher  # builds the participants' processes
    replay: Replay  # the server's side of learning
    ledger: Ledger  # records finished rounds
    rounds: RoundCounter  # counts rounds, sessions and selections
    attendance: Attendance  # which devices are present
    choosing: Choosing  # which of them take part
    roster: Roster  # participations that have ended, and which devices are busy
    under_way: UnderWay  # runs participations
    observers: Sequence[Observer]  # the optional parts of the run, in order of their columns

    def __post_init__(self) -> None:
        self._accounts = RoundAccounts(self.env, self.world, self.ledger, self.observers)
        self._messages = 0  # how often devices were sent a message besides training
        self._began_s = 0.0  # when the present round began
        self._without_effect = False  # True if the last round had no participants and took no time
        self._ending: EndingRound | None = None  # a round that has aggregated, and waits until it may end

    # What a policy may read (see Coordinator)

    @property
    def participants(self) -> int:
        return self.choosing.wanted

    @property
    def backhaul_s(self) -> float:
        return self.limits.backhaul_s

    @property
    def deadline_s(self) -> float:
        return self.limits.deadline_s

    @property
    def time_is_up(self) -> simpy.Event:
        return self.stopping.time_is_up

    @property
    def payload(self) -> Payload:
        """Return the sizes and operations of a participation."""
        return self.dispatcher.payload

    @property
    def view(self) -> ServerView:
        """Return the server's knowledge of its devices."""
        return self.choosing.view

    def received(self) -> int:
        return self.roster.received()

    # Questions of a driver from outside

    def present(self) -> Ids:
        """Return the ids of the devices that the next round would find present, ascending."""
        return self.attendance.present(self.rounds.selection + 1)

    def wait_for_device_s(self) -> float:
        """Return the seconds until the next device arrives, or is charged; 0 if presence does not depend on time.

        Raises:
            RunError: none will ever come.
        """
        return self.attendance.wait_s(self.rounds.selection + 1, any_present=False)

    def quantities(self) -> dict[str, Any]:
        """Return quantities of the whole run that no column of rounds adds up to."""
        found = self.stopping.quantities()
        for observer in self.observers:
            found |= observer.quantities()
        return found

    # Beginning a round

    def ready(self, count: int | None = None) -> Generator[simpy.Event, Any, bool]:
        yield from self._finish_round()
        while self._goes_on():
            # Presence is asked for under the index that the round's selection will have.
            index = self.rounds.selection + 1
            present = self.attendance.present(index)
            any_present = self.roster.busy > 0 or len(present) > 0
            wait_s = 0.0
            # A round without participants took no time. The next one would find the same devices: wait for an arrival.
            if not any_present or self._without_effect:
                wait_s = self.attendance.wait_s(index, any_present=any_present)
            if wait_s <= 0:
                self._begin_round(len(present))
                yield from self._before_choosing(index, count, refill=False)
                return True
            self._without_effect = False
            self.ledger.event(self.env.now, "waiting")
            yield self.env.timeout(wait_s)
        return False

    def _goes_on(self) -> bool:
        # Models are evaluated in the background. The run waits for them only if the accuracy may end it.
        self.replay.settle(wait=self.stopping.needs_tests)
        last_row = self.ledger.last_row
        if self.rounds.all_ended:
            return False
        if last_row is None or last_row["round"] < 1:  # extra rounds do not count
            return True
        return not self.stopping.holds(self.ledger)

    def _begin_round(self, present: int) -> None:
        """Begin a round while `present` devices are present."""
        self.rounds.begin_selection()
        self._began_s = self.env.now
        self.ledger.event(self.env.now, "round_start")
        for observer in self.observers:
            observer.round_begins(self.rounds.ended + 1, present)
        self.replay.enter(self.rounds.key, self.rounds.ended)
        if self.rounds.session_begins:
            self.dispatcher.begin_session()

    def _before_choosing(self, index: int, count: int | None, *, refill: bool) -> Generator[simpy.Event, Any, None]:
        """Let observers act before selection `index` chooses `count` devices, then let agents decide."""
        for observer in self.observers:
            yield from observer.before_choosing(index, count, self.under_way.begin, refill=refill)
        yield from self.choosing.decide(count, refill=refill)

    def before_refill(self, count: int) -> Generator[simpy.Event, Any, None]:
        yield from self._before_choosing(self.rounds.selection + 1, count, refill=True)

    # Participations

    def select(self, count: int | None = None, *, refill: bool = False) -> Ids:
        return self.choosing.choose(count, refill=refill)

    def dispatch(self, ids: Ids) -> list[simpy.Process]:
        self.choosing.note_sent(ids)
        number = self.rounds.ended
        if len(ids):
            held = self.dispatcher.held
            held.note(np.sort(ids), self.rounds.key, number)
            if held.redivides:
                self.replay.redivide(np.sort(ids), number)
            self.replay.send(ids, self.rounds.key)
        index = self.rounds.selection
        polled = self.roster.answered.size > 0
        processes_of = partial(self.dispatcher.processes, index=index, number=number, polled=polled)
        return self.under_way.begin(ids, processes_of, index)

    def exchange(self, ids: Ids, exchange: Exchange, *, refill: bool = False) -> list[simpy.Process]:
        """Send devices [n], ascending, messages of a driver from outside; return their processes in order.

        If they train, their updates count for the round that has begun.

        Args:
            ids: the devices; each is present.
            exchange: sizes and operations.
            refill: whether other devices have been asked to train in this round before, so that these need new draws.
        """
        if exchange.trains:
            if refill:
                self.rounds.begin_selection()
            index = self.rounds.selection
            self.choosing.note_sent(ids)
            self.replay.send(ids, self.rounds.key)
        else:
            index = FIRST_MESSAGE_INDEX + self._messages
            self._messages += 1
        return self.under_way.begin(ids, partial(self.dispatcher.exchanges, index=index, exchange=exchange), index)

    def ask(self, ids: Ids, down_bits: float, up_bits: float) -> Generator[simpy.Event, Any, Ids]:
        asked = np.intersect1d(ids, self._present_in_round())
        processes = self.exchange(asked, Exchange(down_bits, up_bits, np.zeros(len(asked)), ANSWERED))
        yield self.env.all_of(processes)
        answered = [device for device, process in zip(asked, processes, strict=True) if process.value == ANSWERED]
        return ids[np.isin(ids, np.intersect1d(answered, self._present_in_round()))]

    def _present_in_round(self) -> Ids:
        return self.attendance.present(self.rounds.selection)

    # Ending a round

    def pass_on(self) -> None:
        self.replay.pass_on(self.rounds.key)

    def aggregate(self, *, merge: bool = False) -> None:
        phases = []
        for observer in self.observers:
            phase = observer.before_round_ends(self.under_way.begin)
            if phase is not None:
                phases.append(phase)
        if phases:
            self._ending = EndingRound(phases, merge, self.env.now)
        else:
            self._end_round(self.env.now, merge=merge)

    def _finish_round(self) -> Generator[simpy.Event, Any, None]:
        if self._ending is None:
            return
        phases, merge, aggregated_s = self._ending
        self._ending = None
        for phase in phases:
            yield from phase
        self._end_round(aggregated_s, merge=merge)

    def _end_round(self, waited_until_s: float, *, merge: bool) -> None:
        """Learn from the updates that arrived until some time [s], record the round, begin to evaluate its model."""
        now_s = self.env.now
        key = self.rounds.key
        parts = self.roster.take_ended()
        arrived = [part for part in parts if part.status == RECEIVED]
        received = np.array([part.device for part in arrived], dtype=np.int64)
        learned = self.replay.learn(received, key, self.rounds.ended, merge=merge)
        ended = self._accounts.close(parts, key, merged=merge)
        row = self._accounts.row(ended, learned)
        self.choosing.close_round(device_reports(parts, ended.devices, self.replay.losses, waited_until_s))
        self._without_effect = not parts and now_s == self._began_s
        self.ledger.event(now_s, "round_end")
        number = self.ledger.close_round(row, ended.devices, traced=learned)
        for observer in self.observers:
            observer.round_recorded(self.rounds.ended + 1)
        # From here on the counter stands at the next round, which may open a session and with it another group.
        self.rounds.end_round(row["arrivals"], row["present"])
        session_ends = self.rounds.key.session > key.session
        self.replay.evaluate(key, number, last=session_ends)
        if session_ends and self._goes_on():
            for observer in self.observers:
                observer.session_changes(key.session, self.rounds.key.session)

    def close(self) -> None:
        """Add the cost of participations that were cut off after the last round to that round."""
        parts = self.roster.take_ended()
        last_row = self.ledger.last_row
        if not parts or last_row is None:
            return
        ended = self._accounts.close(parts, RoundKey(last_row["session"], last_row["round"]))
        self.ledger.add_to_last_round(self._accounts.cut_off(ended))
        self.ledger.enter_participants(ended.devices)
