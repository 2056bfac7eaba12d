"""The price of a transfer: shares, durations and failures."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from edgefl.core.arrays import Bools, Complex, Floats, Ints, Rows
from edgefl.core.errors import RunError
from edgefl.core.returns import Array, called
from edgefl.core.streams import Purpose, Streams
from edgefl.core.times import steps_begun, steps_completed
from edgefl.radio.budget.band_users import Traffic
from edgefl.radio.budget.link_budget import LinkBudget
from edgefl.radio.budget.shares import divide_bands
from edgefl.radio.drop import Drop
from edgefl.radio.errors.none import NoErrors
from edgefl.radio.gains.small_scale import FadingDraws
from edgefl.radio.participants import Participants
from edgefl.radio.prices.hopeless_links import HopelessLinks
from edgefl.radio.prices.offer import Offer
from edgefl.radio.prices.transmission import TransmissionAttempt, TransmissionEngine
from edgefl.radio.radio_section import Radio
from edgefl.radio.transfers import Way
from edgefl.world.cells_section import Cells
from edgefl.world.control import BY_SCENARIO, Control
from edgefl.world.uplink_power_control import ALWAYS_FULL, UplinkPowerControl

SPARE_SLOTS = 2  # walked beyond the time at which a transfer is cut, so that it ends later, never at that time

FAULT: dict[Way, Purpose] = {"down": "fault_down", "up": "fault_up"}


class Priced(NamedTuple):
    """Prices of transfers [r], all attempts together."""

    slots: Ints  # [r]
    sent_bits: Floats  # [r] attempts that fail count, too
    delivered: Bools  # [r]
    gain: Complex  # [r] of the fading in the last slot
    first_sent: Ints  # [r] transport blocks that were sent for the first time
    first_lost: Ints  # [r] of these, the blocks that were lost then


class Pricing:
    """Prices transfers: their durations on shares of the band, and their failures."""

    def __init__(
        self,
        *,
        radio: Radio,
        cells: Cells,
        streams: Streams,
        control: Control = BY_SCENARIO,
        power_control: UplinkPowerControl = ALWAYS_FULL,
        ends_s: float | None = None,
    ) -> None:
        self.radio = radio
        self._horizon_slots: int | None = None  # beyond which no slot counts
        if ends_s is not None:
            self._horizon_slots = steps_begun(ends_s, radio.slot_s) + SPARE_SLOTS
        self._streams = streams
        self.fading = FadingDraws(streams)
        self.budget = LinkBudget(radio, cells, control, power_control, streams)
        self.traffic = Traffic(cells, streams, self.budget)
        self.engine = TransmissionEngine(self.budget, self.fading, streams)
        self.hopeless_links = HopelessLinks(self.budget, self.engine.adaptation, self.longest_slots)

    def shares(
        self, way: Way, drop: Drop, tx_power_w: Floats, payload_bits: Floats | float, index: int | None = None
    ) -> Offer:
        """Return the offer to participants [n] that all send at the same time; their bandwidth may be 0.

        Args:
            way: the direction.
            drop: their large-scale channel.
            tx_power_w: [n] their full transmit powers.
            payload_bits: of each, for all or [n].
            index: of the selection that chose them; None: drawn shares are as expected.
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
            index=None if index is None else np.full(len(drop.ids), index),
            broadcast=broadcast,
            others=self.traffic.mean_others(way),
        )
        resources = self.budget.resources
        payload_share = air * resources.payload_share(way)
        if resources.slot_shares(way) is not None:  # the walk over slots leaves out those of the other direction
            payload_share = payload_share / resources.time_share(way)
        return Offer(way, payload, bandwidth_hz, mean_snr, air, payload_share, power_share)

    def offer(self, way: Way, participants: Participants, payload_bits: Floats | float) -> Offer:
        """Return the shares of participants [n] that hold for the round.

        Raises:
            RunError: there are fewer resource blocks than participants.
        """
        offer = self.shares(way, participants.drop, participants.tx_power_w, payload_bits, participants.index)
        # A share that holds for the round must not be empty: a transfer without a block would never end.
        if not offer.bandwidth_hz.all():
            blocks = self.budget.resources.blocks
            text = f"{len(participants)} participants, but {blocks} resource blocks a cell"
            raise RunError(
                f"round {participants.index + 1}: {text}: choose fewer, or write radio.allocation: round_robin"
            )
        return offer

    def price(self, offer: Offer, participants: Participants, rows: Rows, until_slots: Ints | None = None) -> Priced:
        """Price the transfers of `rows` [r], each repeated until it gets through or its attempts are used up.

        A transfer over a hopeless link ends after `radio.faults.link_failure_s`, any other at most after `MAX_SLOTS`.

        Args:
            offer: the shares of the direction.
            participants: all participants; their fading begins with `participants.start`.
            rows: of the transfers.
            until_slots: [r] where each is cut short; None: at the limits of the scenario.
        """
        if until_slots is not None:
            return self._price(offer, participants, rows, until_slots)
        hopeless = np.zeros(rows.size, dtype=bool)
        if self.hopeless_links.failing_slots is not None:
            hopeless = self.hopeless_links.on_shares(
                offer.way, participants, offer.mean_snr, offer.bandwidth_hz, offer.slot_payload_bits
            )[rows]
        # `fast` walks some transfers more finely if they are to be cut: a hopeless one must not change the others'.
        at_last = np.flatnonzero(hopeless)
        others = np.flatnonzero(~hopeless)
        longest_slots = self.longest_slots
        if longest_slots is None and not self.engine.estimates(participants):
            longest_slots = self._horizon_slots  # transfers that take longer are cut short by then
        priced = self._price(offer, participants, rows[others], self._limits(others.size, longest_slots))
        if not at_last.size:
            return priced
        limits = self._limits(at_last.size, self.hopeless_links.failing_slots)
        failing = self._price(offer, participants, rows[at_last], limits)
        order = np.argsort(np.concatenate([others, at_last]))
        columns = zip(priced, failing, strict=True)
        return Priced(*(np.concatenate(both)[order] for both in columns))

    def _price(self, offer: Offer, participants: Participants, rows: Rows, limit_slots: Ints | None) -> Priced:
        """Price the transfers of `rows` [r], all attempts of each together within `limit_slots` [r], if it has some."""
        mean_snr = np.where(offer.payload_bits > 0, offer.mean_snr, np.inf)
        probability = self.failure_probability(offer.way, mean_snr[rows], participants.drop.k_factor[rows])
        fails = self.failure_draws(offer.way, participants)[rows] < probability[:, None]
        slots = np.zeros(rows.size, dtype=np.int64)
        sent_bits = np.zeros(rows.size)
        delivered = np.zeros(rows.size, dtype=bool)
        given_up = np.zeros(rows.size, dtype=bool)
        first_sent = np.zeros(rows.size, dtype=np.int64)
        first_lost = np.zeros(rows.size, dtype=np.int64)
        gain = participants.start[rows]
        for number in range(self.radio.faults.attempts):
            under_way = ~delivered & ~given_up
            if limit_slots is not None:
                under_way &= slots < limit_slots
            at = np.flatnonzero(under_way)
            if not at.size:
                break
            left_slots = None
            if limit_slots is not None:
                left_slots = (limit_slots - slots)[at]
            # Attempts follow each other without a pause, so the fading continues from the one before.
            row = rows[at]
            chosen = participants.only(row)
            chosen = replace(chosen, start=gain[at], first_slot=chosen.first_slot + slots[at])
            attempt = TransmissionAttempt(offer.only(row), chosen, number, left_slots)
            carried = self.engine.carry(attempt)
            slots[at] += carried.slots
            sent_bits[at] += carried.sent_bits * attempt.offer.payload_share  # bits of payload again, not scaled up
            gain[at] = carried.gain
            first_sent[at] += carried.first_sent
            first_lost[at] += carried.first_lost
            # A failure is noticed at the end of an attempt, so it costs as much as a success.
            complete = carried.sent_bits >= attempt.offer.slot_payload_bits
            delivered[at] = complete & ~fails[at, number]
            given_up[at] = ~complete
        return Priced(slots, sent_bits, delivered, gain, first_sent, first_lost)

    @property
    def longest_slots(self) -> int | None:
        """The slots that a transfer may take, all attempts together; None: as many as it needs."""
        longest_s = self.radio.faults.max_transfer_s
        if longest_s is None:
            return None
        return steps_completed(longest_s, self.radio.slot_s)  # whole slots within it: the limit is never exceeded

    def failure_draws(self, way: Way, participants: Participants) -> Floats:
        """Return the uniform draws [n, attempts] of attempts: one fails if its draw is below its probability."""
        faults = self.radio.faults
        if not faults.probability(way) and isinstance(self.radio.errors, NoErrors):
            return np.ones((len(participants), faults.attempts))
        # Attempts take the numbers of one keyed sequence in order, after those of earlier turns.
        count = participants.attempts_before + faults.attempts
        uniform = self._streams.uniform(FAULT[way], participants.drop.ids, participants.index, count=count)
        return uniform[:, participants.attempts_before :]

    def failure_probability(self, way: Way, mean_snr: Floats, k_factor: Floats) -> Floats:
        """Return the probabilities [n] that attempts fail, whether by `radio.faults` or by `radio.errors`.

        Args:
            way: the direction.
            mean_snr: [n] at |h|^2 = 1; infinity where nothing is sent.
            k_factor: [n] Ricean K.
        """
        model = self.radio.errors
        by_fault = self.radio.faults.probability(way)
        if isinstance(model, NoErrors):
            return np.full(mean_snr.shape, by_fault)
        sent = np.isfinite(mean_snr)  # an empty message cannot be lost on the channel
        must = Array(mean_snr.shape, "probabilities [n]", least=0.0, most=1.0)
        by_channel = called(model.failure_probability, must, np.where(sent, mean_snr, 1.0), k_factor)
        return np.asarray(by_fault + (1.0 - by_fault) * np.where(sent, by_channel, 0.0))

    def fails_by_fault(self, way: Way, participants: Participants) -> Bools:
        """Return which attempts [n, attempts] fail at their end by `radio.faults`, whatever their channel."""
        return self.failure_draws(way, participants) < self.radio.faults.probability(way)

    @staticmethod
    def _limits(count: int, slots: int | None) -> Ints | None:
        """Return one limit for each of `count` transfers; None: no limit."""
        if slots is None:
            return None
        return np.full(count, slots)
