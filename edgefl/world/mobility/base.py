"""Mobility models say where devices are: positions are functions of (device, time).

To write a mobility model:

1. One file in this folder with a subclass of `Mobility`, or of `WithSpeed` if devices draw a speed. Its fields are its
   keys under `mobility`, and the first line of its docstring, which names the source, is what `edgefl list mobility`
   prints.
2. `track`, which returns a subclass of `Track`, or of `Legs` (`legs.py`) if devices move straight on between corners. A
   position must depend neither on earlier questions nor on the number of devices: every draw is keyed by its device.
3. `check`, and the flags that differ.
4. One line in the table of contents (`members.csv`), one test in `tests/world/test_mobility.py`, one row in
   `docs/mobility.md`.
"""

from typing import ClassVar

import numpy as np

from edgefl.core.arrays import Bools, Floats, Ids
from edgefl.core.catalogue import Member
from edgefl.core.distributions import Constant
from edgefl.core.per_device import NON_NEGATIVE, NonNegative, draw
from edgefl.core.streams import Streams
from edgefl.world.mobility.area import Area


def duration_s(distance_m: Floats, speed_mps: Floats) -> Floats:
    """Return the seconds [n] that distances [n] take at speeds [n]; infinite without speed."""
    never_s = np.full(len(speed_mps), np.inf)
    return np.asarray(np.divide(distance_m, speed_mps, out=never_s, where=speed_mps > 0))


class Track:
    """The positions of the devices of one run; models whose devices keep no speed [devices] override `speeds_mps`."""

    def __init__(self, speeds_mps: Floats) -> None:
        self._speeds_mps = speeds_mps

    def positions_m(self, ids: Ids, time_s: float) -> Floats:
        """Return the positions [n, 2] of devices at a time; of a device off the map, its position nearest in time."""
        raise NotImplementedError

    def path_m(self, device: int, times_s: Floats) -> Floats:
        """Return the positions [t, 2] of one device at ascending times [t], each as `positions_m` gives it."""
        ids = np.array([device])
        return np.array([self.positions_m(ids, time_s)[0] for time_s in times_s.tolist()]).reshape(-1, 2)

    def speeds_mps(self, ids: Ids, time_s: float) -> Floats:
        """Return the speeds [n] of devices at a time, which drive the Doppler spread."""
        return self._speeds_mps[ids]

    def on_map(self, ids: Ids, time_s: float) -> Bools:
        """Return which of devices [n] are on the map or in the trace at a time."""
        return np.ones(len(ids), dtype=bool)

    @property
    def can_leave(self) -> bool:
        """Return whether a device can leave the map, or the reach of all base stations."""
        return False

    def stays_within_until_s(self, ids: Ids, time_s: float, distance_m: Floats) -> Floats:
        """Return times [n] until which devices certainly move at most distances [n], and enter or leave no map."""
        return np.asarray(time_s + duration_s(distance_m, self._speeds_mps[ids]))


class Mobility(Member):
    """Base class of all mobility models; its class variables are flags, which the checks of a scenario read."""

    keeps_min_distance: ClassVar[bool] = True
    """No device comes nearer to the base station than `cells.min_distance_m`."""

    moves: ClassVar[bool] = True
    """Positions change with time."""

    keeps_to_hexagons: ClassVar[bool] = False
    """Devices stay in hexagonal cells: they start at `Area.points` and turn at `Area.wall`."""

    def check(self, area: Area) -> str | None:
        """Return why devices cannot move like this in the area; None if they can."""
        return None

    def track(self, area: Area, count: int, streams: Streams) -> Track:
        """Return the track of `count` devices in the area, for one run.

        Raises:
            InputError: a device draws a speed that is not allowed, or a file is wrong.
        """
        raise NotImplementedError


class WithSpeed(Mobility):
    """Base class of the models whose devices draw a speed."""

    speed_mps: NonNegative = Constant(value=10.0)  # Speed of each device.

    def speeds(self, count: int, streams: Streams) -> Floats:
        """Return the speeds [count] in m/s.

        Raises:
            InputError: a device draws one that is not allowed.
        """
        return draw("speed_mps", self.speed_mps, NON_NEGATIVE, np.arange(count, dtype=np.int64), streams)
