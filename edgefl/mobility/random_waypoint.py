"""Random waypoint in the cell."""

from __future__ import annotations

from bisect import bisect_right
from typing import NamedTuple

import numpy as np

from edgefl.mobility.base import Area, Floats, Ids, Mobility, Track
from edgefl.streams import Streams


class RandomWaypoint(Mobility):
    """Straight legs between uniform points, without pauses, from the stationary law (Navidi & Camp, IEEE TMC 2004).

    A leg never crosses the hole around the base station, where the path-loss models do not hold.
    """

    def track(self, area: Area, speeds_mps: Floats, streams: Streams) -> Track:
        """Each device moves at its own constant speed."""
        return _Legs(area, speeds_mps, streams)


class _Path(NamedTuple):
    """Waypoints and the times at which the device is at them, so far as anybody asked."""

    times_s: list[float]
    points: list[Floats]


class _Legs:
    """Legs are keyed by (device, leg number) and remembered; what is remembered never changes an answer."""

    def __init__(self, area: Area, speeds_mps: Floats, streams: Streams) -> None:
        self.area, self.speeds_mps, self.streams = area, speeds_mps, streams
        self.paths: dict[int, _Path] = {}

    def positions_m(self, ids: Ids, time_s: float) -> Floats:
        """Positions [n, 2]."""
        return np.array([self._position(int(device), time_s) for device in ids]).reshape(-1, 2)

    def _position(self, device: int, time_s: float) -> Floats:
        times, points = path = self.paths.get(device) or self._first_leg(device)
        while times[-1] <= time_s:
            self._next_leg(device, path)
        leg = bisect_right(times, time_s) - 1
        share = 0.0 if np.isinf(times[leg + 1]) else (time_s - times[leg]) / (times[leg + 1] - times[leg])
        return points[leg] + share * (points[leg + 1] - points[leg])

    def _first_leg(self, device: int) -> _Path:
        """A leg met at a random time: legs weighted by their length, the device anywhere on it.

        Visible pairs are symmetric, so the chain of waypoints is reversible and its pairs are uniform over visible
        pairs; weighting by length turns the law at waypoints into the law at a random time (Palm inversion).
        """
        rng = self.streams.generator("waypoint", device)
        while True:
            start, end = self.area.points(rng.random((2, 2)))
            length = float(np.hypot(*(end - start)))
            if rng.random() * 2 * self.area.radius_m < length and self._visible(start, end):
                break
        done = rng.random()
        speed = self.speeds_mps[device]
        if speed == 0:
            here = start + done * (end - start)
            path = _Path([0.0, np.inf], [here, here])
        else:
            path = _Path([-done * length / speed, (1 - done) * length / speed], [start, end])
        self.paths[device] = path
        return path

    def _next_leg(self, device: int, path: _Path) -> None:
        times, points = path
        rng = self.streams.generator("waypoint", device, len(points) - 1)
        while not self._visible(points[-1], end := self.area.points(rng.random(2))):
            pass
        times.append(times[-1] + float(np.hypot(*(end - points[-1]))) / float(self.speeds_mps[device]))
        points.append(end)

    def _visible(self, start: Floats, end: Floats) -> bool:
        """Whether the straight leg keeps out of the hole."""
        leg = end - start
        nearest = start + np.clip(-(start @ leg) / max(float(leg @ leg), 1e-300), 0, 1) * leg
        return bool(nearest @ nearest >= self.area.min_distance_m**2)
