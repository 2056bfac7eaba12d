"""Reports on channels that the server asks for before it chooses participants.

A report crosses a control channel, not the band of the model, in a format that gets through over any channel, as in
3GPP. So its price has a closed form. Devices of a cell report one after another, each on the whole uplink band at the
spectral efficiency of the most robust scheme and at full power; all reports get through. Devices do not wait for each
other, as none takes part yet.

Source of the scheme: CQI 1, QPSK at a code rate of 78/1024 (3GPP TS 38.214, Table 5.2.2.1-2).
"""

from collections.abc import Generator
from dataclasses import dataclass
from typing import Any

import numpy as np
import simpy

from edgefl.core.arrays import Ids, Ints
from edgefl.core.times import steps_begun
from edgefl.radio.drop import Drop
from edgefl.radio.link import Link
from edgefl.radio.transfers import TransferResult
from edgefl.records.statuses import REPORTED
from edgefl.server.channel_knowledge import ChannelKnowledge
from edgefl.server.choosing import Choosing
from edgefl.server.energy import spent_j
from edgefl.server.observer import Begin, EndedRound, Observer, RoundColumns
from edgefl.server.observers.battery_meter import BatteryMeter
from edgefl.server.participation import Participation, participations
from edgefl.server.roster import Roster
from edgefl.server.round_counter import RoundCounter
from edgefl.world.world import World

ROBUST_BPS_HZ = 2 * 78 / 1024


@dataclass(kw_only=True, eq=False)
class ChannelReports(Observer):
    """Asks all devices that may be chosen for reports on their channels."""

    env: simpy.Environment
    report_bits: int  # size of a report
    world: World
    link: Link
    meter: BatteryMeter | None  # None if no device has a battery
    choosing: Choosing  # which devices may be chosen
    roster: Roster  # where reports are counted with the participations of their round
    rounds: RoundCounter
    knowledge: ChannelKnowledge  # what the server knows of channels

    def __post_init__(self) -> None:
        self._bits = float(self.report_bits)
        resources = self.link.pricing.budget.resources
        self._air = resources.time_share("up")  # the share of the time that is the uplink's
        self._report_s = self._bits / (ROBUST_BPS_HZ * resources.band_hz * self._air)

    def before_choosing(
        self, index: int, count: int | None, begin: Begin, *, refill: bool
    ) -> Generator[simpy.Event, Any, None]:
        """Ask all devices that selection `index` may choose, and wait for their reports."""
        if self.rounds.key.extra or count == 0:
            return
        free = self.choosing.free(index)
        if not len(free):
            return
        parts = yield from self._ask(free, index, self.rounds.ended)
        self.roster.add_reports(parts)
        reported = np.array([part.device for part in parts if part.up.delivered], dtype=np.int64)
        self.knowledge.note_requested(reported, index)

    def round_ends(self, ended: EndedRound) -> RoundColumns:
        """Return the number of reports and their energy."""
        reports = ended.devices["status"] == REPORTED
        return {"csi_reports": int(reports.sum()), "csi_energy_j": spent_j(ended.devices, reports)}

    def run_ends(self, ended: EndedRound) -> RoundColumns:
        """See `round_ends`."""
        return self.round_ends(ended)

    def _ask(self, ids: Ids, index: int, version: int) -> Generator[simpy.Event, Any, list[Participation]]:
        """Wait until devices [n], ascending, have reported; return the cost of each, for selection `index`."""
        began_s = self.env.now
        full_power_w = self.world.scenario_tx_power_w(ids)
        parts = participations(
            world=self.world,
            link=self.link,
            ids=ids,
            tx_power_w=full_power_w,
            version=version,
            now_s=began_s,
            index=index,
        )
        sent_s = np.full(len(ids), self._report_s)
        if self.meter is not None:
            self.meter.begin_reports(ids, full_power_w, self._air)
            yield self.env.timeout(self._report_s)
            # The minimum, as a difference of two times may miss a whole report by rounding.
            sent_s = np.minimum(sent_s, self.meter.end_reports(parts, began_s, self._bits))
        turns = _turns(parts[0].drop)
        for part, turn, seconds in zip(parts, turns.tolist(), sent_s.tolist(), strict=True):
            part.report(self._transfer(seconds), began_s + turn * self._report_s)
        # The round continues with the slot after the last report.
        slot_s = self.link.radio.slot_s
        end_s = began_s + steps_begun((turns.max() + 1) * self._report_s, slot_s) * slot_s
        yield self.env.timeout(max(end_s - self.env.now, 0.0))
        return parts

    def _transfer(self, sent_s: float) -> TransferResult:
        """Return the transfer of a device that has sent for some seconds, until its report or its battery ended."""
        share = sent_s / self._report_s
        on_air_s = sent_s * self._air
        return TransferResult(sent_s, on_air_s, on_air_s, share * self._bits, delivered=share == 1.0)


def _turns(drop: Drop) -> Ints:
    """Return how many devices [n] of the same cell report before each device."""
    turns = np.empty(len(drop.ids), dtype=np.int64)
    for cell in np.unique(drop.cell):
        rows = np.flatnonzero(drop.cell == cell)
        turns[rows] = np.arange(rows.size)
    return turns
