"""Shares that hold for the round, in a frame whose slots belong to one direction each.

A slot's direction depends on the clock, and the begin of a message on backhaul, computing and battery. So transfers are
priced one by one when they begin, at the next border of a slot.
"""

from collections.abc import Generator
from dataclasses import replace
from typing import Any

import numpy as np
import simpy

from edgefl.core.times import steps_begun, steps_completed
from edgefl.radio.carriers.turns import Turns
from edgefl.radio.messages import Messages, way_of
from edgefl.radio.participants import Participants
from edgefl.radio.prices.offer import Offer
from edgefl.radio.prices.pricing import Priced, Pricing
from edgefl.radio.transfers import WAYS, OnAir, TransferResult

ROW = np.array([0])


class FramedCarrier:
    """Carries a round's messages over shares that hold, in the slots of their directions."""

    def __init__(
        self, env: simpy.Environment, pricing: Pricing, participants: Participants, messages: Messages, on_air: OnAir
    ) -> None:
        self._env = env
        self._pricing = pricing
        self._ids = participants.drop.ids
        self._messages = messages
        self._on_air = on_air
        self.turns = Turns(env, pricing, participants, messages)
        self._offers = {way: pricing.offer(way, participants, messages.total_bits(way)) for way in WAYS}

    def send(self, row: int, turn: int) -> Generator[simpy.Event, Any, TransferResult]:
        """See Carrier."""
        self.turns.begin(row, turn)
        result = yield from self._attempts(row, turn)
        self.turns.end(row)
        return result

    def _attempts(self, row: int, turn: int) -> Generator[simpy.Event, Any, TransferResult]:
        """Carry a message in as many attempts as needed and allowed."""
        way = way_of(turn)
        slot_s = self._pricing.radio.slot_s
        began_s = self._env.now
        begin = steps_begun(began_s, slot_s)
        wait_s = max(begin * slot_s - began_s, 0.0)
        offer = replace(
            self._offers[way].only(np.array([row])), payload_bits=np.array([self._messages.bits(row, turn)])
        )
        participant = self.turns.participant(row)
        participant = replace(participant, start=self.turns.gain[row : row + 1], first_slot=np.array([begin]))
        priced = self._pricing.price(offer, participant, ROW)
        slots = int(priced.slots[0])
        duration_s = wait_s + slots * slot_s
        # The radio is on in the direction's slots; a meter counts them as a share of the whole time.
        air_s = self._pricing.budget.resources.on_air_slots(way, begin, slots) * slot_s
        air_s *= float(offer.air[0]) / self._pricing.budget.resources.time_share(way)
        air = air_s / duration_s if duration_s > 0 else 0.0
        occupancy = float(self._pricing.budget.resources.occupancy(way, offer.bandwidth_hz, np.array([air]))[0])
        power_share = float(offer.power_share[0])
        self._on_air(self._ids[row].item(), way, air, power_share)
        cut = ""
        try:
            yield self._env.timeout(duration_s)
        except simpy.Interrupt as interrupt:
            cut = str(interrupt.cause)
            duration_s = self._env.now - began_s
            priced = self._part(offer, participant, duration_s - wait_s)
            air_s = air * duration_s
        else:
            self.turns.begin_with(row, priced.gain[0])
        return TransferResult(
            duration_s,
            air_s,
            air_s * power_share,
            float(priced.sent_bits[0]),
            delivered=bool(priced.delivered[0]) and not cut,
            band_s=duration_s * occupancy,
            sinr_s=air_s * float(offer.mean_snr[0]),
            cut=cut,
        )

    def _part(self, offer: Offer, participant: Participants, elapsed_s: float) -> Priced:
        """Return the price of a transfer up to a time: keyed draws allow walking it again up to there."""
        slots = steps_completed(max(elapsed_s, 0.0), self._pricing.radio.slot_s)
        return self._pricing.price(offer, participant, ROW, np.array([slots]))
