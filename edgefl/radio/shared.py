"""Processor sharing: the band is divided anew whenever a transfer begins or ends."""

from __future__ import annotations

from collections.abc import Generator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import simpy

from channel.transfer import MAX_SLOTS
from edgefl.core.errors import RunError
from edgefl.radio.band import Band, Transfer
from edgefl.radio.carrier import WEAK, Bits, Leg, Participants, Way, slots_begun, slots_over

if TYPE_CHECKING:
    from edgefl.radio.link import Link


TOO_LONG = f"a transfer needs more than {MAX_SLOTS} slots; {WEAK}"


class SharedCarrier:
    """A round's transfers on bands that other transfers use at the same time."""

    def __init__(
        self,
        env: simpy.Environment,
        link: Link,
        who: Participants,
        bits: Bits,
        bands: Mapping[Way, Band],
    ) -> None:
        self._env, self._link, self._who, self._bits, self._bands = env, link, who, bits, bands
        self.gain = who.start.copy()  # [n] of the fading when the last transfer ended
        self._downloaded_s = np.full(len(who), float(env.now))  # or opened, where nothing is downloaded

    def download(self, row: int) -> Generator[simpy.Event, Any, Leg]:
        """See Carrier."""
        leg = yield from self.send("down", row, float(np.broadcast_to(self._bits[0], len(self._who))[row]))
        self._downloaded_s[row] = self._env.now
        return leg

    def upload(self, row: int) -> Generator[simpy.Event, Any, Leg]:
        """See Carrier."""
        gap_slots = slots_begun(self._env.now - self._downloaded_s[row], self._link.radio.slot_s)
        self.gain[row] = self._who.after(self.gain, gap_slots)[row]
        return (yield from self.send("up", row, self._bits[1]))

    def send(self, way: Way, row: int, bits: float) -> Generator[simpy.Event, Any, Leg]:
        """All attempts of a transfer."""
        faults, slot_s = self._link.radio.faults, self._link.radio.slot_s
        fails = self._link.fails(way, self._who)[row]
        began, sent, air_s = self._env.now, 0.0, 0.0
        left = None if faults.max_transfer_s is None else slots_over(faults.max_transfer_s, slot_s)
        if left is None and self._link.hopeless(way, *self.serving(row), bits):
            raise RunError(f"round {self._who.index + 1}: {TOO_LONG}")
        for attempt in range(faults.attempts):
            who, at = self.serving(row)
            draws = self._link.engine.innovations(way, who, np.array([at]), attempt)
            limit = MAX_SLOTS if left is None else left
            transfer = Transfer(who, at, attempt, bits, limit, self.gain[row], draws)
            cut = yield from self.carry(way, row, transfer)
            sent, air_s = sent + transfer.sent_bits, air_s + transfer.air_slots * slot_s
            if cut:
                return Leg(self._env.now - began, air_s, sent, delivered=False, cut=cut)
            self.gain[row] = transfer.gain
            if transfer.left_bits == 0 and not fails[attempt]:
                return Leg(self._env.now - began, air_s, sent, delivered=True)
            if left is None and transfer.left_bits > 0:
                raise RunError(f"round {self._who.index + 1}: {TOO_LONG}")
            if left is not None and (left := left - transfer.slots) <= 0:
                break
        return Leg(self._env.now - began, air_s, sent, delivered=False)

    def serving(self, row: int) -> tuple[Participants, int]:
        """A participant with the base station that serves it, and its row there."""
        return self._who, row

    def carry(self, way: Way, row: int, transfer: Transfer) -> Generator[simpy.Event, Any, str]:
        """One attempt, to its end or limit; who cut it short, if somebody did."""
        band = self._bands[way]
        try:
            yield band.send(transfer)
        except simpy.Interrupt as cut:
            band.withdraw(transfer)
            return str(cut.cause)
        return ""
