"""The clock of a shared band, which divides it whenever a transfer begins or ends."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
import simpy

from channel.link_race import Table
from edgefl.core.arrays import Bools, Floats, Ints
from edgefl.core.times import SAME_STEP, call_at, steps_begun, steps_completed
from edgefl.radio.bands.block_race import BlockRace
from edgefl.radio.bands.memory import BandMemory
from edgefl.radio.bands.progress import BandProgress, Progress
from edgefl.radio.bands.rows import BandRows
from edgefl.radio.bands.transfer import BandTransfer
from edgefl.radio.budget.band_users import BandUsers
from edgefl.radio.budget.shares import BandShares, divide_bands
from edgefl.radio.drop import Drop
from edgefl.radio.prices.transmission import TransmissionEngine
from edgefl.radio.transfers import OnAir, Way, ignore_on_air


class _Shares(NamedTuple):
    """The shares of transfers [n], which hold until one begins, moves or ends."""

    carried_hz: Floats  # bandwidth that carries payload, averaged over time
    bandwidth_hz: Floats  # in their turns
    air: Floats  # shares of the time, averaged over the frame
    power_share: Floats  # of full power


class BandClock:
    """Transfers whose shares depend on each other, on one grid of slots.

    Between two divisions all shares hold. `_ahead` knows how many bits each transfer has sent some slots after one.
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
        self._memory: BandMemory | None = None  # of an allocation in time, which gives turns
        if engine.budget.radio.allocation.in_time:
            self._memory = BandMemory(engine.budget.radio.allocation, self._slot_s)
        self._shares_now: _Shares | None = None  # of the transfers; None: to be divided
        self._engines = BandProgress(engine, way)
        self._rows = BandRows.of([], len(engine.budget.group), self._begin_blocks([]))
        self._joining: list[BandTransfer] = []  # since the last division
        self._slot = 0  # everything before this slot is accounted for
        self._ahead: Progress | BlockRace | None = None  # since the last division; None after `_slot` has moved on
        self._horizon = 0  # the most slots that the shares hold
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
            # Never before `_slot`, even if rounding puts the clock just before a boundary that is accounted for.
            self._advance(max(steps_completed(self._env.now, self._slot_s), self._slot))
            row = self._rows.row(transfer)
            if row is not None:  # it may have ended at that boundary
                begun_slots = max(self._env.now / self._slot_s - self._slot, 0.0)  # a part of one slot
                self._rows.air_slots[row] += self._rows.air[row] * begun_slots
                self._rows.full_power_slots[row] += self._rows.full_power_air[row] * begun_slots
                self._rows.band_slots[row] += self._rows.occupancy[row] * begun_slots
                self._rows.sinr_slots[row] += self._rows.sinr_air[row] * begun_slots
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
            self._shares_now = None
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
        if transfer.through:  # it has nothing to send, or no slot left to send it in
            transfer.done.succeed()
            return
        self._advance(slot)
        self._joining.append(transfer)
        self._divide_soon()

    def _divide_soon(self) -> None:
        """Divide the band after all events of this moment, so that one slot boundary causes one division."""
        self._version += 1
        version = self._version
        # The time is now, so the call queues behind all events that are already due.
        self._call_at(self._slot, lambda: self._divide_if(version))

    def _divide_if(self, version: int) -> None:
        if version == self._version:
            self._divide()

    def _advance(self, slot: int) -> None:
        """Account for the slots before `slot`, and remove the transfers that are through."""
        count = slot - self._slot
        self._slot = slot
        if self._users is not None:
            self._users.advance(slot * self._slot_s, self._transfers())
        if count == 0 or not len(self._rows):
            return
        if self._ahead is None:
            raise AssertionError(f"{count} slots were accounted for without a division of the band")
        before_bits = self._rows.sent_bits.copy()
        self._rows.advance(count, self._ahead.settle(count))
        if self._memory is not None:
            self._memory.note(self._rows.device, slot - count, count, self._rows.sent_bits - before_bits)
        self._ahead = None
        through = self._rows.through
        if through.any():
            for transfer in self._rows.transfers[through]:
                if transfer.done is not None:  # a withdrawn transfer has no event any more
                    transfer.done.succeed()
            self._remove(through)

    def _remove(self, leaving: Bools) -> None:
        self._rows.write_back(np.flatnonzero(leaving))
        self._rows = self._rows.only(~leaving)
        self._shares_now = None

    def _divide(self) -> None:
        if self._joining:
            self._rows = self._rows.with_more(self._joining, self._begin_blocks(self._joining))
            self._joining = []
            self._shares_now = None
        rows = self._rows
        if not len(rows):
            return
        shares = self._shares_now
        if shares is None:
            shares = self._shares()
        horizon = int((rows.limit_slots - rows.slots).min())  # the nearest limit
        if self._memory is not None:
            horizon = min(horizon, self._memory.every_slots)
        if self._users is not None:
            change_s = self._users.next_change_s(self._transfers())
            if change_s < np.inf:  # a change within a slot counts from the next slot on
                horizon = min(horizon, max(steps_begun(change_s, self._slot_s) - self._slot, 1))
        self._horizon = horizon
        self._ahead = self._engines.divide(rows, shares.carried_hz, self._slot, horizon)
        slots = min(self._ahead.slots, horizon)
        if shares is not self._shares_now or self._slot_shares is not None:
            self._put_on_air(shares, slots)
        self._shares_now = shares
        self._version += 1
        self._wake_after(slots)

    def _begin_blocks(self, transfers: Sequence[BandTransfer]) -> Table | None:
        """Return the processes of transport blocks [n] of transfers that begin."""
        ids = [transfer.device for transfer in transfers]
        indices = [transfer.participant.index for transfer in transfers]
        attempts = [transfer.attempt_in_round for transfer in transfers]
        start = np.array([transfer.gain for transfer in transfers], dtype=np.complex128)
        return self._engine.block_table(self._way, ids, indices, attempts, start)

    def _wake_after(self, slots: int) -> None:
        """Wake up some slots after the last division, unless the band is divided before."""
        version = self._version
        wake = self._slot + slots
        self._call_at(wake, lambda: self._wake_if(version, wake))

    def _transfers(self) -> Ints:
        """Return the number of transfers with shares in each cell [cells]."""
        return np.bincount(self._rows.cell, minlength=len(self._budget.group))

    def _wake_if(self, version: int, slot: int) -> None:
        if version != self._version:
            return
        if self._ahead is not None and self._ahead.goes_on():
            self._wake_after(self._ahead.slots)
            return
        if slot - self._slot == self._horizon:
            self._shares_now = None
        self._advance(slot)
        self._divide_soon()

    def _shares(self) -> _Shares:
        """Return the shares [n] of the transfers, and note their SNRs."""
        rows = self._rows
        bandwidth_hz, air, mean_snr, power_share = self._divided()
        rows.bandwidth_hz[:] = bandwidth_hz
        changed = np.flatnonzero(mean_snr != rows.mean_snr)
        if changed.size:
            rows.mean_snr[changed] = mean_snr[changed]
            rows.mean_bps_hz[changed] = self._budget.mean_bps_hz(mean_snr[changed])
        if self._memory is not None:
            air = self._turns(self._memory, air)
        resources = self._budget.resources
        share_hz = bandwidth_hz * air * resources.payload_share(self._way)
        if self._slot_shares is not None:  # the direction's slots carry the whole rate, the others nothing
            share_hz = share_hz / resources.time_share(self._way)
        served = np.where(share_hz > 0, air, 0.0)  # without a resource block it waits with its radio off
        return _Shares(share_hz, bandwidth_hz, served, power_share)

    def _put_on_air(self, shares: _Shares, slots: int) -> None:
        """Switch the radios to their shares of time and power for the coming slots."""
        rows = self._rows
        resources = self._budget.resources
        served = shares.air
        if self._slot_shares is not None:  # the radio is on in the direction's slots, which a meter averages until then
            served = served * resources.on_air_slots(self._way, self._slot, slots)
            served = served / (slots * resources.time_share(self._way))
        full_power = served * shares.power_share
        occupancy = resources.occupancy(self._way, shares.bandwidth_hz, served)
        sinr_air = served * rows.mean_snr
        changes = served != rows.air
        power_changes = full_power != rows.full_power_air
        begun_slots = self._env.now / self._slot_s - self._slot  # of a slot, when a transfer was withdrawn in it
        if begun_slots > SAME_STEP:
            # The whole slot will be accounted for with the new shares, but its first part had the old ones.
            rows.air_slots[changes] += (rows.air[changes] - served[changes]) * begun_slots
            less = rows.full_power_air[power_changes] - full_power[power_changes]
            rows.full_power_slots[power_changes] += less * begun_slots
            rows.band_slots += (rows.occupancy - occupancy) * begun_slots
            rows.sinr_slots += (rows.sinr_air - sinr_air) * begun_slots
        # A base station's power does not matter to a device's battery, and without batteries no listener exists.
        if self._way == "up" and self._on_air is not ignore_on_air:
            changes |= power_changes
        for row in np.flatnonzero(changes).tolist():
            self._switch(rows.transfers[row], float(served[row]), float(shares.power_share[row]))
        rows.air[:] = served
        rows.full_power_air[:] = full_power
        rows.occupancy[:] = occupancy
        rows.sinr_air[:] = sinr_air

    def _turns(self, memory: BandMemory, air: Floats) -> Floats:
        """Return the fractions [n] of the time that transfers are served until the next division.

        Args:
            memory: of the devices.
            air: [n] the same by the allocation's shares; a cell's sum is what transfers may have.
        """
        rows = self._rows
        ahead = int(min((rows.limit_slots - rows.slots).min(), memory.every_slots))
        bps_hz = self._engines.mean_bps_hz(rows, self._slot, ahead)
        turns = np.zeros(len(rows))
        for cell in np.unique(rows.cell):
            own = np.flatnonzero(rows.cell == cell)
            part = memory.turns(rows.device[own], bps_hz[own] * rows.bandwidth_hz[own], self._slot)
            turns[own] = air[own].sum() * part
        return turns

    def _divided(self) -> BandShares:
        """Return the shares [n] of the band."""
        rows = self._rows
        others = None
        if self._users is not None:
            others = self._users.others(self._transfers())
        return divide_bands(
            self._budget,
            self._way,
            devices=rows.device,
            cell=rows.cell,
            path_gain=rows.path_gain,
            all_gains=rows.all_gains,
            tx_power_w=rows.tx_power_w,
            payload_bits=rows.left_bits,
            index=rows.index,
            others=others,
        )
