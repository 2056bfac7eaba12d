"""Devices evaluate a round's new model on samples of their own and answer, before the round ends.

This phase follows the updates in virtual time, as in Flower: the server sends the new model to devices once more. Each
takes part a second time, with a second row. Its cost depends on no model, so it may come before the server has learned.
"""

from collections.abc import Generator
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import simpy

from edgefl.coordination.policies.base import finish_moment
from edgefl.coordination.server_section import DeviceEvaluationSection
from edgefl.core.arrays import Ids
from edgefl.radio.link import Link
from edgefl.records.ledger import Ledger
from edgefl.records.statuses import EVALUATED, EVALUATIONS, LATE
from edgefl.server.attendance import Attendance
from edgefl.server.dispatcher import Dispatcher
from edgefl.server.energy import spent_j
from edgefl.server.observer import Begin, EndedRound, Observer, RoundColumns
from edgefl.server.participation import Participation
from edgefl.server.roster import Roster
from edgefl.server.round_counter import RoundCounter


@dataclass(kw_only=True, eq=False)
class DeviceEvaluation(Observer):
    """Lets devices evaluate the new model, waits for their answers, and counts them."""

    env: simpy.Environment
    section: DeviceEvaluationSection
    link: Link  # with separate draws
    dispatcher: Dispatcher  # builds the processes of the devices
    attendance: Attendance  # which devices are present
    rounds: RoundCounter  # the round under way
    roster: Roster  # whose update has arrived
    ledger: Ledger  # records when they begin

    def __post_init__(self) -> None:
        self._under_way = False
        self._lasted_s = 0.0  # in the present round

    def before_round_ends(self, begin: Begin) -> Generator[simpy.Event, Any, None] | None:
        """Return the evaluation of the round, if it has one."""
        key = self.rounds.key
        if key.extra or key.round % self.section.every:
            return None
        return self._evaluate(begin)

    def _evaluate(self, begin: Begin) -> Generator[simpy.Event, Any, None]:
        ids = self._devices()
        if not len(ids):
            return
        self.roster.forget_answers()  # to polls: an evaluation does not continue from them
        began_s = self.env.now
        self.ledger.event(began_s, "evaluation_start")
        self._under_way = True
        index = self.rounds.selection
        processes_of = partial(self.dispatcher.evaluation_processes, index=index, link=self.link, section=self.section)
        yield from self._wait_for(begin(ids, processes_of, index, self.link))
        self._under_way = False
        self._lasted_s = self.env.now - began_s

    def _devices(self) -> Ids:
        present = self.attendance.present(self.rounds.selection)
        if self.section.devices == "present":
            return present
        return np.intersect1d(present, self.roster.senders())

    def _wait_for(self, processes: list[simpy.Process]) -> Generator[simpy.Event, Any, None]:
        """Wait until all have ended; end those that are under way at the deadline."""
        if self.section.deadline_s is not None:
            yield self.env.all_of(processes) | self.env.timeout(self.section.deadline_s)
            yield from finish_moment(self.env)  # an answer that arrives at the deadline is in time
            for process in processes:
                if process.is_alive:
                    process.interrupt(LATE)
        yield self.env.all_of(processes)

    def ends(self, part: Participation) -> None:
        """Note that an evaluation has ended: no other participation ends meanwhile."""
        if self._under_way:
            part.end_evaluation()

    def round_ends(self, ended: EndedRound) -> RoundColumns:
        """Return the evaluation's duration, the number of answers, and the energy of all its devices."""
        status = ended.devices["status"]
        lasted_s = self._lasted_s
        self._lasted_s = 0.0
        return {
            "evaluation_s": lasted_s,
            "evaluated": int((status == EVALUATED).sum()),
            "evaluation_energy_j": spent_j(ended.devices, np.isin(status, EVALUATIONS)),
        }
