"""The transmission engines, which return the slots of one attempt of each transfer.

`radio.transfer: slots` walks the fading slot by slot; `fast` draws the number of slots from its distribution.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

import channel
from channel import link_columns, link_race
from channel.link_adaptation import LinkAdaptation
from channel.rate import SHANNON
from channel.transfer import MAX_SLOTS, Walk
from edgefl.core.arrays import Bools, Complex, Floats, Ids, Ints, Rows
from edgefl.core.streams import Purpose, Streams
from edgefl.core.times import SAME_STEP
from edgefl.radio.budget.link_budget import LinkBudget
from edgefl.radio.gains.small_scale import INNOVATIONS, FadingDraws
from edgefl.radio.participants import Participants
from edgefl.radio.prices.fast_draws import NORMALS, FastDraws, gains_afterwards
from edgefl.radio.prices.offer import Offer
from edgefl.radio.prices.slot_rates import FramedRates, ProcessRates, RatesInTime, rates_in_time
from edgefl.radio.transfers import Way

BLOCKS: dict[Way, Purpose] = {"down": "blocks_down", "up": "blocks_up"}
BLOCKS_AT_ONCE = 4096  # slots in one call of link adaptation; does not change a result
FAST: dict[Way, Purpose] = {"down": "fast_down", "up": "fast_up"}
FAST_LATER: dict[Way, Purpose] = {"down": "fast_down_later", "up": "fast_up_later"}
ATTEMPT_BITS = 32  # an attempt's number stands above its device's in the key of a draw
NOTICEABLE_S = 2.0  # wall-clock of walking after which the engine counts what `fast` would have saved
TINY_BITS = 1e-300  # keeps a quotient finite where a slot carries nothing
ALL_SLOTS = np.ones(1)  # a period of one slot, which belongs to both directions


@dataclass(frozen=True)
class TransmissionAttempt:
    """One attempt of the transfers [r] of some participants, in one direction."""

    offer: Offer  # [r]
    participants: Participants  # [r]; their fading starts with `participants.start`
    number: int  # of the attempt, from 0
    limit_slots: Ints | None  # [r] where each is cut short; None: nowhere

    def only(self, rows: Rows) -> TransmissionAttempt:
        """Return the attempt of the transfers `rows`."""
        limit_slots = self.limit_slots
        if limit_slots is not None:
            limit_slots = limit_slots[rows]
        return TransmissionAttempt(self.offer.only(rows), self.participants.only(rows), self.number, limit_slots)


class Carried(NamedTuple):
    """The course of one attempt of the transfers [r]."""

    slots: Ints
    sent_bits: Floats
    gain: Complex  # of the fading in the last slot
    first_sent: Ints  # transport blocks that were sent for the first time; 0 without link adaptation
    first_lost: Ints  # of these, the blocks that were lost then


class TransmissionEngine:
    """Carries attempts by `slots` or by `fast`, and measures the cost of walking."""

    def __init__(self, budget: LinkBudget, fading: FadingDraws, streams: Streams) -> None:
        self.budget = budget
        self._fading = fading
        self._streams = streams
        self._slot_s = budget.radio.slot_s
        self.fast = budget.radio.transfer == "fast"
        self.adaptation = budget.adaptation
        self._walking_s = 0.0  # wall-clock
        self.needless_s = 0.0  # wall-clock of slots that `fast` would not walk

    def estimates(self, participants: Participants) -> bool:
        """Return whether `fast` is set and can estimate these transfers: it cannot with block fading."""
        return self.fast and participants.blocks is None

    def fast_draws(self, way: Way, ids: Ids, index: Ints, attempt: Ints) -> FastDraws:
        """Return the draws of `fast` for attempts [n]: their durations, and the gains afterwards."""

        def draw() -> Floats:
            position = NORMALS * attempt[:, None] + np.arange(NORMALS)
            return self._streams.normal_at(FAST[way], ids[:, None], index[:, None], position)

        return FastDraws(draw)

    def later_normals(self, way: Way, ids: Ids, index: Ints, attempt: Ints, epoch: Ints) -> Floats:
        """Return the draws [n] of `fast` for the rest of attempts after a division of the band, by epochs from 1."""
        attempts = ids + (attempt << ATTEMPT_BITS)
        return self._streams.normal_at(FAST_LATER[way], attempts, index, epoch - 1)

    def carry(self, attempt: TransmissionAttempt) -> Carried:
        """Return the course of an attempt; without a limit it takes at most `MAX_SLOTS`."""
        if self.adaptation is not None:
            return self._walk_blocks(attempt, self.adaptation)
        if self.estimates(attempt.participants):
            walk = self._estimate(attempt)
        else:
            began = time.perf_counter()
            walk = self._walk(attempt)
            self._count(attempt, walk.slots, time.perf_counter() - began)
        no_blocks = np.zeros(len(attempt.participants), dtype=np.int64)
        return Carried(*walk, no_blocks, no_blocks)

    def count_needless(self, wall_s: float) -> None:
        """Add to the wall-clock that `transfer: fast` would have saved."""
        if not self.fast and self.adaptation is None:  # `fast` knows no link adaptation
            self.needless_s += wall_s

    def _walk(self, attempt: TransmissionAttempt) -> Walk:
        participants = attempt.participants
        if participants.in_time or self.budget.resources.slot_shares(attempt.offer.way) is not None:
            return self._walk_given(attempt)
        draws = self._fading.innovations(attempt.offer.way, participants, attempt.number)
        rest = (self.budget.efficiency, participants.drop.k_factor)
        limit_slots: Ints | int = MAX_SLOTS
        if attempt.limit_slots is not None:
            limit_slots = attempt.limit_slots
        return channel.transfer.walk_until(limit_slots, *self._arguments(attempt), draws, participants.start, *rest)

    def block_table(
        self, way: Way, ids: Sequence[int], indices: Sequence[int], attempts: Sequence[int], start: Complex
    ) -> link_race.Table | None:
        """Return the processes of transport blocks of attempts [n] before their first slots.

        Args:
            way: their direction.
            ids: [n] the devices.
            indices: [n] of the selections that chose them.
            attempts: [n] numbers among all attempts of the participation in this direction.
            start: [n] the fading's gains in the slots before.

        Returns:
            The table; None without link adaptation.
        """
        if self.adaptation is None:
            return None
        keys = list(zip(ids, indices, attempts, strict=True))
        fading_seeds = [self._streams.sequence_seed(INNOVATIONS[way], *key) for key in keys]
        block_seeds = [self._streams.sequence_seed(BLOCKS[way], *key) for key in keys]
        return link_race.begin(self.adaptation, start, fading_seeds, block_seeds)

    def _walk_blocks(self, attempt: TransmissionAttempt, adaptation: LinkAdaptation) -> Carried:
        """Carry an attempt slot by slot, each with a block of a scheme that is adapted to the link."""
        participants = attempt.participants
        offer = attempt.offer
        count = len(participants)
        indices = [participants.index] * count
        numbers = [participants.attempts_before + attempt.number] * count
        table = self.block_table(offer.way, participants.drop.ids.tolist(), indices, numbers, participants.start)
        assert table is not None  # noqa: S101 - there is link adaptation
        slot_hz_s = offer.bandwidth_hz * self._slot_s
        payload_bits = offer.slot_payload_bits
        links = link_race.links(
            participants.correlation, participants.drop.k_factor, offer.mean_snr, slot_hz_s, payload_bits
        )
        rates = rates_in_time(participants, SHANNON, self._slot_s, offer.bandwidth_hz, offer.mean_snr)
        sources = np.where(participants.constant, link_columns.CONSTANT, link_columns.PROCESS)
        if rates is not None:
            sources[:] = link_columns.GIVEN
        slots = np.zeros(count, dtype=np.int64)
        for row in range(count):
            of_row = slice(row, row + 1)
            one = table.only(row)
            limit_slots = MAX_SLOTS if attempt.limit_slots is None else int(attempt.limit_slots[row])
            while one.state[0, link_columns.BITS] < payload_bits[row] and slots[row] < limit_slots:
                ahead = min(BLOCKS_AT_ONCE, limit_slots - int(slots[row]))
                given = None
                if rates is not None:
                    bits = rates.slot_bits(np.array([row]), slots[of_row], ahead)
                    given = effective_snr(bits / slot_hz_s[row])
                slots[row] += link_race.race(adaptation, one, links[of_row], sources[of_row], ahead, given)
        gain = participants.start.copy()
        if rates is None:
            gain = link_race.last_gains(table)
        first_sent = table.state[:, link_columns.FIRST_SENT].astype(np.int64)
        first_lost = table.state[:, link_columns.FIRST_LOST].astype(np.int64)
        sent_bits = np.minimum(table.state[:, link_columns.BITS], payload_bits)
        return Carried(slots, sent_bits, gain, first_sent, first_lost)

    def _walk_given(self, attempt: TransmissionAttempt) -> Walk:
        """Carry an attempt over slots with given bits: fading in time, or a frame's direction."""
        participants = attempt.participants
        limit_slots = attempt.limit_slots
        if limit_slots is None:
            limit_slots = np.full(len(participants), MAX_SLOTS)
        payload_bits = attempt.offer.slot_payload_bits
        source = self._source(attempt)
        shares = self.budget.resources.slot_shares(attempt.offer.way)
        framed = FramedRates(source.slot_bits, ALL_SLOTS if shares is None else shares, participants.first_slot)
        mean_slot_bits = attempt.offer.bandwidth_hz * self._slot_s * self.budget.mean_bps_hz(attempt.offer.mean_snr)
        expected_slots = payload_bits / np.maximum(mean_slot_bits * framed.shares.mean(), TINY_BITS)
        # On a constant channel all periods are alike and need no walk.
        still = participants.constant
        walked_bits = np.where(still, 0.0, payload_bits)
        slots, sent_bits = channel.given_slots.passage(walked_bits, limit_slots, framed.slot_bits, expected_slots)
        for row in np.flatnonzero(still).tolist():
            slot_bits = float(source.slot_bits(np.array([row]), np.zeros(1, dtype=np.int64), 1)[0, 0])
            period_bits = framed.period_bits(row, slot_bits)
            slots[row], sent_bits[row] = channel.given_slots.periodic_passage(
                payload_bits[row], limit_slots[row], period_bits
            )
        if not isinstance(source, ProcessRates):
            return Walk(slots, sent_bits, participants.start)
        gain = np.asarray(participants.start * participants.correlation**slots)  # of channels that never change
        for row in np.flatnonzero(~still).tolist():
            gain[row] = source.gain(row, int(slots[row]))
        return Walk(slots, sent_bits, gain)

    def _source(self, attempt: TransmissionAttempt) -> RatesInTime | ProcessRates:
        """Return the rates of the slots of an attempt, before the frame leaves out those of the other direction."""
        participants = attempt.participants
        efficiency = self.budget.efficiency
        rates = rates_in_time(
            participants, efficiency, self._slot_s, attempt.offer.bandwidth_hz, attempt.offer.mean_snr
        )
        if rates is not None:
            return rates
        draws = self._fading.innovations(attempt.offer.way, participants, attempt.number)
        return ProcessRates(
            participants=participants,
            draws=draws,
            efficiency=efficiency,
            slot_s=self._slot_s,
            bandwidth_hz=attempt.offer.bandwidth_hz,
            mean_snr=attempt.offer.mean_snr,
        )

    def _estimate(self, attempt: TransmissionAttempt) -> Walk:
        """Carry an attempt by `fast`: the fading afterwards is a new draw.

        With a limit, transfers so short that `fast` would walk them are walked, and so are constant channels. The bits
        of the others at the limit follow from the normal of their duration (`_sent_bits`); only those of more than
        MAX_SLOTS slots at the mean rate are in proportion to the time.
        """
        participants = attempt.participants
        limit_slots = attempt.limit_slots
        # Each attempt takes the next draws of its device's sequence.
        count = NORMALS * (participants.attempts_before + attempt.number + 1)
        normals = self._streams.normal(FAST[attempt.offer.way], participants.drop.ids, participants.index, count=count)[
            :, -NORMALS:
        ]
        gain = np.where(participants.constant, participants.start, gains_afterwards(normals))
        if limit_slots is None:
            needed_slots = self._estimated_slots(attempt, normals[:, 0])
            slots = np.minimum(needed_slots, MAX_SLOTS).astype(np.int64)
            sent_bits = attempt.offer.slot_payload_bits.copy()
            too_long = np.flatnonzero(needed_slots > MAX_SLOTS)
            if too_long.size:
                limited = replace(attempt.only(too_long), limit_slots=np.full(too_long.size, MAX_SLOTS))
                sent_bits[too_long] = self._estimate(limited).sent_bits
            return Walk(slots, sent_bits, gain)
        mean_slot_bits = attempt.offer.bandwidth_hz * self._slot_s * self.budget.mean_bps_hz(attempt.offer.mean_snr)
        needed_slots = attempt.offer.slot_payload_bits / np.maximum(mean_slot_bits, TINY_BITS)
        walks = participants.constant | self._walks(attempt)
        # Beyond MAX_SLOTS on average, any limit comes first, and the mean suffices.
        estimated = np.flatnonzero(~walks & (needed_slots < MAX_SLOTS))
        needed_slots[estimated] = self._estimated_slots(attempt.only(estimated), normals[estimated, 0])
        used_slots = np.minimum(needed_slots, limit_slots).astype(np.int64)
        used_share = np.divide(used_slots, needed_slots, out=np.ones(len(used_slots)), where=needed_slots > 0)
        sent_bits = attempt.offer.slot_payload_bits * used_share
        cut = estimated[used_slots[estimated] < needed_slots[estimated]]
        sent_bits[cut] = self._sent_bits(attempt.only(cut), used_slots[cut], normals[cut, 0])
        walked = np.flatnonzero(walks)
        walk = self._walk(attempt.only(walked))
        used_slots[walked] = walk.slots
        sent_bits[walked] = walk.sent_bits
        return Walk(used_slots, sent_bits, gain)

    def _estimated_slots(self, attempt: TransmissionAttempt, normals: Floats) -> Floats:
        """Return the slots [r] of transfers that nothing cuts short."""
        participants = attempt.participants
        duration_s = channel.transfer.fast(
            *self._arguments(attempt),
            normals,
            self._fading.innovations(attempt.offer.way, participants, attempt.number),
            participants.start,
            MAX_SLOTS,
            self.budget.efficiency,
            participants.drop.k_factor,
            refuses=False,
        )
        return np.rint(duration_s / self._slot_s)

    def _sent_bits(self, attempt: TransmissionAttempt, slots: Ints, normals: Floats) -> Floats:
        """Return the bits [r] of transfers that are cut after some slots."""
        if not slots.size:
            return np.zeros(0)
        outlook = channel.epochs.outlook(*self._arguments(attempt), self.budget.efficiency)
        lines = channel.epochs.of_epoch(outlook.lines, np.ones(slots.size, dtype=np.bool_))
        samples = channel.epochs.sent(slots * outlook.worth, normals, lines)
        return np.clip(outlook.sample_bits * samples, 0.0, attempt.offer.slot_payload_bits * (1.0 - SAME_STEP))

    def _arguments(self, attempt: TransmissionAttempt) -> tuple[Floats, Floats, Floats, float, Floats]:
        """Return the first arguments of all functions of `channel.transfer`."""
        return (
            attempt.offer.slot_payload_bits,
            attempt.offer.mean_snr,
            attempt.offer.bandwidth_hz,
            self._slot_s,
            attempt.participants.correlation,
        )

    def _walks(self, attempt: TransmissionAttempt) -> Bools:
        """Return whether `fast` walks each transfer [r] because it is short."""
        efficiency = self.budget.efficiency
        return channel.first_passage.walked(*self._arguments(attempt), efficiency, attempt.participants.drop.k_factor)

    def _count(self, attempt: TransmissionAttempt, slots: Ints, wall_s: float) -> None:
        """Count the wall-clock of slots that `fast` would not have walked."""
        self._walking_s += wall_s
        slot_shares = self.budget.resources.slot_shares(attempt.offer.way)
        participants = attempt.participants
        if participants.in_time or slot_shares is not None:  # `fast` knows neither
            return
        if self._walking_s < NOTICEABLE_S:  # computing the tables of `fast` takes as long
            return
        needless = ~self._walks(attempt) & ~participants.constant
        needless_share = int(slots[needless].sum()) / max(int(slots.sum()), 1)
        self.count_needless(wall_s * needless_share)


def effective_snr(bps_hz: Floats) -> Floats:
    """Return the SNRs [c] at which a flat channel has the capacities [c] of a frequency-selective one."""
    return np.asarray(np.expm1(bps_hz * np.log(2.0)))
