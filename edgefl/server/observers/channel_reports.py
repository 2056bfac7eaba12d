"""Reports on channels that devices are asked for before participants are chosen: their accounts."""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass
from typing import Any

import numpy as np
import simpy

from edgefl.records.statuses import REPORTED
from edgefl.server.channel_knowledge import ChannelKnowledge
from edgefl.server.choosing import Choosing
from edgefl.server.energy import spent_j
from edgefl.server.observer import Begin, EndedRound, Observer, RoundColumns
from edgefl.server.observers.channel_requests import ChannelRequests
from edgefl.server.roster import Roster
from edgefl.server.round_counter import RoundCounter


@dataclass(eq=False)
class ChannelReports(Observer):
    """Asks all devices that may be chosen for reports on their channels, which have a price."""

    requests: ChannelRequests  # how devices are asked
    choosing: Choosing  # which devices may be chosen
    roster: Roster  # where reports are counted with the participations of their round
    rounds: RoundCounter  # the round under way
    knowledge: ChannelKnowledge  # what the server knows of channels

    def before_choosing(
        self, index: int, count: int | None, begin: Begin, *, refill: bool
    ) -> Generator[simpy.Event, Any, None]:
        """Ask all devices that selection `index` may choose, and wait for their reports."""
        if self.rounds.key.extra or count == 0:
            return
        free = self.choosing.free(index)
        if not len(free):
            return
        parts = yield from self.requests.ask(free, index, self.rounds.ended)
        self.roster.add_reports(parts)
        reported = np.array([part.device for part in parts if part.up.delivered], dtype=np.int64)
        self.knowledge.note_requested(reported, index)

    def round_ends(self, ended: EndedRound) -> RoundColumns:
        """Return how many reports there were, and what they cost."""
        reports = ended.devices["status"] == REPORTED
        return {"csi_reports": int(reports.sum()), "csi_energy_j": spent_j(ended.devices, reports)}

    def run_ends(self, ended: EndedRound) -> RoundColumns:
        """Return the same of what was cut off."""
        return self.round_ends(ended)
