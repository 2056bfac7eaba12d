"""One direction's band under processor sharing: a clock for each cell, or one for all that interfere."""

import simpy

from edgefl.radio.bands.clock import BandClock
from edgefl.radio.bands.transfer import BandTransfer
from edgefl.radio.budget.band_users import Traffic
from edgefl.radio.drop import Drop
from edgefl.radio.prices.transmission import TransmissionEngine
from edgefl.radio.transfers import OnAir, Way, ignore_on_air

ALL_CELLS = -1  # key of the clock that cells share which interfere


class Band:
    """The transfers of one direction, in all cells.

    A transfer that begins or ends changes the shares in its cell. With interference it also changes the rates in all
    others, so one clock divides for all. Without interference the cost of an event does not depend on the number of
    cells.
    """

    def __init__(
        self,
        env: simpy.Environment,
        engine: TransmissionEngine,
        way: Way,
        on_air: OnAir = ignore_on_air,
        traffic: Traffic | None = None,
    ) -> None:
        self._env = env
        self._engine = engine
        self._way = way
        self._on_air = on_air
        self._traffic = traffic  # of other users; None: there is none
        self._clocks: dict[int, BandClock] = {}

    def send(self, transfer: BandTransfer) -> simpy.Event:
        """Begin at the next slot boundary; the event fires when the transfer is complete or at its limit."""
        return self._clock(transfer).send(transfer)

    def withdraw(self, transfer: BandTransfer) -> None:
        """Cut a transfer short: its bits count up to the last slot boundary, its radio time until now."""
        self._clock(transfer).withdraw(transfer)

    def move(self, transfer: BandTransfer, drop: Drop, failing_slots: int | None) -> None:
        """Give a transfer on the band another large-scale channel [1] to the same cell, from now on.

        Args:
            transfer: the transfer.
            drop: the channel.
            failing_slots: slots after which it fails over this channel; None if it does not.
        """
        self._clock(transfer).move(transfer, drop, failing_slots)

    def _clock(self, transfer: BandTransfer) -> BandClock:
        """Return the clock of the cell that serves a transfer, which changes only while it is off the band."""
        key = transfer.cell
        if self._engine.budget.interferes:
            key = ALL_CELLS
        if key not in self._clocks:
            users = None
            if self._traffic is not None:
                cells = [key] if key != ALL_CELLS else range(len(self._engine.budget.group))
                users = self._traffic.users(self._way, cells)
            self._clocks[key] = BandClock(self._env, self._engine, self._way, self._on_air, users)
        return self._clocks[key]
