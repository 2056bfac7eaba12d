"""The large-scale channel of devices that move while they take part, constant for intervals of time."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

import numpy as np

from edgefl.core.arrays import Floats
from edgefl.core.times import steps_completed
from edgefl.radio.drop import Drop
from edgefl.radio.radio_section import LargeScaleChange

LEAST_AHEAD = 8  # intervals whose channel is computed together when a transfer begins
MOST_AHEAD = 256  # the same, when the transfer is long

DropsAlong = Callable[[int, Floats, float, int, int], Drop]
"""Returns the channel [t] of a device along a path [t, 2], by its height, the selection's index and the cell."""


class Whereabouts(Protocol):
    """The positions of devices at any time."""

    @property
    def height_m(self) -> Floats:
        """The heights [devices] of their antennas."""

    def path_m(self, device: int, times_s: Floats) -> Floats:
        """Return the positions [t, 2] of one device at ascending times [t]."""


class MovingChannel:
    """The large-scale channel as a function of time.

    Time is divided into intervals of `update_s`, each with the channel of the position in its middle: the error of a
    steadily changing rate is then of second order.

    Args:
        section: the section `radio.large_scale`.
        drops_along: returns the channel along a path.
        where: positions of the devices.
    """

    def __init__(self, section: LargeScaleChange, drops_along: DropsAlong, where: Whereabouts) -> None:
        self.section = section
        self.drops_along = drops_along
        self.where = where

    def interval(self, time_s: float) -> int:
        """Return the number of the interval of a time; a border belongs to the interval after it."""
        return steps_completed(time_s, self.section.update_s)

    def begins_s(self, interval: int) -> float:
        """Return when an interval begins."""
        return interval * self.section.update_s

    def of(self, device: int, index: int, cell: int) -> ChannelAhead:
        """Return the channel between a device and one cell."""
        return ChannelAhead(self, device, index, cell)


class ChannelAhead:
    """The channel between one device and one cell, computed some intervals ahead of the clock.

    Args:
        moving: the channel of all devices.
        device: the device's id.
        index: of the selection that chose it.
        cell: the cell that serves it.
    """

    def __init__(self, moving: MovingChannel, device: int, index: int, cell: int) -> None:
        self._moving = moving
        self._device = device
        self._index = index
        self.cell = cell
        self._first = 0  # number of the first known interval
        self._drops: Drop | None = None  # [intervals] from there on
        self._count = LEAST_AHEAD
        self._place_m: Floats | None = None  # [2] position of the last interval's channel

    def at(self, interval: int) -> Drop:
        """Return the channel [1] in an interval; intervals never fall from one call to the next."""
        if self._drops is None or interval >= self._first + len(self._drops.ids):
            self._drops = self._compute(interval)
            self._first = interval
        return self._drops.only(np.array([interval - self._first]))

    def _compute(self, first: int) -> Drop:
        """Return the channel in the intervals from number `first` on."""
        moving = self._moving
        numbers = first + np.arange(self._count)
        self._count = min(2 * self._count, MOST_AHEAD)
        times_s: Floats = np.asarray((numbers + 0.5) * moving.section.update_s, dtype=np.float64)
        path_m = self._held(moving.where.path_m(self._device, times_s))
        height_m = float(moving.where.height_m[self._device])
        return moving.drops_along(self._device, path_m, height_m, self._index, self.cell)

    def _held(self, path_m: Floats) -> Floats:
        """Return the positions [t, 2] of the channel, each held until the device is far enough away."""
        update_m = self._moving.section.update_m
        if update_m == 0:
            return path_m
        held_m = path_m.copy()
        for number, position_m in enumerate(path_m):
            if self._place_m is None or np.hypot(*(position_m - self._place_m)) >= update_m:
                self._place_m = position_m
            held_m[number] = self._place_m
        return held_m
