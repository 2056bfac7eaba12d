"""One transfer on a shared band, as its carrier sees it."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import simpy

from channel.transfer import Innovations
from edgefl.core.arrays import Floats
from edgefl.radio.drop import Drop
from edgefl.radio.participants import Participants
from edgefl.radio.prices.slot_rates import gains_in_time


class BandTransfer:
    """A transfer under way.

    While it is on a band, the band's clock keeps its progress (`BandRows`) and writes it back here at the end.

    Args:
        participant: its participant [1], with the base station that serves it.
        attempt: the number of the attempt, from 0.
        left_bits: the payload.
        longest_slots: the slots that it may take on any link.
        gain: the fading's gain in the slot before the first.
        draws: of the fading.
    """

    def __init__(
        self,
        *,
        participant: Participants,
        attempt: int,
        left_bits: float,
        longest_slots: int,
        gain: complex,
        draws: Innovations,
    ) -> None:
        self.attempt = attempt
        self.left_bits = left_bits
        self.sent_bits = 0.0
        self.bits_over_snr = 0.0  # the bits of each slot over its mean SNR
        self.longest_slots = longest_slots
        self.limit_slots = longest_slots
        self.slots = 0  # so far, pauses of handovers included
        self.air = 0.0  # share of the time that it is served, since the last division
        self.air_slots = 0.0  # of the time so far with the radio on
        self.full_power_slots = 0.0  # slots at full power that take as much energy
        self.band_slots = 0.0  # slots on the direction's whole band that occupy as much of it
        self.sinr_slots = 0.0  # sum over the slots with the radio on of the SNR with interference, before fading
        self.first_sent = 0  # blocks that were sent for the first time
        self.first_lost = 0  # of these, the blocks that were lost then
        self.done: simpy.Event | None = None  # fires at its end; None while it is not on the band
        self._attach(participant, gain, draws)

    def _attach(self, participant: Participants, gain: complex, draws: Innovations) -> None:
        self.participant = participant
        self.device = int(participant.drop.ids[0])
        self.cell = int(participant.drop.cell[0])
        self.path_gain = float(participant.drop.path_gain[0])
        self.all_gains: Floats = participant.drop.all_gains[0]
        self.tx_power_w = float(participant.tx_power_w[0])
        self.k_factor = float(participant.drop.k_factor[0])
        self.correlation = float(participant.correlation[0])
        self.constant = bool(participant.constant[0])
        self.gains_in_time = gains_in_time(participant)  # None where the fading is a process of slots
        self.begin_fading(gain)
        self.draws = draws

    @property
    def attempt_in_round(self) -> int:
        """The attempt's number among all of the participation in this direction, a part of its draws' key."""
        return self.participant.attempts_before + self.attempt

    @property
    def through(self) -> bool:
        """True if it is complete or at its limit."""
        return self.left_bits == 0 or self.slots >= self.limit_slots

    @property
    def gain(self) -> complex:
        """The fading's gain in the last slot, drawn only when needed if `fast` has not walked it."""
        return self._gain()

    @property
    def sent_snr(self) -> Floats:
        """The harmonic mean [1] of the mean SNRs of its shares, weighted by the bits sent; infinite at first."""
        if not self.bits_over_snr:
            return np.array([np.inf])
        return np.array([self.sent_bits / self.bits_over_snr])

    def go_on(self, participant: Participants, gain: complex, draws: Innovations, paused_slots: int) -> None:
        """Continue after a pause over the base station that now serves the device [1], with another fading."""
        self._attach(participant, gain, draws)
        self.slots += paused_slots

    def expect_failure(self, slots: int | None) -> None:
        """End after so many more slots, as the link is hopeless; None: it is not, or no longer."""
        if slots is None:
            self.limit_slots = self.longest_slots
        else:
            self.limit_slots = min(self.limit_slots, self.slots + slots)

    def note_slots(self, slots: int) -> None:
        """Note the slots taken so far."""
        self.slots = slots

    def move(self, drop: Drop) -> None:
        """Take another large-scale channel [1] to the same base station; the fading continues."""
        self.participant = replace(self.participant, drop=drop)
        self.path_gain = float(drop.path_gain[0])
        self.all_gains = drop.all_gains[0]
        self.k_factor = float(drop.k_factor[0])

    def restart(self, bits: float) -> None:
        """Send the payload again from its beginning."""
        self.left_bits = bits

    def begin_fading(self, gain: complex) -> None:
        """Take a gain as that of the last slot."""
        self._gain: Callable[[], complex] = lambda: gain

    def enter(self, done: simpy.Event) -> None:
        """Enter a band; `done` fires when the transfer is complete or at its limit."""
        self.done = done

    def leave(self) -> None:
        """Leave the band before the end."""
        self.done = None

    def switch(self, air: float) -> None:
        """Serve it for a share of the time from now on."""
        self.air = air

    def take_progress(
        self,
        left_bits: float,
        sent_bits: float,
        bits_over_snr: float,
        slots: int,
        air_slots: float,
        full_power_slots: float,
        band_slots: float,
        sinr_slots: float,
        gain: Callable[[], complex],
        first_sent: int,
        first_lost: int,
    ) -> None:
        """Take over the counts of the band's clock at the end; those of blocks add to those of other base stations."""
        self.left_bits = left_bits
        self.sent_bits = sent_bits
        self.bits_over_snr = bits_over_snr
        self.slots = slots
        self.air_slots = air_slots
        self.full_power_slots = full_power_slots
        self.band_slots = band_slots
        self.sinr_slots = sinr_slots
        self._gain = gain
        self.first_sent += first_sent
        self.first_lost += first_lost
