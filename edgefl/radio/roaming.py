"""Transfers of devices that are handed over to other base stations while they last."""

from __future__ import annotations

from collections.abc import Generator, Mapping
from dataclasses import replace
from typing import Any

import simpy

from edgefl.core.times import steps_begun
from edgefl.radio.band import Band
from edgefl.radio.band_transfer import BandTransfer
from edgefl.radio.drop import Drop
from edgefl.radio.messages import Messages
from edgefl.radio.moving import MovingChannel
from edgefl.radio.participants import Participants
from edgefl.radio.pricing import Pricing
from edgefl.radio.processor_sharing import SharedCarrier
from edgefl.radio.transfers import Way
from edgefl.world.cells_section import Handover

HANDOVER_FAILED = "handover_failed"  # status of a participation whose transfer a handover drops


class RoamingCarrier(SharedCarrier):
    """A round's transfers, each over the base station that serves its device at the time.

    Each piece between two handovers has draws of its own: their keys count on as those of further attempts.
    """

    def __init__(
        self,
        env: simpy.Environment,
        pricing: Pricing,
        participants: Participants,
        messages: Messages,
        bands: Mapping[Way, Band],
        handover: Handover,
        moving: MovingChannel | None = None,
    ) -> None:
        super().__init__(env, pricing, participants, messages, bands, moving)
        self._handover = handover
        self.index = participants.index
        self._handed_over: dict[int, Participants] = {}  # [1] each, with the base station after the last handover
        self._under_way: dict[int, simpy.Event] = {}  # fires at a handover of a participant whose transfer is on air

    def serving(self, row: int) -> Participants:
        """See SharedCarrier."""
        if row in self._handed_over:
            return self._moved(row, self._handed_over[row])
        return super().serving(row)

    def hand_over(self, row: int, drop: Drop) -> None:
        """Serve a participant from now on over the channel `drop` [1], whose fading is that of another base station."""
        attempts = self._pricing.radio.faults.attempts
        before = self.serving(row)
        attempts_before = before.attempts_before + attempts
        handovers = attempts_before // attempts  # so far, this one included: it takes the last of that many draws
        waves = self._pricing.fading.waves(
            self._pricing.radio, drop, before.speed_mps, self.index, "handover_waves", handovers - 1
        )
        self._handed_over[row] = replace(before, drop=drop, attempts_before=attempts_before, waves=waves)
        # Scatter around another base station: its fading is independent, and starts from a stationary draw.
        starts = self._pricing.fading.complex_normals("handover_start", drop.ids, self.index, handovers)
        self.gain[row] = starts[0, -1]
        handed_over = self._under_way.pop(row, None)
        if handed_over is not None:
            handed_over.succeed()  # `_piece` waits for it, and cuts the transfer there

    def carry(self, way: Way, row: int, transfer: BandTransfer) -> Generator[simpy.Event, Any, str]:
        """See SharedCarrier; through all handovers, as `cells.handover.in_transfer` says."""
        band = self._bands[way]
        bits = transfer.left_bits
        pause_s = self._handover.pause_s
        pause_slots = steps_begun(pause_s, self._pricing.radio.slot_s)
        try:
            while (yield from self._piece(way, row, transfer)):
                if self._handover.in_transfer == "drop":
                    return HANDOVER_FAILED
                yield self._env.timeout(pause_s)
                participant = self.serving(row)
                draws = self._pricing.fading.innovations(way, participant, transfer.attempt)
                # Slots of the pause count towards the transfer's limit, though nothing is on air in them.
                transfer.go_on(participant, self.gain[row], draws, pause_slots)
                if self._handover.in_transfer == "restart":
                    transfer.restart(bits)
                transfer.expect_failure(self._pricing.failing_slots(way, participant, transfer.left_bits))
        except simpy.Interrupt as cut:
            band.withdraw(transfer)
            return str(cut.cause)
        return ""

    def _piece(self, way: Way, row: int, transfer: BandTransfer) -> Generator[simpy.Event, Any, bool]:
        """Carry a transfer to its end or to a handover; return whether it has to go on after that."""
        handed_over = self._env.event()
        self._under_way[row] = handed_over
        try:
            yield self.put_on(way, row, transfer) | handed_over
        finally:
            self._under_way.pop(row, None)
        if not handed_over.triggered:
            return False
        self._bands[way].withdraw(transfer)  # it may have ended at this very moment
        transfer.begin_fading(self.gain[row])
        return not transfer.through
