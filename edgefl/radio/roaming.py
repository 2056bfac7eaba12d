"""Transfers of devices that are handed over to other base stations while they last."""

from __future__ import annotations

from collections.abc import Generator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import simpy

from edgefl.radio.band import Band, Transfer
from edgefl.radio.carrier import Bits, Participants, Way, slots_begun
from edgefl.radio.large_scale import Drop
from edgefl.radio.shared import SharedCarrier
from edgefl.world.cells_section import Handover

if TYPE_CHECKING:
    from edgefl.radio.link import Link

HANDOVER_FAILED = "handover_failed"  # how a part ends whose transfer a handover drops


class RoamingCarrier(SharedCarrier):
    """A round's transfers, each over the base station that serves its device at the time.

    Each piece between two handovers has draws of its own: their keys count on as those of further attempts.
    """

    def __init__(
        self,
        env: simpy.Environment,
        link: Link,
        who: Participants,
        bits: Bits,
        bands: Mapping[Way, Band],
        handover: Handover,
    ) -> None:
        super().__init__(env, link, who, bits, bands)
        self.handover, self.index = handover, who.index
        self._served: dict[int, Participants] = {}  # [1] each, of those that were handed over
        self._under_way: dict[int, simpy.Event] = {}  # of the transfers; fires at a handover

    def serving(self, row: int) -> tuple[Participants, int]:
        """See SharedCarrier."""
        return (self._served[row], 0) if row in self._served else (self._who, row)

    def hand_over(self, row: int, drop: Drop) -> None:
        """Serve a participant from now on as `drop` [1] says; the fading of its new base station is another one."""
        attempts, before = self._link.radio.faults.attempts, self.serving(row)[0].attempts_before
        who = replace(self._who.only(np.array([row])), drop=drop, attempts_before=before + attempts)
        count = who.attempts_before // attempts
        self.gain[row] = self._link.complex_normals("handover_start", drop.ids, self.index, count)[0, -1]
        self._served[row] = who
        if (moved := self._under_way.pop(row, None)) is not None:
            moved.succeed()

    def carry(self, way: Way, row: int, transfer: Transfer) -> Generator[simpy.Event, Any, str]:
        """See SharedCarrier; through all handovers, as `cells.handover.in_transfer` says."""
        band, handover, bits = self._bands[way], self.handover, transfer.left_bits
        try:
            while (yield from self._piece(band, row, transfer)):
                if handover.in_transfer == "drop":
                    return HANDOVER_FAILED
                yield self._env.timeout(handover.pause_s)
                who, at = self.serving(row)
                draws = self._link.engine.innovations(way, who, np.array([at]), transfer.attempt)
                transfer.go_on(who, self.gain[row], draws, slots_begun(handover.pause_s, self._link.radio.slot_s))
                if handover.in_transfer == "restart":
                    transfer.left_bits = bits
        except simpy.Interrupt as cut:
            band.withdraw(transfer)
            return str(cut.cause)
        return ""

    def _piece(self, band: Band, row: int, transfer: Transfer) -> Generator[simpy.Event, Any, bool]:
        """A transfer up to its end or to a handover; whether it has to go on after that."""
        moved = self._under_way[row] = self._env.event()
        try:
            yield band.send(transfer) | moved
        finally:
            self._under_way.pop(row, None)
        if not moved.triggered:
            return False
        band.withdraw(transfer)  # which may have ended at this very moment
        transfer.gain = self.gain[row]
        return not transfer.through
