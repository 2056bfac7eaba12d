"""Handover: when a device under way changes its base station."""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass
from math import ceil, floor
from typing import Any

import numpy as np
import numpy.typing as npt
import simpy

from edgefl.core.arrays import Floats
from edgefl.radio import Drop, Link, RoamingCarrier
from edgefl.server.ledger import Ledger
from edgefl.server.participation import ParticipantProcess, Participation, ProcessFactory
from edgefl.world.cells_section import Handover
from edgefl.world.world import World

LOOKED_AT = 64  # measures that are searched together
SAME = 1e-6  # of a measure: two times that near are one


@dataclass(frozen=True)
class Roaming:
    """Hands devices over during their parts.

    What a device receives is a function of (device, time), so its next handover is searched for ahead of the clock.
    """

    env: simpy.Environment
    ledger: Ledger
    world: World
    link: Link
    section: Handover

    def during(self, trip: ProcessFactory, carrier: RoamingCarrier) -> ProcessFactory:
        """Trips as they are, with handovers while they last."""

        def roaming(part: Participation) -> ParticipantProcess:
            over = self.env.event()
            self.env.process(self._follow(part, carrier, over))
            outcome = yield from trip(part)
            over.succeed()
            return outcome

        return roaming

    def _follow(
        self, part: Participation, carrier: RoamingCarrier, over: simpy.Event
    ) -> Generator[simpy.Event, Any, None]:
        """A device's handovers, until its trip is over."""
        measure_s = self.section.measure_s
        waited = ceil(self.section.time_to_trigger_s / measure_s - SAME)
        first = self._after(self.env.now)
        while True:
            powers_db = self._received_db(part.device, carrier.index, first + np.arange(waited + LOOKED_AT))
            found = triggered(powers_db, part.serving, self.section.hysteresis_db, waited)
            last = first + (len(powers_db) - 1 if found is None else found[0])
            yield self.env.timeout(last * measure_s - self.env.now) | over
            if over.triggered:
                return
            if found is None:
                first = last + 1 - waited  # a trigger may be waiting
            else:
                self._hand_over(part, carrier, found[1])
                first = self._after(self.env.now + self.section.pause_s)

    def _after(self, time_s: float) -> int:
        """The first measure after a time."""
        return floor(time_s / self.section.measure_s + SAME) + 1

    def _received_db(self, device: int, index: int, measures: npt.NDArray[np.int64]) -> Floats:
        """Powers [t, sites] that a device receives at measures [t], over what base stations send."""
        ids, times_s = np.array([device]), measures * self.section.measure_s
        positions_m = np.concatenate([self.world.positions_m(ids, time_s) for time_s in times_s.tolist()])
        ids = np.repeat(ids, len(measures))
        return self.link.received_db(ids, positions_m, self.world.height_m[ids], index)

    def _hand_over(self, part: Participation, carrier: RoamingCarrier, cell: int) -> None:
        self.ledger.event(self.env.now, "handover", part.device, cell, f"from {part.serving}")
        part.hand_over(cell)
        carrier.hand_over(part.row, self._drop(part, carrier.index))

    def _drop(self, part: Participation, index: int) -> Drop:
        """The large-scale channel of a part, where its device is now, to the base station that serves it."""
        ids = np.array([part.device])
        positions_m = self.world.positions_m(ids, self.env.now)
        return self.link.drop(ids, positions_m, self.world.height_m[ids], index, np.array([part.serving]))


def triggered(powers_db: Floats, cell: int, hysteresis_db: float, waited: int) -> tuple[int, int] | None:
    """Event A3 (3GPP TS 38.331, clause 5.5.4.4, no offsets): the first measure at which it is reported, and the target.

    Args:
        powers_db: received from each base station at successive measures [t, sites].
        cell: which of them serves the device.
        hysteresis_db: by how much more a neighbour must be received.
        waited: measures before, at all of which it must have been so, too.

    Returns:
        Measure, and the strongest of the cells that are reported then; None if there is none.
    """
    better = powers_db > powers_db[:, cell, None] + hysteresis_db
    windows = np.lib.stride_tricks.sliding_window_view(better, waited + 1, axis=0)
    held = np.asarray(windows.all(axis=-1))  # [t - waited, sites]
    reported = np.flatnonzero(held.any(axis=1))
    if not reported.size:
        return None
    measure = int(reported[0]) + waited
    return measure, int(np.argmax(np.where(held[reported[0]], powers_db[measure], -np.inf)))
