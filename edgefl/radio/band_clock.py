"""The clock of a band that transfers share: their shares from one division to the next, and which one ends first."""

from __future__ import annotations

import math
import time
from collections.abc import Callable

import numpy as np
import simpy

import channel
from channel.rate import SHANNON
from edgefl.core.arrays import Bools, Floats, Ints
from edgefl.core.times import SAME_STEP, call_at, steps_begun, steps_completed
from edgefl.radio.band_rows import BandRows
from edgefl.radio.band_transfer import BandTransfer
from edgefl.radio.band_users import BandUsers
from edgefl.radio.drop import Drop
from edgefl.radio.shares import BandShares, divide_bands
from edgefl.radio.transfers import OnAir, Way, ignore_on_air
from edgefl.radio.transmission import TransmissionAttempt, TransmissionEngine, effective_snr

LOOK_AHEAD_VALUES = 2**15  # slots of a race, all transfers together: bounds the memory
LEAST_AHEAD_SLOTS = 16  # of each transfer, however many share that memory
LOOK_AHEAD_MARGIN = 1.1  # slots looked ahead over those expected: fading makes transfers longer or shorter


class BandClock:
    """Transfers whose shares depend on each other, on one grid of slots.

    Between two divisions all shares hold. `_sent_by(k)` returns what each transfer has sent k slots after a division.
    """

    def __init__(
        self,
        env: simpy.Environment,
        engine: TransmissionEngine,
        way: Way,
        on_air: OnAir,
        users: BandUsers | None = None,
    ) -> None:
        self._env = env
        self._engine = engine
        self._budget = engine.budget
        self._way = way
        self._on_air = on_air
        self._slot_s = engine.budget.radio.slot_s
        self._users = users  # besides the devices; None: there are none
        self._slot_shares = engine.budget.resources.slot_shares(way)  # [slots] of a frame; None: slots are alike
        self._rows = BandRows.of([], len(engine.budget.group))
        self._joining: list[BandTransfer] = []  # since the last division
        self._slot = 0  # everything before this slot is accounted for
        self._sent_by: Callable[[int], Floats] = _no_division
        self._version = 0  # number of the division: SimPy cannot cancel a timeout, so wake-ups of older ones do nothing

    def send(self, transfer: BandTransfer) -> simpy.Event:
        """See Band."""
        done = self._env.event()
        transfer.enter(done)
        self._switch(transfer, 0.0, 0.0)  # its radio is off until a division gives it a share
        begin = steps_begun(self._env.now, self._slot_s)
        self._call_at(begin, lambda: self._join(transfer, begin))
        return done

    def withdraw(self, transfer: BandTransfer) -> None:
        """See Band."""
        transfer.leave()
        if transfer in self._joining:  # it has not had a share yet
            self._joining.remove(transfer)
            self._divide_soon()
        elif self._rows.row(transfer) is not None:
            # The account never goes back, even if rounding puts the clock just before a boundary that is accounted for.
            self._advance(max(steps_completed(self._env.now, self._slot_s), self._slot))
            row = self._rows.row(transfer)
            if row is not None:  # it may have ended at that boundary
                begun_slots = max(self._env.now / self._slot_s - self._slot, 0.0)  # a part of one slot
                self._rows.air_slots[row] += self._rows.air[row] * begun_slots
                self._rows.full_power_slots[row] += self._rows.full_power_air[row] * begun_slots
                self._remove(np.arange(len(self._rows)) == row)
            self._divide_soon()
        self._switch(transfer, 0.0, 0.0)

    def move(self, transfer: BandTransfer, drop: Drop, failing_slots: int | None) -> None:
        """See Band."""
        if self._rows.row(transfer) is None:  # it has not had a share yet: the division will find the new channel
            transfer.move(drop)
            transfer.expect_failure(failing_slots)
            return
        # The slot that has begun counts as a whole with the new channel.
        self._advance(max(steps_completed(self._env.now, self._slot_s), self._slot))
        row = self._rows.row(transfer)
        if row is not None:  # it may have ended at that boundary
            transfer.move(drop)
            self._rows.move(row, failing_slots)
        self._divide_soon()

    def _switch(self, transfer: BandTransfer, air: float, power_share: float) -> None:
        """Serve a transfer for a share of the time, with a share of its transmitter's full power, from now on."""
        transfer.switch(air)
        self._on_air(transfer.device, self._way, air, power_share)

    def _call_at(self, slot: int, function: Callable[[], None]) -> None:
        call_at(self._env, slot * self._slot_s, function)

    def _join(self, transfer: BandTransfer, slot: int) -> None:
        if transfer.done is None:  # withdrawn before its first slot
            return
        self._advance(slot)
        if transfer.through:  # it has nothing to send, or no slot left to send it in
            transfer.done.succeed()
            return
        self._joining.append(transfer)
        self._divide_soon()

    def _divide_soon(self) -> None:
        """Divide the band when everything has happened that happens now.

        Transfers that begin or end at the same slot boundary cause one division, whatever their order.
        """
        self._version += 1
        version = self._version
        # That time has come, so the call queues behind all events that are already due now.
        self._call_at(self._slot, lambda: self._divide_if(version))

    def _divide_if(self, version: int) -> None:
        if version == self._version:
            self._divide()

    def _advance(self, slot: int) -> None:
        """Account for the slots before `slot`, and let the transfers that are through leave."""
        count = slot - self._slot
        self._slot = slot
        if self._users is not None:
            self._users.advance(slot * self._slot_s, self._transfers())
        if count == 0 or not len(self._rows):
            return
        self._rows.advance(count, self._sent_by(count))
        self._sent_by = _no_division  # void: a division follows
        through = self._rows.through
        if through.any():
            for transfer in self._rows.transfers[through]:
                if transfer.done is not None:  # one that is being withdrawn has no event any more
                    transfer.done.succeed()
            self._remove(through)

    def _remove(self, leaving: Bools) -> None:
        """Let the transfers of some rows leave."""
        self._rows.write_back(np.flatnonzero(leaving))
        self._rows = self._rows.only(~leaving)

    def _divide(self) -> None:
        """Give every transfer its share, and find out which ends next."""
        if self._joining:
            self._rows = self._rows.with_more(self._joining)
            self._joining = []
        rows = self._rows
        if not len(rows):
            return
        share_hz = self._shares()
        horizon = int((rows.limit_slots - rows.slots).min())  # the nearest limit
        if self._users is not None:
            change_s = self._users.next_change_s(self._transfers())
            if change_s < np.inf:  # what comes or goes within a slot counts from the next one on
                horizon = min(horizon, max(steps_begun(change_s, self._slot_s) - self._slot, 1))
        # `fast` knows no block fading, and one engine has to tell which of them all ends first.
        if self._engine.estimates_all(rows.hold_slots):
            slots = self._flow(share_hz)
        else:
            slots = self._race(share_hz, horizon)
        self._version += 1
        version = self._version
        wake = self._slot + min(slots, horizon)
        self._call_at(wake, lambda: self._wake_if(version, wake))

    def _transfers(self) -> Ints:
        """Return how many transfers have shares in each cell [cells]."""
        return np.bincount(self._rows.cell, minlength=len(self._budget.group))

    def _wake_if(self, version: int, slot: int) -> None:
        if version == self._version:
            self._advance(slot)
            self._divide_soon()

    def _shares(self) -> Floats:
        """Return the bandwidths [n] that carry payload, in the mean over time.

        Also notes the SNRs that come with them, and switches the radios to their new shares of time and power.
        """
        rows = self._rows
        bandwidth_hz, air, mean_snr, power_share = self._divided()
        rows.bandwidth_hz[:] = bandwidth_hz
        changed = np.flatnonzero(mean_snr != rows.mean_snr)
        if changed.size:
            rows.mean_snr[changed] = mean_snr[changed]
            rows.mean_bps_hz[changed] = self._budget.mean_bps_hz(mean_snr[changed])
        resources = self._budget.resources
        share_hz = bandwidth_hz * air * resources.payload_share(self._way)
        if self._slot_shares is not None:  # the slots of the other direction carry nothing, and its own the whole rate
            share_hz = share_hz / resources.time_share(self._way)
        served = np.where(share_hz > 0, air, 0.0)  # without a resource block it waits with its radio off
        full_power = served * power_share
        changes = served != rows.air
        power_changes = full_power != rows.full_power_air
        begun_slots = self._env.now / self._slot_s - self._slot  # of a slot in which a transfer was withdrawn
        if begun_slots > SAME_STEP:
            # The slot will be accounted for as a whole with the new shares; its first part had the old ones.
            rows.air_slots[changes] += (rows.air[changes] - served[changes]) * begun_slots
            less = rows.full_power_air[power_changes] - full_power[power_changes]
            rows.full_power_slots[power_changes] += less * begun_slots
        # What a base station sends is nothing to a device's battery, and without batteries nobody listens.
        if self._way == "up" and self._on_air is not ignore_on_air:
            changes |= power_changes
        for row in np.flatnonzero(changes).tolist():
            self._switch(rows.transfers[row], float(served[row]), float(power_share[row]))
        rows.air[:] = served
        rows.full_power_air[:] = full_power
        return share_hz

    def _divided(self) -> BandShares:
        """Return the shares [n] of the band."""
        rows = self._rows
        return divide_bands(
            self._budget,
            self._way,
            devices=rows.device,
            cell=rows.cell,
            path_gain=rows.path_gain,
            all_gains=rows.all_gains,
            tx_power_w=rows.tx_power_w,
            payload_bits=rows.left_bits,
            others=self._users.others(self._transfers()) if self._users is not None else None,
        )

    def _race(self, share_hz: Floats, horizon: int) -> int:
        """Return the slots until the next transfer ends, or until gains have to be drawn anew."""
        began = time.perf_counter()
        rows = self._rows
        slot_bits = share_hz * self._slot_s * rows.mean_bps_hz
        never = np.full(len(rows), np.inf)
        # Mean rates tell about how far to look ahead. How far does not change a result: draws are keyed.
        expected_slots = np.divide(rows.left_bits, slot_bits, out=never, where=slot_bits > 0)
        room = max(LOOK_AHEAD_VALUES // len(rows), LEAST_AHEAD_SLOTS)
        ahead = int(max(1, min(room, LOOK_AHEAD_MARGIN * expected_slots.min() + LEAST_AHEAD_SLOTS, horizon)))
        bps_hz = self._coming_bps_hz(ahead, expected_slots)
        race = channel.sharing.race_at(bps_hz, rows.left_bits, share_hz, self._slot_s)
        self._engine.count_needless(time.perf_counter() - began)
        self._sent_by = lambda count: race.sent_bits[:, count - 1]
        return race.slots

    def _coming_bps_hz(self, ahead: int, expected_slots: Floats) -> Floats:
        """Return the spectral efficiencies [n, ahead] in the coming slots."""
        rows = self._rows
        efficiency = self._budget.efficiency
        if self._engine.adaptation is not None:
            return self._coming_blocks(ahead, expected_slots)
        on_waves = rows.on_waves
        if on_waves.all():
            bps_hz = np.empty((len(rows), ahead))
        else:
            bps_hz = efficiency.bps_hz(rows.look_ahead(ahead, expected_slots) * rows.mean_snr[:, None])
        for row in np.flatnonzero(on_waves).tolist():
            bps_hz[row] = rows.wave_bps_hz(row, self._slot, ahead, efficiency, self._slot_s)
        if self._slot_shares is not None:
            places = (self._slot + np.arange(ahead)) % self._slot_shares.size
            bps_hz = bps_hz * self._slot_shares[places]
        return bps_hz

    def _coming_blocks(self, ahead: int, expected_slots: Floats) -> Floats:
        """Return what link adaptation brings through in the coming slots, as spectral efficiencies [n, ahead]."""
        rows = self._rows
        bps_hz = np.zeros((len(rows), ahead))
        on_waves = rows.on_waves
        if not on_waves.all():
            snr = rows.look_ahead(ahead, expected_slots) * rows.mean_snr[:, None]
        for row, transfer in enumerate(rows.transfers):
            if not rows.mean_snr[row] > 0:  # without a share it sends no blocks
                continue
            if transfer.blocks is None:
                transfer.begin_blocks(self._engine.blocks(self._way, transfer.participant, transfer.attempt))
            if on_waves[row]:
                met = effective_snr(rows.wave_bps_hz(row, self._slot, ahead, SHANNON, self._slot_s))
            else:
                met = snr[row]
            bps_hz[row] = transfer.blocks.bps_hz(met)
        return bps_hz

    def _flow(self, share_hz: Floats) -> int:
        """Return the slots until the next transfer ends, at mean rates.

        The work of a transfer is its payload, made longer or shorter by a draw of `fast`.
        """
        rows = self._rows
        mean_bps_hz = rows.mean_bps_hz.copy()  # for K > 0, the draw makes up for it
        constant = rows.constant
        if constant.any():
            power = np.abs(channel.fading.ricean(rows.gain[constant], rows.k_factor[constant])) ** 2
            mean_bps_hz[constant] = self._budget.efficiency.bps_hz(rows.mean_snr[constant] * power)
        slot_bits = share_hz * self._slot_s * mean_bps_hz
        # Drawn once: the first share that carries anything decides how lucky the whole transfer is.
        for row in np.flatnonzero(np.isnan(rows.work) & (slot_bits > 0)).tolist():
            slots = self._expected_slots(row, share_hz[row])
            rows.work[row] = slots * slot_bits[row] / rows.left_bits[row]
        work = np.where(np.isnan(rows.work) | (rows.work == 0), 1.0, rows.work)
        rates = slot_bits / work  # bits of payload in a slot
        left_bits = rows.left_bits.copy()
        # Rates are quotients: a transfer that lacks a rounding error at a slot boundary ends there.
        almost_bits = left_bits * (1.0 - SAME_STEP)
        self._sent_by = lambda count: np.where(rates * count < almost_bits, rates * count, left_bits)
        never = np.full(left_bits.size, np.inf)
        slots = np.divide(almost_bits, rates, out=never, where=rates > 0).min()
        return math.ceil(min(float(slots), channel.transfer.MAX_SLOTS))  # infinite where no share carries a bit

    def _expected_slots(self, row: int, share_hz: float) -> float:
        """Return the slots that `fast` draws for a transfer that keeps its share, and move its fading to their end."""
        rows = self._rows
        transfer = rows.transfers[row]
        # Without a limit nothing is cut: `fast` then need not walk short transfers to cut them at a slot.
        limit_slots = None
        if rows.limit_slots[row] != channel.transfer.MAX_SLOTS:
            limit_slots = rows.limit_slots[[row]] - rows.slots[[row]]
        left_bits = float(rows.left_bits[row])
        attempt = TransmissionAttempt(
            way=self._way,
            participants=transfer.now(complex(rows.gain[row])),
            number=transfer.attempt,
            payload_bits=np.array([left_bits]),
            mean_snr=rows.mean_snr[[row]],
            bandwidth_hz=np.array([share_hz]),
            limit_slots=limit_slots,
        )
        walk = self._engine.carry(attempt)
        rows.gain[row] = walk.gain[0]
        sent_bits = float(walk.sent_bits[0])
        if sent_bits <= 0:
            return np.inf
        # An attempt that was cut at its limit has sent a part; the whole takes longer in proportion.
        return float(walk.slots[0]) * left_bits / sent_bits


def _no_division(count: int) -> Floats:
    """Refuse to tell what was sent while no shares were given out."""
    raise AssertionError(f"{count} slots were accounted for without a division of the band")
