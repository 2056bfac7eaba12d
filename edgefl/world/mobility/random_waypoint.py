"""Random waypoint in the cell."""

from itertools import count as count_from
from math import dist
from typing import ClassVar

import numpy as np

from edgefl.core.arrays import Floats
from edgefl.core.streams import Purpose, Streams
from edgefl.world.mobility.area import Area
from edgefl.world.mobility.base import Track, WithSpeed
from edgefl.world.mobility.legs import Corners, Legs

Waypoint = tuple[float, float]  # plain numbers, as arrays of two are slow, and there are very many waypoints


class RandomWaypoint(WithSpeed):
    """Straight legs between uniform points, without pauses, from the stationary law (Navidi & Camp, IEEE TMC 2004).

    A leg never crosses the hole around the base station, where the path-loss models do not hold.
    """

    keeps_to_hexagons: ClassVar[bool] = True

    def track(self, area: Area, count: int, streams: Streams) -> Track:
        """Return a track on which each device keeps its speed."""
        return Waypoints(area, self.speeds(count, streams), streams)


class Waypoints(Legs):
    """Legs between uniform points, each keyed by (device, leg number)."""

    def __init__(self, area: Area, speeds_mps: Floats, streams: Streams, purpose: Purpose = "waypoint") -> None:
        super().__init__(speeds_mps)
        self.area = area
        self.streams = streams
        self.purpose = purpose

    def corners(self, device: int) -> Corners:
        """Yield waypoints by time [s]; the first one lies behind the device at time 0."""
        start, end, covered = self._first_leg(device)
        length_m = dist(start, end)
        speed_mps = float(self._speeds_mps[device])
        if speed_mps == 0:  # stands where it is on the leg, for ever
            position = np.array(start) + covered * np.subtract(end, start)
            yield 0.0, position
            yield np.inf, position
        time_s = (1 - covered) * length_m / speed_mps
        yield -covered * length_m / speed_mps, np.array(start)
        yield time_s, np.array(end)
        for leg in count_from(1):
            start = end
            rng = self.streams.generator(self.purpose, device, leg)  # rejected draws move no other leg's
            end = self.area.point(*rng.random(2).tolist())
            while not self.area.sees(start, end):  # a leg through a hole, or out of the cells, is drawn again
                end = self.area.point(*rng.random(2).tolist())
            time_s += dist(start, end) / speed_mps
            yield time_s, np.array(end)

    def _first_leg(self, device: int) -> tuple[Waypoint, Waypoint, float]:
        """Return the leg at time 0, from its start to its end, and the part of it that is covered.

        It is a leg met at a random time: legs are weighted by their length, and the device is anywhere on it. Visible
        pairs are symmetric, so the chain of waypoints is reversible and its pairs are uniform; weighting by length
        turns the law at waypoints into the law at a random time (Palm inversion).
        """
        rng = self.streams.generator(self.purpose, device)
        longest_m = 2 * self.area.radius_m
        # By rejection: a pair is kept with a chance in proportion to its length.
        while True:
            u, v, s, t, coin = rng.random(5).tolist()
            start = self.area.point(u, v)
            end = self.area.point(s, t)
            if coin * longest_m < dist(start, end) and self.area.sees(start, end):
                return start, end, rng.random()
