"""Shares that hold for the round: everything is priced when it begins (dynamic-devices paper, section VI)."""

from __future__ import annotations

from collections.abc import Generator
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import simpy

from edgefl.core.arrays import Complex
from edgefl.radio.carrier import GRID, Bits, Computing, Leg, Participants, slots_over

if TYPE_CHECKING:
    from edgefl.radio.link import Link, Offer


class FixedCarrier:
    """A round whose bandwidths and channels hold, so that all durations are known, vectorised, at its beginning."""

    def __init__(
        self,
        env: simpy.Environment,
        link: Link,
        who: Participants,
        bits: Bits,
        computing: Computing,
    ) -> None:
        rows = np.arange(len(who))
        self._env = env
        self._down = Legs(link, link.offer("down", who, bits[0]), who, who.start)
        gap_slots = np.ceil(computing(self._down.duration_s) / link.radio.slot_s - GRID)
        start = who.after(self._down.priced.gain, gap_slots) if rows.size else who.start
        self._up = Legs(link, link.offer("up", who, bits[1]), who, start)

    def download(self, row: int) -> Generator[simpy.Event, Any, Leg]:
        """See Carrier."""
        return self._down.send(self._env, row)

    def upload(self, row: int) -> Generator[simpy.Event, Any, Leg]:
        """See Carrier."""
        return self._up.send(self._env, row)


class Legs:
    """One direction's transfers."""

    def __init__(self, link: Link, offer: Offer, who: Participants, start: Complex) -> None:
        self.link, self.offer, self.who, self.start = link, offer, who, start
        self.priced = priced = link.price(offer, who, start, np.arange(len(who)))
        self.duration_s: npt.NDArray[np.float64] = np.asarray(priced.slots * link.radio.slot_s)
        columns = self.duration_s, self.duration_s * offer.air, priced.sent_bits, priced.delivered
        self.whole = [Leg(*each) for each in zip(*(column.tolist() for column in columns), strict=True)]

    def send(self, env: simpy.Environment, row: int) -> Generator[simpy.Event, Any, Leg]:
        """One of them, from now on."""
        leg, began, device = self.whole[row], env.now, int(self.who.drop.ids[row])
        self.link.on_air(device, self.offer.way, float(self.offer.air[row]))
        try:
            yield env.timeout(leg.duration_s)
        except simpy.Interrupt as cut:
            return self.part(row, env.now - began, str(cut.cause))
        return leg

    def part(self, row: int, elapsed_s: float, cause: str) -> Leg:
        """What a transfer had sent after a time: keyed draws let it be walked again, so far."""
        slots = np.array([slots_over(elapsed_s, self.link.radio.slot_s)])
        at = np.array([row])
        sent = self.link.price(self.offer, self.who, self.start[at], at, slots).sent_bits[0]
        return Leg(elapsed_s, elapsed_s * float(self.offer.air[row]), float(sent), delivered=False, cut=cause)
