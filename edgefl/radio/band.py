"""One direction's band under processor sharing: who sends now, with which share, and who ends next."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
import simpy

import channel
from edgefl.core.arrays import Complex, Floats
from edgefl.radio.carrier import GRID, OnAir, Participants, Way, ignore_on_air, slots_begun, slots_over
from edgefl.radio.engine import Attempt, Engine
from edgefl.radio.large_scale import Drop

LOOK_AHEAD_VALUES = 2**15  # fading gains known in advance, all transfers together
LEAST_AHEAD_SLOTS = 16


@dataclass(eq=False)
class Transfer:
    """A transfer under way."""

    who: Participants
    row: int
    attempt: int
    left_bits: float  # of the payload
    limit_slots: int
    gain: complex  # fading in the last slot
    draws: channel.transfer.Innovations
    sent_bits: float = 0.0
    slots: int = 0
    air: float = 0.0  # part of the time in which it is served, since the last division
    air_slots: float = 0.0  # of the time so far with the radio on
    work: float | None = None  # of the fluid model for a bit of payload, under the `fast` engine
    ahead: Complex = field(default_factory=lambda: np.empty(0, dtype=np.complex128))  # gains of the coming slots
    done: simpy.Event | None = None

    @property
    def drop(self) -> Drop:
        """The round's large-scale channel."""
        return self.who.drop

    @property
    def through(self) -> bool:
        """Whether it is complete or at its limit."""
        return self.left_bits == 0 or self.slots >= self.limit_slots

    def go_on(self, who: Participants, gain: complex, draws: channel.transfer.Innovations, paused_slots: int) -> None:
        """Go on over the base station that `who` [1] has now, whose fading is another, after a pause."""
        self.who, self.row, self.gain, self.draws = who, 0, gain, draws
        self.ahead, self.work = np.empty(0, dtype=np.complex128), None
        self.slots += paused_slots

    def look_ahead(self, slots: int) -> None:
        """Know the fading gains of the next `slots` slots."""
        missing = slots - len(self.ahead)
        if missing <= 0:
            return
        rho, hold = float(self.who.correlation[self.row]), int(self.who.hold_slots[self.row])
        before = self.ahead[-1] if len(self.ahead) else self.gain
        if abs(rho) == 1.0 or np.isinf(self.drop.k_factor[self.row]):
            more = before * rho ** np.arange(1, missing + 1)
        elif hold == 1:
            more = channel.fading.gauss_markov(self.draws(np.array([0]), missing), [rho], [before])[0]
        else:
            first = self.slots + len(self.ahead)
            begun = (first + np.arange(missing)) // hold - (first - 1) // hold  # blocks that begin, so far
            fresh = self.draws(np.array([0]), int(begun[-1]))[0] if begun[-1] else np.empty(0, dtype=np.complex128)
            more = np.concatenate([[before], fresh])[begun]
        self.ahead = np.concatenate([self.ahead, more])


class Band:
    """The transfers of one direction, in all cells, on one grid of slots.

    Between two divisions all shares hold. `_sent_by(k)` is what each transfer has sent k slots after the last one.
    """

    def __init__(self, env: simpy.Environment, engine: Engine, way: Way, on_air: OnAir = ignore_on_air) -> None:
        self._env, self._engine, self._budget, self._way, self._on_air = env, engine, engine.budget, way, on_air
        self._slot_s = engine.radio.slot_s
        self._active: list[Transfer] = []
        self._slot = 0  # up to which everything is accounted
        self._sent_by: Callable[[int], Floats] = _nothing
        self._version = 0  # of the division; wake-up calls of older ones are void

    def send(self, transfer: Transfer) -> simpy.Event:
        """Begin at the next border of a slot; the event fires when the transfer is complete or at its limit."""
        transfer.done = self._env.event()
        self._switch(transfer, 0.0)
        begin = slots_begun(self._env.now, self._slot_s)
        self._call_at(begin, lambda: self._join(transfer, begin))
        return transfer.done

    def withdraw(self, transfer: Transfer) -> None:
        """Cut a transfer short: it has sent what it has sent by the last border of a slot, and was on air until now."""
        transfer.done = None
        if transfer in self._active:
            self._advance(max(slots_over(self._env.now, self._slot_s), self._slot))
            if transfer in self._active:
                transfer.air_slots += transfer.air * max(self._env.now / self._slot_s - self._slot, 0.0)
                self._active.remove(transfer)
            self._divide_soon()
        self._switch(transfer, 0.0)

    def _switch(self, transfer: Transfer, air: float) -> None:
        """From now on a transfer is served for that part of the time."""
        transfer.air = air
        self._on_air(int(transfer.drop.ids[transfer.row]), self._way, air)

    def _call_at(self, slot: int, callback: Callable[[], None]) -> None:
        delay_s = max(slot * self._slot_s - self._env.now, 0.0)
        callbacks = self._env.timeout(delay_s).callbacks
        if callbacks is not None:
            callbacks.append(lambda _: callback())

    def _join(self, transfer: Transfer, slot: int) -> None:
        if transfer.done is None:  # withdrawn before its first slot
            return
        self._advance(slot)
        if transfer.through:
            transfer.done.succeed()
            return
        self._active.append(transfer)
        self._divide_soon()

    def _divide_soon(self) -> None:
        """Divide the band when all that happens now has happened."""
        self._version += 1
        version = self._version
        self._call_at(self._slot, lambda: self._divide() if version == self._version else None)

    def _advance(self, slot: int) -> None:
        """Account for the slots before `slot`; transfers that are through leave."""
        count, self._slot = slot - self._slot, slot
        if count == 0 or not self._active:
            return
        for transfer, sent in zip(self._active, self._sent_by(count), strict=True):
            bits = min(float(sent), transfer.left_bits)
            transfer.left_bits -= bits
            transfer.sent_bits += bits
            transfer.slots += count
            transfer.air_slots += transfer.air * count
            if len(transfer.ahead):
                transfer.gain, transfer.ahead = transfer.ahead[count - 1], transfer.ahead[count:]
        for transfer in self._active:
            if transfer.done is not None and transfer.through:
                transfer.done.succeed()
        self._active = [one for one in self._active if not one.through]
        self._sent_by = _nothing  # void: a division follows

    def _divide(self) -> None:
        """Give every transfer its share, and find out which ends next."""
        if not self._active:
            return
        self._active.sort(key=lambda one: (one.drop.ids[one.row], one.who.index))  # whatever the order of events
        share_hz, snr = self._shares()
        horizon = min(one.limit_slots - one.slots for one in self._active)
        if self._engine.radio.transfer == "fast" and all(one.who.hold_slots[one.row] == 1 for one in self._active):
            slots = self._flow(share_hz, snr)
        else:
            slots = self._race(share_hz, snr, horizon)
        self._version += 1
        version, wake = self._version, self._slot + min(slots, horizon)
        self._call_at(wake, lambda: self._wake(wake) if version == self._version else None)

    def _wake(self, slot: int) -> None:
        self._advance(slot)
        self._divide_soon()

    def _shares(self) -> tuple[Floats, Floats]:
        """Bandwidths that carry payload, in the mean over time, and SNRs at |h|^2 = 1 [n]; notes who is on air."""
        budget, way, active = self._budget, self._way, self._active
        cell = np.array([one.drop.cell[one.row] for one in active])
        path_gain = np.array([one.drop.path_gain[one.row] for one in active])
        tx_power_w = np.array([one.who.tx_power_w[one.row] for one in active])
        all_gains = np.stack([one.drop.all_gains[one.row] for one in active])
        transfers = np.bincount(cell, minlength=len(budget.group))
        interference = budget.interference_w_hz(way, all_gains, cell, tx_power_w, transfers)
        snr_hz = budget.snr_hz(way, path_gain, tx_power_w, interference)
        left = np.array([one.left_bits for one in active])
        share_hz, snr, air = np.empty(len(active)), np.empty(len(active)), np.empty(len(active))
        for site in np.unique(cell):
            rows = np.flatnonzero(cell == site)
            shares = budget.divide(way, left[rows], snr_hz[rows])
            air[rows] = shares.duty * budget.on_air(way)
            share_hz[rows] = shares.bandwidth_hz * air[rows] * budget.payload_part(way)
            occupied_hz = np.full(rows.size, budget.band_hz) if budget.spread(way) else shares.bandwidth_hz
            snr[rows] = np.divide(snr_hz[rows], occupied_hz, out=np.zeros(rows.size), where=occupied_hz > 0)
        begun = self._env.now / self._slot_s - self._slot  # of a slot in which a transfer was withdrawn
        for transfer, part, hz in zip(active, air, share_hz, strict=True):
            served = float(part) if hz > 0 else 0.0  # without a resource block it waits
            if served != transfer.air:
                transfer.air_slots += (transfer.air - served) * begun if begun > GRID else 0.0
                self._switch(transfer, served)
        return share_hz, snr

    def _race(self, share_hz: Floats, snr: Floats, horizon: int) -> int:
        """Slots until the next transfer's end, or until gains have to be drawn anew."""
        began = time.perf_counter()
        left = np.array([one.left_bits for one in self._active])
        per_slot = share_hz * self._slot_s * self._budget.mean_bps_hz(snr)
        expected = np.divide(left, per_slot, out=np.full(left.size, np.inf), where=per_slot > 0).min()
        room = max(LOOK_AHEAD_VALUES // left.size, LEAST_AHEAD_SLOTS)
        ahead = int(max(1, min(room, 1.1 * expected + LEAST_AHEAD_SLOTS, horizon)))
        for transfer in self._active:
            transfer.look_ahead(ahead)
        gains = np.stack([one.ahead[:ahead] for one in self._active])
        k_factor = np.array([one.drop.k_factor[one.row] for one in self._active])
        power = np.abs(channel.fading.ricean(gains, k_factor[:, None])) ** 2
        race = channel.sharing.race(power, left, snr, share_hz, self._slot_s, self._budget.efficiency)
        self._engine.count_needless(time.perf_counter() - began)
        self._sent_by = lambda count: race.sent_bits[:, count - 1]
        return race.slots

    def _flow(self, share_hz: Floats, snr: Floats) -> int:
        """The same at mean rates: a transfer's work is its payload, longer or shorter by a draw of `fast`."""
        rates = np.array([self._work_rate(*each) for each in zip(self._active, share_hz, snr, strict=True)])
        left = np.array([one.left_bits for one in self._active])
        self._sent_by = lambda count: np.where(rates * count < left * (1.0 - GRID), rates * count, left)
        slots = np.divide(left * (1.0 - GRID), rates, out=np.full(left.size, np.inf), where=rates > 0).min()
        return math.ceil(min(float(slots), channel.transfer.MAX_SLOTS))

    def _work_rate(self, transfer: Transfer, share_hz: float, snr: float) -> float:
        """Bits of payload a slot."""
        budget, row = self._budget, transfer.row
        k, rho = float(transfer.drop.k_factor[row]), float(transfer.who.correlation[row])
        if np.isinf(k) or abs(rho) == 1.0:
            power = abs(channel.fading.ricean(transfer.gain, k)) ** 2
            mean = float(budget.efficiency.bps_hz(snr * power))
        else:
            mean = float(budget.mean_bps_hz(np.array([snr]))[0])  # for K > 0, the draw makes up for it
        per_slot = share_hz * self._slot_s * mean
        if transfer.work is None and per_slot > 0:
            transfer.work = self._expected_slots(transfer, share_hz, snr) * per_slot / transfer.left_bits
        return per_slot / (transfer.work or 1.0)

    def _expected_slots(self, transfer: Transfer, share_hz: float, snr: float) -> float:
        """Slots that `fast` gives a transfer if it kept its share; enters the fading afterwards."""
        limited = self._engine.radio.faults.max_transfer_s is not None
        attempt = Attempt(
            way=self._way,
            who=transfer.who,
            rows=np.array([transfer.row]),
            number=transfer.attempt,
            payload_bits=np.array([transfer.left_bits]),
            mean_snr=np.array([snr]),
            bandwidth_hz=np.array([share_hz]),
            start=np.array([transfer.gain]),
            limit_slots=np.array([transfer.limit_slots - transfer.slots]) if limited else None,
        )
        walk = self._engine.carry(attempt)
        transfer.gain = complex(walk.gain[0])
        sent = float(walk.sent_bits[0])
        return float(walk.slots[0]) * transfer.left_bits / sent if sent > 0 else np.inf


def _nothing(count: int) -> Floats:
    raise AssertionError(f"{count} slots were accounted for without a division of the band")
