"""Devices that stand still."""

from typing import ClassVar

import numpy as np

from edgefl.core.arrays import Floats, Ids
from edgefl.core.distributions import Constant
from edgefl.core.per_device import NonNegative
from edgefl.core.streams import Streams
from edgefl.world.mobility.area import Area
from edgefl.world.mobility.base import Track, WithSpeed


class Static(WithSpeed):
    """Devices stay where they are; a speed only drives the Doppler spread (dynamic-devices paper, Table I: 10 m/s)."""

    speed_mps: NonNegative = Constant(value=0.0)  # Speed of each device, only for the Doppler spread.

    moves: ClassVar[bool] = False
    keeps_to_hexagons: ClassVar[bool] = True

    def track(self, area: Area, count: int, streams: Streams) -> Track:
        """Return one point for each device, uniform over the area."""
        return _StaticTrack(area, self.speeds(count, streams), streams)


class _StaticTrack(Track):
    def __init__(self, area: Area, speeds_mps: Floats, streams: Streams) -> None:
        super().__init__(speeds_mps)
        self._positions_m = area.points(streams.uniform("placement", np.arange(len(speeds_mps)), count=2))

    def positions_m(self, ids: Ids, time_s: float) -> Floats:
        return self._positions_m[ids]

    def path_m(self, device: int, times_s: Floats) -> Floats:
        position_m = self.positions_m(np.array([device]), 0.0)
        return np.repeat(position_m, len(times_s), axis=0)

    def stays_within_until_s(self, ids: Ids, time_s: float, distance_m: Floats) -> Floats:
        return np.full(len(ids), np.inf)
