"""The price of a transfer: shares, offers, durations, failures, and links that are hopeless."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from channel.transfer import MAX_SLOTS
from edgefl.core.arrays import Bools, Complex, Floats, Ints, Rows
from edgefl.core.errors import RunError
from edgefl.core.streams import Purpose, Streams
from edgefl.core.times import steps_completed
from edgefl.radio.drop import Drop
from edgefl.radio.link_budget import LinkBudget
from edgefl.radio.participants import Participants
from edgefl.radio.radio_section import Radio
from edgefl.radio.shares import divide_bands
from edgefl.radio.small_scale import FadingDraws
from edgefl.radio.transfers import Way, remedy
from edgefl.radio.transmission import TransmissionAttempt, TransmissionEngine
from edgefl.world.cells_section import Cells
from edgefl.world.control import BY_SCENARIO, Control
from edgefl.world.uplink_power_control import ALWAYS_FULL, UplinkPowerControl

FAULT: dict[Way, Purpose] = {"down": "fault_down", "up": "fault_up"}


@dataclass(frozen=True)
class Offer:
    """Payloads of participants [n] in one direction of a round, and their shares of the band."""

    way: Way
    payload_bits: Floats  # [n]
    bandwidth_hz: Floats  # [n]
    mean_snr: Floats  # [n] at |h|^2 = 1
    air: Floats  # [n] share of the time in which each is served: its turns, in the frame's direction
    payload_share: Floats  # [n] of time and resources that carries its payload: what control leaves of `air`
    power_share: Floats  # [n] of the transmitter's full power that is sent while each is served

    def only(self, rows: Rows, payload_bits: Floats) -> Offer:
        """Return the offer of the participants `rows` [r] for payloads of `payload_bits` [r]."""
        return replace(
            self,
            payload_bits=payload_bits,
            bandwidth_hz=self.bandwidth_hz[rows],
            mean_snr=self.mean_snr[rows],
            air=self.air[rows],
            payload_share=self.payload_share[rows],
            power_share=self.power_share[rows],
        )

    @property
    def slot_payload_bits(self) -> Floats:
        """Payloads [n] scaled up as if all slots carried nothing else."""
        # Control and other turns take their share of every slot. To scale the payload up is to scale the rate down,
        # and leaves the fading, which goes on meanwhile, its slots.
        return self.payload_bits / self.payload_share

    def attempt(
        self,
        participants: Participants,
        rows: Rows,
        number: int,
        start: Complex,
        begun_slots: Ints,
        limit_slots: Ints | None,
    ) -> TransmissionAttempt:
        """Return one attempt of the transfers of `rows` [r], whose fading begins with `start` [r], after some slots."""
        chosen = participants.only(rows)
        return TransmissionAttempt(
            way=self.way,
            participants=replace(chosen, start=start, first_slot=chosen.first_slot + begun_slots),
            number=number,
            payload_bits=self.slot_payload_bits[rows],
            mean_snr=self.mean_snr[rows],
            bandwidth_hz=self.bandwidth_hz[rows],
            limit_slots=limit_slots,
        )


class Priced(NamedTuple):
    """Prices of transfers [r], all attempts together."""

    slots: Ints  # [r]
    sent_bits: Floats  # [r] attempts that fail count, too
    delivered: Bools  # [r]
    gain: Complex  # [r] of the fading in the last slot


class Pricing:
    """Prices transfers: how long they take on their shares of the band, and whether they get through."""

    def __init__(
        self,
        radio: Radio,
        cells: Cells,
        streams: Streams,
        control: Control = BY_SCENARIO,
        power_control: UplinkPowerControl = ALWAYS_FULL,
    ) -> None:
        self.radio = radio
        self._streams = streams
        self.fading = FadingDraws(streams)
        self.budget = LinkBudget(radio, cells, control, power_control)
        self.engine = TransmissionEngine(self.budget, self.fading, streams)

    def shares(self, way: Way, drop: Drop, tx_power_w: Floats, payload_bits: Floats | float) -> Offer:
        """Return the offer to participants [n] who all send at once; their bandwidth may be 0.

        Args:
            way: the direction.
            drop: their large-scale channel.
            tx_power_w: [n] their full transmit powers.
            payload_bits: what each wants to send, for all alike or [n].
        """
        payload = np.full(len(drop.ids), payload_bits)
        broadcast = way == "down" and self.radio.downlink == "broadcast"
        bandwidth_hz, air, mean_snr, power_share = divide_bands(
            self.budget,
            way,
            drop.ids,
            drop.cell,
            drop.path_gain,
            drop.all_gains,
            tx_power_w,
            payload,
            broadcast=broadcast,
        )
        payload_share = air * self.budget.resources.payload_share(way)
        return Offer(way, payload, bandwidth_hz, mean_snr, air, payload_share, power_share)

    def offer(self, way: Way, participants: Participants, payload_bits: Floats | float) -> Offer:
        """Return the shares of participants [n] that hold for the round.

        Raises:
            RunError: there are fewer resource blocks than participants.
        """
        offer = self.shares(way, participants.drop, participants.tx_power_w, payload_bits)
        # A share that holds for the round must carry something: a transfer without a block would never end.
        if not offer.bandwidth_hz.all():
            blocks = self.budget.resources.blocks
            text = f"{len(participants)} participants, but {blocks} resource blocks a cell"
            raise RunError(
                f"round {participants.index + 1}: {text}: choose fewer, or write radio.allocation: round_robin"
            )
        return offer

    def price(self, offer: Offer, participants: Participants, rows: Rows, until_slots: Ints | None = None) -> Priced:
        """Price the transfers of `rows` [r], each repeated until it gets through or its attempts are used up.

        Args:
            offer: what the direction offers.
            participants: all participants; their fading begins with `participants.start`.
            rows: whose transfers to price.
            until_slots: [r] where each is cut short; None: only at the scenario's longest time, if it has one.

        Raises:
            RunError: a link is too weak for its payload, and nothing limits its time.
        """
        limit_slots = until_slots
        if limit_slots is None and self.longest_slots is not None:
            limit_slots = np.full(rows.size, self.longest_slots)
        fails = self.fails(offer.way, participants)[rows]
        slots = np.zeros(rows.size, dtype=np.int64)
        sent_bits = np.zeros(rows.size)
        delivered = np.zeros(rows.size, dtype=bool)
        gain = participants.start[rows]
        for number in range(self.radio.faults.attempts):
            under_way = ~delivered
            if limit_slots is not None:
                under_way &= slots < limit_slots
            at = np.flatnonzero(under_way)
            if not at.size:
                break
            left_slots = None
            if limit_slots is not None:
                left_slots = (limit_slots - slots)[at]
            # Attempts follow each other at once: the fading goes on from where the one before has left it.
            attempt = offer.attempt(participants, rows[at], number, gain[at], slots[at], left_slots)
            walk = self.engine.carry(attempt)
            slots[at] += walk.slots
            sent_bits[at] += walk.sent_bits * offer.payload_share[rows[at]]  # bits of payload again, not scaled up
            gain[at] = walk.gain
            # A failure is noticed at the end of an attempt, so it has cost as much as a success.
            complete = walk.sent_bits >= attempt.payload_bits
            delivered[at] = complete & ~fails[at, number]
        return Priced(slots, sent_bits, delivered, gain)

    @property
    def longest_slots(self) -> int | None:
        """The slots that a transfer may take, all attempts together; None: as many as it needs."""
        longest_s = self.radio.faults.max_transfer_s
        if longest_s is None:
            return None
        return steps_completed(longest_s, self.radio.slot_s)  # whole slots within it: the limit is never exceeded

    def fails(self, way: Way, participants: Participants) -> Bools:
        """Return which attempts [n, attempts] fail at their end."""
        faults = self.radio.faults
        if not faults.failure_probability:
            return np.zeros((len(participants), faults.attempts), dtype=bool)
        # Attempts take the numbers of one keyed sequence in order, those of earlier turns first: each has its own.
        count = participants.attempts_before + faults.attempts
        uniform = self._streams.uniform(FAULT[way], participants.drop.ids, participants.index, count=count)
        return uniform[:, participants.attempts_before :] < faults.failure_probability

    def refuse_hopeless(self, way: Way, participant: Participants, payload_bits: float) -> None:
        """Refuse a transfer that nothing would ever end.

        Args:
            way: its direction.
            participant: its participant [1].
            payload_bits: what is to be sent.

        Raises:
            RunError: the link is too weak for the payload, and nothing limits its time.
        """
        # A scenario that limits the time wants such transfers to fail, not to be refused.
        if self.longest_slots is None and self.hopeless(way, participant, payload_bits):
            raise self.too_long(way, participant)

    def hopeless(self, way: Way, participant: Participants, payload_bits: float) -> bool:
        """Return whether a transfer of one participant [1] takes more than `MAX_SLOTS` in the mean, alone on the band.

        Without this check a shared band would walk through all `MAX_SLOTS` slots of fading before it fails.
        """
        # The mean over Rayleigh fading says nothing about a line of sight, nor about a channel that does not change.
        unchanging = abs(participant.correlation[0]) == 1.0
        if participant.drop.k_factor[0] > 0 or unchanging:
            return False
        # The best case: the whole band, and no interference (0.0).
        budget = self.budget
        resources = budget.resources
        drop = participant.drop
        mean_snr = budget.whole_band_snr(way, drop.ids, drop.path_gain, participant.tx_power_w)
        payload_share = resources.time_share(way) * resources.payload_share(way)
        mean_bps_hz = float(budget.mean_bps_hz(mean_snr)[0])
        slot_bits = resources.band_hz * payload_share * self.radio.slot_s * mean_bps_hz
        return payload_bits > slot_bits * MAX_SLOTS

    def too_long(self, way: Way, participant: Participants) -> RunError:
        """Return the error of a transfer of one participant [1] that does not end."""
        device = int(participant.drop.ids[0])
        transfer = "download" if way == "down" else "upload"
        text = f"device {device}'s {transfer} needs more than {MAX_SLOTS} slots"
        return RunError(f"round {participant.index + 1}: {text}: {remedy(way)}")
