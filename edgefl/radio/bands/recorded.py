"""One direction's band, divided among transfers whose SNRs were recorded, in continuous time.

The counterpart of `Band` for recorded links. Recorded SNRs are known for all times, and so is the end of each transfer
at its present share: nothing is walked slot by slot.
"""

import numpy as np
import simpy

from edgefl.core.arrays import Ints
from edgefl.core.times import SAME_TIME_S, call_at
from edgefl.radio.budget.band_users import BandUsers
from edgefl.radio.budget.link_budget import LinkBudget, OtherTransmitters
from edgefl.radio.recorded_links import RecordedLinks
from edgefl.radio.transfers import OnAir, Way

FULL_POWER = 1.0  # the power of a recording is unknown, so devices send at full power


class RecordedTransfer:
    """One attempt of a transfer over a recorded link.

    Args:
        device: its device.
        index: of the selection that chose the device; both order transfers.
        cell: the base station that serves it.
        left_bits: the payload.
        until_s: when it is cut short; inf: never.
    """

    def __init__(self, device: int, index: int, cell: int, left_bits: float, until_s: float) -> None:
        self.device = device
        self.index = index
        self.cell = cell
        self.left_bits = left_bits
        self.until_s = until_s
        self.air_s = 0.0
        self.band_s = 0.0  # time on the direction's whole band that occupies as much of it
        self.hz = 0.0  # that carry its payload, averaged over its turns
        self.air = 0.0  # share of the time that it is served
        self.occupancy = 0.0  # part of the direction's band that it occupies, averaged over time
        self.ends_s = np.inf  # when it will be complete if its share stays
        self.done: simpy.Event | None = None

    def enter(self, done: simpy.Event) -> None:
        """Enter the band; `done` fires when it is complete or cut short."""
        self.done = done

    def serve(self, hz: float, air: float, occupancy: float, ends_s: float) -> None:
        """Serve it with a share of the band from now on."""
        self.hz = hz
        self.air = air
        self.occupancy = occupancy
        self.ends_s = ends_s

    def advance(self, seconds: float, bits: float) -> None:
        """Account for a time and the bits sent in it."""
        self.left_bits -= min(bits, self.left_bits)
        self.air_s += self.air * seconds
        self.band_s += self.occupancy * seconds

    def complete(self) -> None:
        """Count everything as sent."""
        self.left_bits = 0.0


class RecordedBand:
    """The transfers of one direction in all cells, each over its recorded link."""

    def __init__(
        self,
        *,
        env: simpy.Environment,
        links: RecordedLinks,
        budget: LinkBudget,
        way: Way,
        on_air: OnAir,
        users: BandUsers | None = None,
    ) -> None:
        self._env = env
        self._links = links
        self._budget = budget
        self._way = way
        self._on_air = on_air
        self._users = users  # besides the devices; None: there are none
        self._active: list[RecordedTransfer] = []
        self._accounted_s = 0.0  # everything before this time is accounted for
        self._version = 0  # number of the division: wake-ups of older ones do nothing

    def send(self, transfer: RecordedTransfer) -> simpy.Event:
        """Begin now; the event fires when the transfer is complete, cut short or at its recording's end."""
        done = self._env.event()
        transfer.enter(done)
        self._advance()
        self._active.append(transfer)
        self._divide_soon()
        return done

    def withdraw(self, transfer: RecordedTransfer) -> None:
        """Cut a transfer short; the bits sent until now count."""
        self._advance()
        if transfer in self._active:
            self._active.remove(transfer)
            self._divide_soon()
        self._on_air(transfer.device, self._way, 0.0, FULL_POWER)

    def _divide_soon(self) -> None:
        """Divide the band after all events of this moment, so that their order does not matter."""
        self._version += 1
        version = self._version
        call_at(self._env, self._env.now, lambda: self._divide_if(version))

    def _divide_if(self, version: int) -> None:
        if version == self._version:
            self._divide()

    def _wake_if(self, version: int) -> None:
        if version == self._version:
            self._advance()
            self._divide_soon()

    def _advance(self) -> None:
        now_s = self._env.now
        seconds = now_s - self._accounted_s
        if self._users is not None and seconds > 0:
            self._users.advance(now_s, self._transfers())
        if seconds > 0:
            self._carry_on(now_s)
        self._accounted_s = now_s
        staying = []
        for transfer in self._active:
            is_over = transfer.left_bits == 0 or self._cut_s(transfer) <= now_s + SAME_TIME_S
            if is_over and transfer.done is not None:
                transfer.done.succeed()
                self._on_air(transfer.device, self._way, 0.0, FULL_POWER)
            else:
                staying.append(transfer)
        self._active = staying

    def _carry_on(self, now_s: float) -> None:
        for transfer in self._active:
            link = self._links.link(self._way, transfer.device)
            begin_s = self._links.time_s(transfer.device, self._accounted_s)
            end_s = self._links.time_s(transfer.device, now_s)
            bits = transfer.hz * link.carried(begin_s, end_s, repeats=self._links.repeats)
            transfer.advance(now_s - self._accounted_s, bits)
            if transfer.ends_s <= now_s + SAME_TIME_S:
                transfer.complete()  # its last bits may be missing by rounding

    def _cut_s(self, transfer: RecordedTransfer) -> float:
        """Return when a transfer ends at the latest: at its limit, or where its recording does."""
        return min(transfer.until_s, self._links.ends_s(self._way, transfer.device))

    def _divide(self) -> None:
        if not self._active:
            return
        self._active.sort(key=lambda transfer: (transfer.device, transfer.index))
        cells = np.array([transfer.cell for transfer in self._active])
        transfers = self._transfers()
        others = None
        if self._users is not None:
            others = self._users.others(transfers)
        for cell in np.unique(cells).tolist():
            self._serve([self._active[row] for row in np.flatnonzero(cells == cell)], cell, others)
        wake_s = min(min(transfer.ends_s, self._cut_s(transfer)) for transfer in self._active)
        if self._users is not None:
            # A change counts a moment later, so that frequent changes cannot make time stand still.
            wake_s = min(wake_s, max(self._users.next_change_s(transfers), self._env.now) + SAME_TIME_S)
        self._version += 1
        version = self._version
        if wake_s < np.inf:
            call_at(self._env, wake_s, lambda: self._wake_if(version))

    def _transfers(self) -> Ints:
        """Return the number of transfers under way in each cell [cells]."""
        cells = np.array([transfer.cell for transfer in self._active], dtype=np.int64)
        return np.bincount(cells, minlength=len(self._budget.group))

    def _serve(self, transfers: list[RecordedTransfer], cell: int, others: OtherTransmitters | None) -> None:
        now_s = self._env.now
        resources = self._budget.resources
        devices = np.array([transfer.device for transfer in transfers])
        left_bits = np.array([transfer.left_bits for transfer in transfers])
        # A recorded SNR holds on any share, like that of a transmitter that spreads its power over the band.
        snr_hz = self._links.snr(self._way, devices, now_s) * resources.band_hz
        free_share = 1.0
        other_users = 0.0
        if others is not None:
            free_share = float(others.free_shares[cell])
            other_users = float(others.counts[cell])
        shares = resources.divide(
            left_bits,
            snr_hz,
            self._budget.efficiency,
            way=self._way,
            spread=True,
            devices=devices,
            index=np.array([transfer.index for transfer in transfers]),
            free_share=free_share,
            others=other_users,
        )
        airs = shares.duty * resources.time_share(self._way)
        payload_hz = shares.bandwidth_hz * airs * resources.payload_share(self._way)
        for transfer, hz, air in zip(transfers, payload_hz.tolist(), airs.tolist(), strict=True):
            served = 0.0  # without a resource block it waits with its radio off
            ends_s = np.inf
            if hz > 0:
                served = air
                link = self._links.link(self._way, transfer.device)
                begin_s = self._links.time_s(transfer.device, now_s)
                ends_s = now_s + link.takes_s(begin_s, transfer.left_bits / hz, repeats=self._links.repeats)
            if served != transfer.air or transfer.air == 0:
                self._on_air(transfer.device, self._way, served, FULL_POWER)
            transfer.serve(hz, served, hz / resources.capacity_hz(self._way), ends_s)
