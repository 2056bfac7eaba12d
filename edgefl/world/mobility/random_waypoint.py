"""Random waypoint in the cell."""

from __future__ import annotations

from itertools import count as count_from
from math import dist, hypot

import numpy as np

from edgefl.core.arrays import Floats
from edgefl.core.streams import Purpose, Streams
from edgefl.world.mobility.base import Area, Track, WithSpeed
from edgefl.world.mobility.legs import Corners, Legs

Point = tuple[float, float]  # plain numbers: a waypoint is one of many small things


class RandomWaypoint(WithSpeed):
    """Straight legs between uniform points, without pauses, from the stationary law (Navidi & Camp, IEEE TMC 2004).

    A leg never crosses the hole around the base station, where the path-loss models do not hold.
    """

    def track(self, area: Area, count: int, streams: Streams) -> Track:
        """Each device moves at its own constant speed."""
        return Waypoints(area, self.speeds(count, streams), streams)


class Waypoints(Legs):
    """Legs keyed by (device, leg number)."""

    def __init__(self, area: Area, speeds_mps: Floats, streams: Streams, purpose: Purpose = "waypoint") -> None:
        super().__init__(speeds_mps)
        self.area, self.streams, self.purpose = area, streams, purpose

    def corners(self, device: int) -> Corners:
        """Waypoints; the first one lies behind the device at time 0."""
        start, end, done = self._first(device)
        length, speed = dist(start, end), float(self._speeds_mps[device])
        if speed == 0:
            here = np.array(start) + done * np.subtract(end, start)
            yield 0.0, here
            yield np.inf, here
        time = (1 - done) * length / speed
        yield -done * length / speed, np.array(start)
        yield time, np.array(end)
        for leg in count_from(1):
            start, rng = end, self.streams.generator(self.purpose, device, leg)
            while not self._visible(start, end := self.area.point(*rng.random(2).tolist())):
                pass
            time += dist(start, end) / speed
            yield time, np.array(end)

    def _first(self, device: int) -> tuple[Point, Point, float]:
        """A leg met at a random time: legs weighted by their length, the device anywhere on it.

        Visible pairs are symmetric, so the chain of waypoints is reversible and its pairs are uniform over visible
        pairs; weighting by length turns the law at waypoints into the law at a random time (Palm inversion).
        """
        rng, point = self.streams.generator(self.purpose, device), self.area.point
        while True:
            *uniforms, coin = rng.random(5).tolist()
            start, end = point(*uniforms[:2]), point(*uniforms[2:])
            if coin * 2 * self.area.radius_m < dist(start, end) and self._visible(start, end):
                return start, end, rng.random()

    def _visible(self, start: Point, end: Point) -> bool:
        """Whether the straight leg keeps out of the hole."""
        (x, y), dx, dy = start, end[0] - start[0], end[1] - start[1]
        share = -(x * dx + y * dy) / max(dx * dx + dy * dy, 1e-300)  # where the leg's line is nearest to the middle
        share = min(max(share, 0.0), 1.0)
        return hypot(x + share * dx, y + share * dy) >= self.area.min_distance_m
