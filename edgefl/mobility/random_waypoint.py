"""Random waypoint in the cell."""

from __future__ import annotations

from itertools import count as count_from

import numpy as np

from edgefl.mobility.base import Area, Floats, Track, WithSpeed
from edgefl.mobility.legs import Corners, Legs
from edgefl.streams import Purpose, Streams


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
        length, speed = float(np.hypot(*(end - start))), float(self._speeds_mps[device])
        if speed == 0:
            here = start + done * (end - start)
            yield 0.0, here
            yield np.inf, here
        time = (1 - done) * length / speed
        yield -done * length / speed, start
        yield time, end
        for leg in count_from(1):
            start, rng = end, self.streams.generator(self.purpose, device, leg)
            while not self._visible(start, end := self.area.points(rng.random(2))):
                pass
            time += float(np.hypot(*(end - start))) / speed
            yield time, end

    def _first(self, device: int) -> tuple[Floats, Floats, float]:
        """A leg met at a random time: legs weighted by their length, the device anywhere on it.

        Visible pairs are symmetric, so the chain of waypoints is reversible and its pairs are uniform over visible
        pairs; weighting by length turns the law at waypoints into the law at a random time (Palm inversion).
        """
        rng = self.streams.generator(self.purpose, device)
        while True:
            start, end = self.area.points(rng.random((2, 2)))
            length = float(np.hypot(*(end - start)))
            if rng.random() * 2 * self.area.radius_m < length and self._visible(start, end):
                return start, end, rng.random()

    def _visible(self, start: Floats, end: Floats) -> bool:
        """Whether the straight leg keeps out of the hole."""
        leg = end - start
        nearest = start + np.clip(-(start @ leg) / max(float(leg @ leg), 1e-300), 0, 1) * leg
        return bool(nearest @ nearest >= self.area.min_distance_m**2)
