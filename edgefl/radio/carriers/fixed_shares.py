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
from edgefl.radio.prices.pricing import Offer, Pricing
from edgefl.radio.transfers import WAYS, OnAir, TransferResult, Way


class PricedTurn:
    """The transfers of one turn of participants [r], priced when the round begins."""

    def __init__(self, pricing: Pricing, offer: Offer, participants: Participants, on_air: OnAir) -> None:
        self._pricing = pricing
        self._offer = offer
        self._participants = participants
        self._on_air = on_air
        self.start = participants.start  # fading gains [r] in the slot before the first
        self.first_slot = participants.first_slot
        priced = pricing.price(offer, participants, np.arange(len(participants)))
        self.gain = priced.gain  # fading gains [r] in the last slot
        self.slots = priced.slots
        self.duration_s: Floats = np.asarray(priced.slots * pricing.radio.slot_s)
        air_s = self.duration_s * offer.air
        self._occupancy = pricing.budget.resources.occupancy(offer.way, offer.bandwidth_hz, offer.air)
        columns = (  # in the order of `TransferResult`
            self.duration_s,
            air_s,
            air_s * offer.power_share,
            priced.sent_bits,
            priced.delivered,
            self.duration_s * self._occupancy,
            air_s * offer.mean_snr,
            priced.first_sent,
            priced.first_lost,
        )
        self._results = [TransferResult(*row) for row in zip(*(column.tolist() for column in columns), strict=True)]
        ids = participants.drop.ids.tolist()
        ways = [offer.way] * len(ids)
        # arguments of the listener when a transfer begins
        self._switched_on = list(zip(ids, ways, offer.air.tolist(), offer.power_share.tolist(), strict=True))

    def send(self, env: simpy.Environment, row: int) -> Generator[simpy.Event, Any, TransferResult]:
        """Carry one transfer from now on in one timeout, as its duration is known."""
        began_s = env.now
        result = self._results[row]
        self._on_air(*self._switched_on[row])
        try:
            yield env.timeout(result.duration_s)
        except simpy.Interrupt as cut:
            return self._cut_short(row, env.now - began_s, str(cut.cause))
        return result

    def _cut_short(self, row: int, elapsed_s: float, cause: str) -> TransferResult:
        """Return the result of a transfer after a time: keyed draws allow walking it again up to there."""
        slots = np.array([steps_completed(elapsed_s, self._pricing.radio.slot_s)])
        priced = self._pricing.price(self._offer, self._participants, np.array([row]), slots)
        air_s = elapsed_s * float(self._offer.air[row])
        return TransferResult(
            elapsed_s,
            air_s,
            full_power_s=air_s * float(self._offer.power_share[row]),
            sent_bits=float(priced.sent_bits[0]),
            delivered=False,
            cut=cause,
            band_s=elapsed_s * float(self._occupancy[row]),
            sinr_s=air_s * float(self._offer.mean_snr[row]),
            first_sent=int(priced.first_sent[0]),
            first_lost=int(priced.first_lost[0]),
        )


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
        """Price all turns of participants [r] with the same number of turns."""
        radio = self._pricing.radio
        fades = (participants.correlation < 1.0).any()  # otherwise the gain stays the same in pauses, too
        if fades:
            draws = self._pricing.fading.pauses(participants, group.turns)
        turns: list[PricedTurn] = []
        for turn in range(group.turns):
            start = participants.start
            first_slot = participants.first_slot
            if turn > 0:
                pause_s = group.pause_s(turn, turns[-1].duration_s)
                # The fading advances in whole slots: a slot that has begun counts.
                pause_slots = np.ceil(pause_s / radio.slot_s - SAME_STEP)
                first_slot = turns[-1].first_slot + turns[-1].slots + pause_slots.astype(np.int64)
                start = turns[-1].gain
                if fades:
                    correlation = participants.correlation
                    start = channel.fading.advance(start, correlation, pause_slots, draws[:, turn - 1])
            attempts_before = turn // 2 * radio.faults.attempts  # in the same direction
            at_turn = replace(participants, start=start, first_slot=first_slot, attempts_before=attempts_before)
            offer = offers[way_of(turn)].only(group.rows, group.bits[:, turn])
            turns.append(PricedTurn(self._pricing, offer, at_turn, self._on_air))
        return turns
