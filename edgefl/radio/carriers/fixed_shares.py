"""Shares that hold for the round: everything is priced when it begins (dynamic-devices paper, section VI)."""

from collections.abc import Generator
from dataclasses import replace
from typing import Any

import numpy as np
import simpy

import channel
from edgefl.core.arrays import Floats
from edgefl.core.times import SAME_STEP, steps_begun, steps_completed
from edgefl.radio.messages import MessageGroup, Messages, way_of
from edgefl.radio.participants import Participants
from edgefl.radio.prices.offer import Offer
from edgefl.radio.prices.pricing import Priced, Pricing
from edgefl.radio.transfers import WAYS, OnAir, TransferResult, Way


class PricedTurn:
    """The transfers of one turn of participants [r], priced when the round begins."""

    def __init__(self, pricing: Pricing, offer: Offer, participants: Participants, on_air: OnAir) -> None:
        self._pricing = pricing
        self._offer = offer
        self._on_air = on_air
        self.participants = participants
        self.priced = pricing.price(offer, participants, np.arange(len(participants)))
        self.duration_s: Floats = np.asarray(self.priced.slots * pricing.radio.slot_s)
        self._results = self._as_results(offer, self.priced, self.duration_s)

    def send(self, env: simpy.Environment, row: int) -> Generator[simpy.Event, Any, TransferResult]:
        """Carry one transfer from now on in one timeout, as its duration is known."""
        began_s = env.now
        result = self._results[row]
        offer = self._offer
        device = self.participants.drop.ids[row].item()
        self._on_air(device, offer.way, offer.air[row].item(), offer.power_share[row].item())
        try:
            yield env.timeout(result.duration_s)
        except simpy.Interrupt as cut:
            return self._cut_short(row, env.now - began_s, str(cut.cause))
        return result

    def _cut_short(self, row: int, elapsed_s: float, cause: str) -> TransferResult:
        """Return the result of a transfer after a time: keyed draws allow walking it again up to there."""
        rows = np.array([row])
        slots = np.array([steps_completed(elapsed_s, self._pricing.radio.slot_s)])
        priced = self._pricing.price(self._offer, self.participants, rows, slots)
        [result] = self._as_results(self._offer.only(rows), priced, np.array([elapsed_s]))
        return result._replace(delivered=False, cut=cause)

    def _as_results(self, offer: Offer, priced: Priced, duration_s: Floats) -> list[TransferResult]:
        """Return the results of transfers [r] that have lasted `duration_s` [r]."""
        air_s = duration_s * offer.air
        columns = (  # in the order of `TransferResult`
            duration_s,
            air_s,
            air_s * offer.power_share,
            priced.sent_bits,
            priced.delivered,
            duration_s * self._pricing.budget.resources.occupancy(offer.way, offer.bandwidth_hz, offer.air),
            air_s * offer.mean_snr,
            priced.first_sent,
            priced.first_lost,
        )
        return [TransferResult(*row) for row in zip(*(column.tolist() for column in columns), strict=True)]


class FixedCarrier:
    """A round whose bandwidths and channels hold, so that all durations are known at its beginning.

    The band is divided by all bits of each participant in a direction. Turns are priced in order, vectorised over the
    participants, as each begins with the fading at the end of the one before.
    """

    def __init__(
        self, env: simpy.Environment, pricing: Pricing, participants: Participants, messages: Messages, on_air: OnAir
    ) -> None:
        self._env = env
        self._pricing = pricing
        self._messages = messages
        self._on_air = on_air
        # Both offers come first, so that too few resource blocks are refused before a slot is walked.
        offers = {way: pricing.offer(way, participants, messages.total_bits(way)) for way in WAYS}
        # Messages need not begin at a border of a slot: the grid only counts the slots.
        now = np.full(len(participants), steps_begun(env.now, pricing.radio.slot_s))
        participants = replace(participants, first_slot=now)
        self._turns = [self._price(participants.only(group.rows), group, offers) for group in messages.groups]

    def send(self, row: int, turn: int) -> Generator[simpy.Event, Any, TransferResult]:
        """See Carrier."""
        group, place = self._messages.place(row)
        return self._turns[group][turn].send(self._env, place)

    def _price(self, participants: Participants, group: MessageGroup, offers: dict[Way, Offer]) -> list[PricedTurn]:
        radio = self._pricing.radio
        fades = (participants.correlation < 1.0).any()  # otherwise the gain stays the same in pauses, too
        if fades:
            draws = self._pricing.fading.pauses(participants, group.turns)
        turns: list[PricedTurn] = []
        for turn in range(group.turns):
            start = participants.start
            first_slot = participants.first_slot
            if turn > 0:
                earlier = turns[-1]
                pause_s = group.pause_s(turn, earlier.duration_s)
                # The fading advances in whole slots: a slot that has begun counts.
                pause_slots = np.ceil(pause_s / radio.slot_s - SAME_STEP)
                first_slot = earlier.participants.first_slot + earlier.priced.slots + pause_slots.astype(np.int64)
                start = earlier.priced.gain
                if fades:
                    correlation = participants.correlation
                    start = channel.fading.advance(start, correlation, pause_slots, draws[:, turn - 1])
            attempts_before = turn // 2 * radio.faults.attempts  # in the same direction
            at_turn = replace(participants, start=start, first_slot=first_slot, attempts_before=attempts_before)
            offer = replace(offers[way_of(turn)].only(group.rows), payload_bits=group.bits[:, turn])
            turns.append(PricedTurn(self._pricing, offer, at_turn, self._on_air))
        return turns
