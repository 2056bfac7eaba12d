"""Transfers of devices that may be handed over to other base stations meanwhile."""

from collections.abc import Generator, Mapping
from dataclasses import replace
from typing import Any

import simpy

from edgefl.core.times import steps_begun
from edgefl.radio.bands.band import Band
from edgefl.radio.bands.transfer import BandTransfer
from edgefl.radio.carriers.processor_sharing import SharedCarrier
from edgefl.radio.drop import Drop
from edgefl.radio.gains.moving import MovingChannel
from edgefl.radio.messages import Messages
from edgefl.radio.participants import Participants
from edgefl.radio.prices.pricing import Pricing
from edgefl.radio.transfers import Way
from edgefl.world.cells_section import Handover

HANDOVER_FAILED = "handover_failed"  # status of a participation whose transfer a handover drops
LINK_FAILED: dict[Way, str] = {"down": "download_failed", "up": "upload_failed"}  # the same if its link fails


class RoamingCarrier(SharedCarrier):
    """A round's transfers, each over the base station that serves its device at the time.

    Each piece between two handovers has its own draws, keyed like repeated attempts.
    """

    def __init__(
        self,
        *,
        env: simpy.Environment,
        pricing: Pricing,
        participants: Participants,
        messages: Messages,
        bands: Mapping[Way, Band],
        handover: Handover,
        moving: MovingChannel | None = None,
    ) -> None:
        super().__init__(
            env=env, pricing=pricing, participants=participants, messages=messages, bands=bands, moving=moving
        )
        self._handover = handover
        self.index = participants.index
        self._handed_over: dict[int, Participants] = {}  # [1] each, with the base station after the last handover
        self._under_way: dict[int, simpy.Event] = {}  # fires at the handover of a participant with a transfer on air
        self._lost: dict[int, simpy.Event] = {}  # of participants without a link; fires when the link is back

    def serving(self, row: int) -> Participants:
        """See SharedCarrier."""
        if row in self._handed_over:
            return self._moved(row, self._handed_over[row])
        return super().serving(row)

    def hand_over(self, row: int, drop: Drop) -> None:
        """Serve a participant from now on over the channel `drop` [1] of another base station."""
        attempts = self._pricing.radio.faults.attempts
        before = self.serving(row)
        attempts_before = before.attempts_before + attempts
        handovers = attempts_before // attempts  # so far, with this one, which takes the last draw
        waves = self._pricing.fading.waves(
            self._pricing.radio, drop, before.speed_mps, self.index, "handover_waves", handovers - 1
        )
        blocks = self._pricing.fading.blocks(self._pricing.radio, drop, before.speed_mps, self.index)
        self._handed_over[row] = replace(before, drop=drop, attempts_before=attempts_before, waves=waves, blocks=blocks)
        # The scatter around another base station is independent, and starts from a stationary draw.
        starts = self._pricing.fading.complex_normals("handover_start", drop.ids, self.index, handovers)
        self.turns.begin_with(row, starts[0, -1])
        self._cut(row)

    def lose(self, row: int) -> None:
        """Note that a participant's link has failed: nothing is sent until `regain`."""
        self._lost[row] = self._env.event()
        self._cut(row)

    def regain(self, row: int, drop: Drop) -> None:
        """Serve a participant again, over the channel `drop` [1]."""
        self.hand_over(row, drop)
        self._lost.pop(row).succeed()

    def _cut(self, row: int) -> None:
        handed_over = self._under_way.pop(row, None)
        if handed_over is not None:
            handed_over.succeed()  # `_piece` waits for it

    def carry(self, way: Way, row: int, transfer: BandTransfer) -> Generator[simpy.Event, Any, str]:
        """See SharedCarrier; through all handovers, by `cells.handover.in_transfer`."""
        band = self._bands[way]
        bits = transfer.left_bits
        try:
            if row in self._lost:  # nothing was under way, so nothing restarts or is dropped
                waited_slots = yield from self._wait_for_link(row, 0.0)
                if waited_slots is None:
                    return LINK_FAILED[way]
                self._go_on(way, row, transfer, waited_slots, bits)
            while (yield from self._piece(way, row, transfer)):
                failed = LINK_FAILED[way] if row in self._lost else HANDOVER_FAILED
                if self._handover.in_transfer == "drop":
                    return failed
                waited_slots = yield from self._wait(row)
                if waited_slots is None:
                    return failed
                self._go_on(way, row, transfer, waited_slots, bits)
        except simpy.Interrupt as cut:
            band.withdraw(transfer)
            return str(cut.cause)
        return ""

    def _wait(self, row: int) -> Generator[simpy.Event, Any, int | None]:
        """Wait while a transfer pauses; return the slots of the pause, None if the transfer has failed."""
        if row in self._lost:
            return (yield from self._wait_for_link(row, self._handover.forwarding_s))
        yield self._env.timeout(self._handover.pause_s)
        return steps_begun(self._handover.pause_s, self._pricing.radio.slot_s)

    def _wait_for_link(self, row: int, pause_s: float) -> Generator[simpy.Event, Any, int | None]:
        """Wait until a participant has a link again, and a pause; return the slots that it took, None if too long.

        Without a limit, a run with a device beyond the reach of all cells would never end.
        """
        began_s = self._env.now
        section = self._handover.radio_link_failure
        longest_s = float("inf") if section is None else section.t311_s
        back = self._lost[row]
        yield back | self._env.timeout(longest_s)
        if not back.triggered:
            return None
        yield self._env.timeout(pause_s)
        return steps_begun(self._env.now - began_s, self._pricing.radio.slot_s)

    def _go_on(self, way: Way, row: int, transfer: BandTransfer, waited_slots: int, bits: float) -> None:
        """Continue a transfer with a payload of `bits` over the present base station of its participant."""
        participant = self.serving(row)
        draws = self._pricing.fading.innovations(way, participant, transfer.attempt)
        # Slots of the pause count towards the transfer's limit, though nothing is on air.
        transfer.go_on(participant, self.turns.gain[row], draws, waited_slots)
        if self._handover.in_transfer == "restart":
            transfer.restart(bits)
        transfer.expect_failure(self._pricing.hopeless_links.fails_after(way, participant, transfer.left_bits))

    def _piece(self, way: Way, row: int, transfer: BandTransfer) -> Generator[simpy.Event, Any, bool]:
        """Carry a transfer to its end or to a handover; return whether it continues after that."""
        handed_over = self._env.event()
        self._under_way[row] = handed_over
        try:
            yield self.put_on(way, row, transfer) | handed_over
        finally:
            self._under_way.pop(row, None)
        if not handed_over.triggered:
            return False
        self._bands[way].withdraw(transfer)  # it may have ended at this very moment
        transfer.begin_fading(self.turns.gain[row])
        return not transfer.through
