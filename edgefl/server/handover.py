"""Handover: devices change their base stations while they take part."""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass
from typing import Any

import numpy as np
import simpy

from edgefl.core.arrays import Floats, Ints
from edgefl.core.times import steps_begun, steps_completed
from edgefl.radio.drop import Drop
from edgefl.radio.link import Link
from edgefl.radio.roaming import RoamingCarrier
from edgefl.server.ledger import Ledger
from edgefl.server.participation import ParticipantProcess, Participation, ProcessFactory
from edgefl.world.cells_section import Handover
from edgefl.world.world import World

MEASUREMENTS_PER_SEARCH = 64  # measurements that are searched for a handover in one go


@dataclass(frozen=True)
class Roaming:
    """Hands devices over while they take part.

    The power that a device receives is a function of (device, time). So the next handover can be searched for ahead of
    the clock, many measurements at a time, and the event loop needs no event for each measurement.

    Args:
        env: the clock.
        ledger: records events.
        world: where the devices are.
        link: the radio.
        section: the section `cells.handover`.
    """

    env: simpy.Environment
    ledger: Ledger
    world: World
    link: Link
    section: Handover

    def during(self, processes: ProcessFactory, carrier: RoamingCarrier) -> ProcessFactory:
        """Return the same processes, each with handovers for as long as it lasts."""

        def roaming(part: Participation) -> ParticipantProcess:
            over = self.env.event()  # stops the search for handovers when the participation ends
            self.env.process(self._follow(part, carrier, over))
            outcome = yield from processes(part)
            over.succeed()
            return outcome

        return roaming

    def _follow(
        self, part: Participation, carrier: RoamingCarrier, over: simpy.Event
    ) -> Generator[simpy.Event, Any, None]:
        """Hand a device over whenever a measurement triggers it, until its participation is over."""
        measure_s = self.section.measure_s
        # A neighbour must have been better at this many measurements before the one that reports it.
        waited = steps_begun(self.section.time_to_trigger_s, measure_s)
        first = self._next_measurement(self.env.now)
        while True:
            measurements = first + np.arange(waited + MEASUREMENTS_PER_SEARCH)
            powers_db = self._received_db(part.device, carrier.index, measurements)
            handover = triggered(powers_db, part.serving, self.section.hysteresis_db, waited)
            last = first + len(powers_db) - 1
            if handover is not None:
                last = first + handover[0]
            # Sleep until the handover, or else until the last measurement that was searched.
            yield self.env.timeout(last * measure_s - self.env.now) | over
            if over.triggered:
                return
            if handover is None:
                first = last + 1 - waited  # the time to trigger may have begun within these measurements
            else:
                self._hand_over(part, carrier, handover[1])
                first = self._next_measurement(self.env.now + self.section.pause_s)

    def _next_measurement(self, time_s: float) -> int:
        """Return the number of the first measurement after a time."""
        return steps_completed(time_s, self.section.measure_s) + 1

    def _received_db(self, device: int, index: int, measurements: Ints) -> Floats:
        """Return the powers [t, sites] received by a device at measurements [t], relative to the power sent [dB]."""
        ids = np.array([device])
        times_s = measurements * self.section.measure_s
        positions_m = np.concatenate([self.world.positions_m(ids, time_s) for time_s in times_s.tolist()])
        repeated = np.repeat(ids, len(measurements))
        return self.link.received_db(repeated, positions_m, self.world.height_m[repeated], index)

    def _hand_over(self, part: Participation, carrier: RoamingCarrier, cell: int) -> None:
        self.ledger.event(self.env.now, "handover", part.device, cell, f"from {part.serving}")
        part.hand_over(cell)
        carrier.hand_over(part.row, self._drop(part, carrier.index))

    def _drop(self, part: Participation, index: int) -> Drop:
        """Return the large-scale channel between a device, where it is now, and the base station that serves it."""
        ids = np.array([part.device])
        positions_m = self.world.positions_m(ids, self.env.now)
        return self.link.drop(ids, positions_m, self.world.height_m[ids], index, np.array([part.serving]))


def triggered(powers_db: Floats, cell: int, hysteresis_db: float, waited: int) -> tuple[int, int] | None:
    """Return the first measurement that reports event A3 (3GPP TS 38.331, clause 5.5.4.4, no offsets), and the target.

    Args:
        powers_db: powers received from each base station at successive measurements [t, sites].
        cell: the serving cell.
        hysteresis_db: by how much a neighbour must be stronger.
        waited: number of measurements before the report at which the neighbour must have been stronger, too.

    Returns:
        The number of the measurement and the strongest cell that it reports; None if there is none.
    """
    better = powers_db > powers_db[:, cell, None] + hysteresis_db
    windows = np.lib.stride_tricks.sliding_window_view(better, waited + 1, axis=0)
    stays_better = np.asarray(windows.all(axis=-1))  # [t - waited, sites]
    reports = np.flatnonzero(stays_better.any(axis=1))
    if not reports.size:
        return None
    first = int(reports[0])
    measurement = first + waited
    candidates_db = np.where(stays_better[first], powers_db[measurement], -np.inf)
    return measurement, int(np.argmax(candidates_db))
