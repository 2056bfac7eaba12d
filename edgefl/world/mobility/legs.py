"""Movement in straight legs, each at a constant velocity: what most models have in common."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from edgefl.core.arrays import Floats, Ids
from edgefl.world.mobility.base import Track

Corners = Iterator[tuple[float, Floats]]
"""Where a device turns, in order and without end: (time or distance, point [2]); the first one is at 0 or before."""


class _Path(NamedTuple):
    """Corners and the times at which the device is there, so far as anybody asked."""

    times_s: list[float]
    points: list[Floats]
    rest: Corners


class Legs(Track):
    """Corners are keyed by their device and remembered; what is remembered never changes an answer."""

    def __init__(self, speeds_mps: Floats) -> None:
        super().__init__(speeds_mps)
        self._paths: dict[int, _Path] = {}

    def corners(self, device: int) -> Corners:
        """(time_s, point) of each corner of a device's way."""
        raise NotImplementedError

    def positions_m(self, ids: Ids, time_s: float) -> Floats:
        """Positions [n, 2]."""
        return np.array([self._position(int(device), time_s) for device in ids]).reshape(-1, 2)

    def velocities_mps(self, ids: Ids, time_s: float) -> Floats:
        """Velocities [n, 2]; at a corner, of the leg that begins there."""
        return np.array([self._velocity(int(device), time_s) for device in ids]).reshape(-1, 2)

    def stays_within_until_s(self, ids: Ids, time_s: float, slack_m: Floats) -> Floats:
        """Straight on to the end of a leg at most."""
        return np.array([self._holds(*each, time_s) for each in zip(ids.tolist(), slack_m.tolist(), strict=True)])

    def _holds(self, device: int, slack_m: float, time_s: float) -> float:
        times, _, leg = self._leg(device, time_s)
        speed_mps = float(np.hypot(*self._velocity(device, time_s)))
        return min(times[leg + 1], time_s + slack_m / speed_mps if speed_mps > 0 else np.inf)

    def _position(self, device: int, time_s: float) -> Floats:
        times, points, leg = self._leg(device, time_s)
        share = 0.0 if np.isinf(times[leg + 1]) else (time_s - times[leg]) / (times[leg + 1] - times[leg])
        return points[leg] + share * (points[leg + 1] - points[leg])

    def _velocity(self, device: int, time_s: float) -> Floats:
        times, points, leg = self._leg(device, time_s)
        return (points[leg + 1] - points[leg]) / (times[leg + 1] - times[leg])

    def _leg(self, device: int, time_s: float) -> tuple[list[float], list[Floats], int]:
        """All corners so far, and the number of the one that begins the leg at a time."""
        if device not in self._paths:
            self._paths[device] = _Path([], [], self.corners(device))
        times, points, rest = self._paths[device]
        while not times or times[-1] <= time_s:
            time, point = next(rest)
            times.append(time)
            points.append(point)
        return times, points, bisect_right(times, time_s) - 1


def timed(corners: Corners, speed_mps: float) -> Corners:
    """Corners by time from corners by distance; without speed the device stands where its distance is 0."""
    if speed_mps > 0:
        for distance, point in corners:
            yield distance / speed_mps, point
    behind = next(corners)
    for ahead in corners:
        if ahead[0] > 0:
            here = behind[1] + behind[0] / (behind[0] - ahead[0]) * (ahead[1] - behind[1])
            yield 0.0, here
            yield np.inf, here
        behind = ahead
