"""What mobility is: positions as functions of (device, time)."""

from __future__ import annotations

from dataclasses import dataclass
from math import cos, pi, sin, sqrt
from typing import ClassVar

import numpy as np

from edgefl.core.arrays import Bools, Floats, Ids
from edgefl.core.catalogue import Member
from edgefl.core.distributions import NON_NEGATIVE, Constant, NonNegative, draw
from edgefl.core.streams import Streams


@dataclass(frozen=True)
class Area:
    """The annulus around (0, 0) in which devices are, min_distance_m <= distance <= radius_m, and what is covered."""

    min_distance_m: float
    radius_m: float
    sites_m: tuple[tuple[float, float], ...] = ((0.0, 0.0),)  # of base stations ...
    reach_m: float | None = None  # ... and how far each covers: radius_m where not given; inf is everywhere

    @property
    def disc_m(self) -> float:
        """How far a base station covers."""
        return self.radius_m if self.reach_m is None else self.reach_m

    def points(self, u: Floats) -> Floats:
        """Points [..., 2] of uniform areal density from uniforms [..., 2] (dynamic-devices paper, eq. 22)."""
        from channel.geometry import annulus_distance_m

        distance = annulus_distance_m(u[..., 0], self.min_distance_m, self.radius_m)
        angle = 2 * np.pi * u[..., 1]
        return np.stack([distance * np.cos(angle), distance * np.sin(angle)], axis=-1)

    def point(self, u: float, v: float) -> tuple[float, float]:
        """One of `points`, at a tenth of the time that an array of one takes."""
        inner = self.min_distance_m**2
        distance, angle = sqrt(inner + u * (self.radius_m**2 - inner)), 2 * pi * v
        return distance * cos(angle), distance * sin(angle)

    def covers(self, points_m: Floats) -> Bools:
        """Which points [..., 2] are within radius_m."""
        return np.asarray(np.hypot(points_m[..., 0], points_m[..., 1]) <= self.radius_m)


class Track:
    """Where the devices of one run are.

    Args:
        speeds_mps: [devices], of those models whose devices keep their speed.
    """

    def __init__(self, speeds_mps: Floats) -> None:
        self._speeds_mps = speeds_mps

    def positions_m(self, ids: Ids, time_s: float) -> Floats:
        """Positions [n, 2] of devices [n] at a time; where a device is not there, the place nearest in time."""
        raise NotImplementedError

    def speeds_mps(self, ids: Ids, time_s: float) -> Floats:
        """Speeds [n] of devices [n] at a time, which drive the Doppler spread."""
        return self._speeds_mps[ids]

    def on_map(self, ids: Ids, time_s: float) -> Bools:
        """Which of the devices [n] the map or trace has at a time, wherever they are."""
        return np.ones(len(ids), dtype=bool)

    @property
    def can_leave(self) -> bool:
        """Whether a device can come to where no base station reaches it, or off the map."""
        return False

    def stays_within_until_s(self, ids: Ids, time_s: float, slack_m: Floats) -> Floats:
        """The times [n] until which devices [n] move no farther than `slack_m` [n], nor onto or off the map."""
        speeds = self._speeds_mps[ids]
        return np.asarray(time_s + np.divide(slack_m, speeds, out=np.full(len(ids), np.inf), where=speeds > 0))


class Mobility(Member):
    """Base of all mobility models."""

    keeps_min_distance: ClassVar[bool] = True
    """No device comes nearer to the base station than `cells.min_distance_m`."""

    moves: ClassVar[bool] = True
    """Positions change with time."""

    def check(self, area: Area) -> str | None:
        """Why devices cannot move so in the area, or None."""
        return None

    def track(self, area: Area, count: int, streams: Streams) -> Track:
        """The movement of `count` devices in the area.

        Raises:
            InputError: a device draws a speed that cannot be, or a file is not what it should be.
        """
        raise NotImplementedError


class WithSpeed(Mobility):
    """Base of the models whose devices draw a speed."""

    speed_mps: NonNegative = Constant(value=10.0)

    def speeds(self, count: int, streams: Streams) -> Floats:
        """Speeds [count] in m/s.

        Raises:
            InputError: a device draws one that cannot be.
        """
        return draw("speed_mps", self.speed_mps, NON_NEGATIVE, np.arange(count, dtype=np.int64), streams)
