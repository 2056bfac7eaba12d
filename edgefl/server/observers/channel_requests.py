"""Reports on channels that the server asks for before it chooses participants: what they take, and what they cost.

A report crosses a control channel, not the band of the model: in 3GPP, too, it is sent in a format that gets through
over any channel, as nobody knows the channel yet. So its price has a closed form. Devices of a cell report one after
another, each on the whole uplink band at the spectral efficiency of the most robust scheme and at full power; all
reports get through. Devices do not wait for each other: nobody takes part yet.

Source of the scheme: CQI 1, QPSK at a code rate of 78/1024 (3GPP TS 38.214, Table 5.2.2.1-2).
"""

from __future__ import annotations

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
from edgefl.server.observers.battery_meter import BatteryMeter
from edgefl.server.participation import Participation, participations
from edgefl.world.world import World

ROBUST_BPS_HZ = 2 * 78 / 1024


@dataclass(eq=False)
class ChannelRequests:
    """Asks devices for reports on their channels."""

    env: simpy.Environment  # the clock
    report_bits: int  # size of a report
    world: World  # the devices
    link: Link  # the radio
    meter: BatteryMeter | None  # meters what devices with batteries draw; None if no device has one

    def __post_init__(self) -> None:
        self._bits = float(self.report_bits)
        resources = self.link.pricing.budget.resources
        self._air = resources.time_share("up")  # the share of the time that is the uplink's
        self._report_s = self._bits / (ROBUST_BPS_HZ * resources.band_hz * self._air)

    def ask(self, ids: Ids, index: int, version: int) -> Generator[simpy.Event, Any, list[Participation]]:
        """Wait until devices [n] have reported; return what it has cost each of them.

        Args:
            ids: the devices, ascending.
            index: of the selection that may choose them; it keys the draws of their channel.
            version: the number of aggregations before.
        """
        began_s = self.env.now
        world = self.world
        positions_m = world.positions_m(ids, began_s)
        drop = self.link.drop(ids, positions_m, world.height_m[ids], index)
        full_power_w = world.scenario_tx_power_w(ids)
        parts = participations(drop, positions_m, version, began_s, world.cpu_hz[ids], full_power_w)
        sent_s = np.full(len(ids), self._report_s)
        if self.meter is not None:
            self.meter.begin_reports(ids, full_power_w, self._air)
            yield self.env.timeout(self._report_s)
            # A difference of two times of the clock would be a rounding away from a whole report.
            sent_s = np.minimum(sent_s, self.meter.end_reports(parts, began_s, self._bits))
        turns = _turns(drop)
        for part, turn, seconds in zip(parts, turns.tolist(), sent_s.tolist(), strict=True):
            part.report(self._transfer(seconds), began_s + turn * self._report_s)
        # The round goes on with the slot after the last report.
        slot_s = self.link.radio.slot_s
        end_s = began_s + steps_begun((turns.max() + 1) * self._report_s, slot_s) * slot_s
        yield self.env.timeout(max(end_s - self.env.now, 0.0))
        return parts

    def _transfer(self, sent_s: float) -> TransferResult:
        """Return what a device has sent in some seconds, which are less than a report takes if its battery runs out."""
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
