"""The price of a transfer: shares, offers, durations, failures, and links that are hopeless."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

import channel
from channel.transfer import MAX_SLOTS
from edgefl.core.arrays import Bools, Complex, Floats, Ints, Rows
from edgefl.core.errors import RunError
from edgefl.core.global_draws import watching_draws
from edgefl.core.returns import check_array
from edgefl.core.streams import Purpose, Streams
from edgefl.core.times import steps_begun, steps_completed
from edgefl.radio.band_users import Traffic
from edgefl.radio.drop import Drop
from edgefl.radio.errors.none import NoErrors
from edgefl.radio.link_budget import LinkBudget
from edgefl.radio.participants import Participants
from edgefl.radio.radio_section import Radio
from edgefl.radio.shares import divide_bands
from edgefl.radio.slot_rates import WaveRates
from edgefl.radio.small_scale import FadingDraws
from edgefl.radio.transfers import Way
from edgefl.radio.transmission import TransmissionAttempt, TransmissionEngine
from edgefl.world.cells_section import Cells
from edgefl.world.control import BY_SCENARIO, Control
from edgefl.world.uplink_power_control import ALWAYS_FULL, UplinkPowerControl

BAND_SHARES = 0.5 ** np.arange(11)  # of a band on which a link is tried before it counts as hopeless
DOUBTFUL = 1e3  # over Rayleigh fading, from how many times the least rate on a link is good in Ricean fading too

SPARE_SLOTS = 2  # walked beyond the time at which a transfer is cut: it then ends later than that, never at it

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
        ends_s: float | None = None,
    ) -> None:
        self.radio = radio
        self._horizon_slots: int | None = None  # beyond which no slot counts
        if ends_s is not None:
            self._horizon_slots = steps_begun(ends_s, radio.slot_s) + SPARE_SLOTS
        self._streams = streams
        self.fading = FadingDraws(streams)
        self.budget = LinkBudget(radio, cells, control, power_control)
        self.traffic = Traffic(cells, streams, self.budget)
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
            until_slots: [r] where each is cut short; None: where the scenario ends those that take too long.

        A transfer whose link is hopeless ends as `radio.faults.link_failure_s` says, another one after `MAX_SLOTS`.
        """
        if until_slots is not None:
            return self._price(offer, participants, rows, until_slots)
        hopeless = np.zeros(rows.size, dtype=bool)
        if self.hopeless_slots is not None:
            hopeless = self._hopeless_on(offer, participants)[rows]
        # `fast` walks some transfers more finely if they are to be cut: a hopeless one must not change the others'.
        at_last = np.flatnonzero(hopeless)
        others = np.flatnonzero(~hopeless)
        longest_slots = self.longest_slots
        if longest_slots is None and not self.engine.estimates(participants):
            longest_slots = self._horizon_slots  # who is not through by then is cut short before anybody asks further
        priced = self._price(offer, participants, rows[others], self._limits(others.size, longest_slots))
        if not at_last.size:
            return priced
        limits = self._limits(at_last.size, self.hopeless_slots)
        failing = self._price(offer, participants, rows[at_last], limits)
        order = np.argsort(np.concatenate([others, at_last]))
        columns = zip(priced, failing, strict=True)
        return Priced(*(np.concatenate(both)[order] for both in columns))

    def _price(self, offer: Offer, participants: Participants, rows: Rows, limit_slots: Ints | None) -> Priced:
        """Price the transfers of `rows` [r], all attempts of each together within `limit_slots` [r], if it has some."""
        mean_snr = np.where(offer.payload_bits > 0, offer.mean_snr, np.inf)
        probability = self.failure_probability(mean_snr[rows], participants.drop.k_factor[rows])
        fails = self.failure_draws(offer.way, participants)[rows] < probability[:, None]
        slots = np.zeros(rows.size, dtype=np.int64)
        sent_bits = np.zeros(rows.size)
        delivered = np.zeros(rows.size, dtype=bool)
        given_up = np.zeros(rows.size, dtype=bool)
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
            # Attempts follow each other at once: the fading goes on from where the one before has left it.
            attempt = offer.attempt(participants, rows[at], number, gain[at], slots[at], left_slots)
            walk = self.engine.carry(attempt)
            slots[at] += walk.slots
            sent_bits[at] += walk.sent_bits * offer.payload_share[rows[at]]  # bits of payload again, not scaled up
            gain[at] = walk.gain
            # A failure is noticed at the end of an attempt, so it has cost as much as a success.
            complete = walk.sent_bits >= attempt.payload_bits
            delivered[at] = complete & ~fails[at, number]
            given_up[at] = ~complete
        return Priced(slots, sent_bits, delivered, gain)

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
        if not faults.failure_probability and isinstance(self.radio.errors, NoErrors):
            return np.ones((len(participants), faults.attempts))
        # Attempts take the numbers of one keyed sequence in order, those of earlier turns first: each has its own.
        count = participants.attempts_before + faults.attempts
        uniform = self._streams.uniform(FAULT[way], participants.drop.ids, participants.index, count=count)
        return uniform[:, participants.attempts_before :]

    def failure_probability(self, mean_snr: Floats, k_factor: Floats) -> Floats:
        """Return the probabilities [n] with which attempts fail, whether by `radio.faults` or by `radio.errors`.

        Args:
            mean_snr: [n] at |h|^2 = 1; infinity where nothing is sent.
            k_factor: [n] Ricean K.
        """
        model = self.radio.errors
        by_fault = self.radio.faults.failure_probability
        if isinstance(model, NoErrors):
            return np.full(mean_snr.shape, by_fault)
        sent = np.isfinite(mean_snr)  # what is empty cannot be lost on the channel
        with watching_draws(model, "failure_probability"):
            by_channel = model.failure_probability(np.where(sent, mean_snr, 1.0), k_factor)
        check_array(model, "failure_probability", by_channel, mean_snr.shape, "probabilities [n]", least=0.0, most=1.0)
        return np.asarray(by_fault + (1.0 - by_fault) * np.where(sent, by_channel, 0.0))

    def fails_by_fault(self, way: Way, participants: Participants) -> Bools:
        """Return which attempts [n, attempts] fail at their end as `radio.faults` says, whatever their channel."""
        return self.failure_draws(way, participants) < self.radio.faults.failure_probability

    @property
    def hopeless_slots(self) -> int | None:
        """The slots after which a transfer fails whose link is hopeless; None: it has no such limit."""
        hopeless_s = self.radio.faults.hopeless_s
        if hopeless_s is None:
            return None
        slots = steps_completed(hopeless_s, self.radio.slot_s)
        if self.longest_slots is not None:
            slots = min(slots, self.longest_slots)
        return min(slots, MAX_SLOTS)

    @staticmethod
    def _limits(count: int, slots: int | None) -> Ints | None:
        """Return a limit for each of some transfers; None for none."""
        if slots is None:
            return None
        return np.full(count, slots)

    def failing_slots(self, way: Way, participant: Participants, payload_bits: float) -> int | None:
        """Return after how many slots a transfer of one participant [1] fails; None if its link is not hopeless.

        Args:
            way: its direction.
            participant: its participant, with the base station that serves it.
            payload_bits: what is to be sent.
        """
        slots = self.hopeless_slots
        if slots is None or not self.hopeless(way, participant, payload_bits)[0]:
            return None
        return slots

    def hopeless(self, way: Way, participants: Participants, payload_bits: Floats | float) -> Bools:
        """Return which transfers [n] take more than `MAX_SLOTS` in the mean, even alone in their cells.

        Args:
            way: their direction.
            participants: whose transfers they are [n].
            payload_bits: what is to be sent, for all alike or [n].
        """
        # The best case: no interference, and of all shares of the band the one that carries most. That is the
        # whole band, unless the weakest scheme of a rate model needs the power to be spread over less.
        budget = self.budget
        resources = budget.resources
        slot_share = resources.time_share(way) * resources.payload_share(way) * self.radio.slot_s
        least_bps = np.broadcast_to(payload_bits, len(participants)) / (MAX_SLOTS * slot_share)
        hopeless = least_bps > 0
        for share in BAND_SHARES:
            rows = np.flatnonzero(hopeless)
            if not rows.size:
                break
            some = participants.only(rows)
            bandwidth_hz = share * resources.band_hz
            mean_snr = budget.lone_snr(way, some.drop.ids, some.drop.path_gain, some.tx_power_w, bandwidth_hz)
            hopeless[rows] = self._falls_short(mean_snr, some, np.full(rows.size, bandwidth_hz), least_bps[rows])
        return np.asarray(hopeless)

    def _hopeless_on(self, offer: Offer, participants: Participants) -> Bools:
        """Return which transfers [n] take more than `MAX_SLOTS` in the mean on their shares of an offer."""
        slot_s = self.radio.slot_s
        resources = self.budget.resources
        if resources.slot_shares(offer.way) is not None:  # a frame's other slots carry nothing of this direction
            slot_s *= resources.time_share(offer.way)
        least_bps = offer.slot_payload_bits / (MAX_SLOTS * slot_s)
        return self._falls_short(offer.mean_snr, participants, offer.bandwidth_hz, least_bps)

    def _falls_short(
        self, mean_snr: Floats, participants: Participants, bandwidth_hz: Floats, least_bps: Floats
    ) -> Bools:
        """Return where the mean rate over the fading of participants [n] is less than `least_bps` [n]."""
        efficiency = self.budget.efficiency
        if self.engine.adaptation is not None:
            mean_snr = mean_snr * self.engine.adaptation.transmissions  # at best, HARQ adds them up
        least_bps_hz = least_bps / bandwidth_hz
        mean_bps_hz = self.budget.mean_bps_hz(mean_snr)
        k_factor = participants.drop.k_factor
        # The mean over Ricean fading costs a thousand rates: most links are far from being hopeless in any fading.
        doubtful = np.flatnonzero((k_factor > 0) & (mean_bps_hz < DOUBTFUL * least_bps_hz))
        if doubtful.size:
            mean_bps_hz[doubtful] = channel.rate.mean_ricean_bps_hz(efficiency, mean_snr[doubtful], k_factor[doubtful])
        constant = np.flatnonzero(participants.constant)
        if constant.size:
            still = participants.only(constant)
            mean_bps_hz[constant] = self._still_bps_hz(mean_snr[constant], still, bandwidth_hz[constant])
        return np.asarray(mean_bps_hz < least_bps_hz)

    def _still_bps_hz(self, mean_snr: Floats, participants: Participants, bandwidth_hz: Floats) -> Floats:
        """Return the spectral efficiency [n] of channels that do not change."""
        efficiency = self.budget.efficiency
        if participants.waves is not None:
            slot_s = self.radio.slot_s
            rates = WaveRates(participants.waves, efficiency, slot_s, bandwidth_hz, mean_snr, participants.first_slot)
            rows = np.arange(len(participants))
            bits = rates.slot_bits(rows, np.zeros(rows.size, dtype=np.int64), 1)[:, 0]
            return np.asarray(bits / (bandwidth_hz * slot_s))
        # A correlation of -1 turns the sign of the scatter with each slot.
        after = participants.start * participants.correlation
        gains = channel.fading.ricean(np.stack([participants.start, after]), participants.drop.k_factor)
        return np.asarray(efficiency.bps_hz(mean_snr * np.abs(gains) ** 2).mean(axis=0))
