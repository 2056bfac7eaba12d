"""Movement in straight legs, each at a constant velocity: what most models have in common."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from edgefl.core.arrays import Floats, Ids
from edgefl.world.mobility.base import Track

Corners = Iterator[tuple[float, Floats]]
"""The corners of a device's way, in order and without end: (time or distance, point [2]); the first at 0 or before."""


class _Path(NamedTuple):
    """A device's corners up to the latest time that was asked for, and the iterator that gives the next ones."""

    times_s: list[float]  # [corners]
    points: list[Floats]  # [corners] of [2]
    following: Corners


class _Leg(NamedTuple):
    """A straight leg, from one corner to the next."""

    begin_s: float
    end_s: float
    start: Floats
    end: Floats


class Legs(Track):
    """Devices that move in straight legs. Corners are keyed by device and kept, which never alters an answer."""

    def __init__(self, speeds_mps: Floats) -> None:
        super().__init__(speeds_mps)
        self._paths: dict[int, _Path] = {}

    def corners(self, device: int) -> Corners:
        """Return the corners of a device's way, by time [s]."""
        raise NotImplementedError

    def positions_m(self, ids: Ids, time_s: float) -> Floats:
        """Return the positions [n, 2] of devices at a time."""
        if not len(ids):
            return np.empty((0, 2))
        legs = [self._leg_at(device, time_s) for device in ids.tolist()]
        begin_s, end_s, start, end = (np.array(column) for column in zip(*legs, strict=True))
        share = np.zeros((len(legs), 1))  # of the leg; one without end leads nowhere
        has_end = ~np.isinf(end_s)
        share[has_end, 0] = (time_s - begin_s[has_end]) / (end_s[has_end] - begin_s[has_end])
        return np.asarray(start + share * (end - start))

    def path_m(self, device: int, times_s: Floats) -> Floats:
        """Return the positions [t, 2] of one device at ascending times [t]."""
        if not len(times_s):
            return np.empty((0, 2))
        self._leg(device, float(times_s[-1]))  # the corners up to there
        corners_s = self._paths[device].times_s
        points = self._paths[device].points
        legs = np.searchsorted(corners_s, times_s, side="right") - 1  # of corners at one time the last begins the leg
        path = np.empty((len(times_s), 2))
        for leg in np.unique(legs).tolist():
            on_leg = legs == leg
            share = np.zeros((int(on_leg.sum()), 1))  # of the leg; one without end leads nowhere
            if not np.isinf(corners_s[leg + 1]):
                share[:, 0] = (times_s[on_leg] - corners_s[leg]) / (corners_s[leg + 1] - corners_s[leg])
            path[on_leg] = points[leg] + share * (points[leg + 1] - points[leg])
        return path

    def velocities_mps(self, ids: Ids, time_s: float) -> Floats:
        """Return the velocities [n, 2] of devices at a time; at a corner, those of the leg that begins there."""
        return np.array([self._velocity(device, time_s) for device in ids.tolist()]).reshape(-1, 2)

    def stays_within_until_s(self, ids: Ids, time_s: float, distance_m: Floats) -> Floats:
        """Return when devices [n] have moved by distances [n], or the end of their leg if that is before."""
        until_s = []
        for device, limit_m in zip(ids.tolist(), distance_m.tolist(), strict=True):
            until_s.append(self._stays_within(device, limit_m, time_s))
        return np.array(until_s)

    def _stays_within(self, device: int, distance_m: float, time_s: float) -> float:
        """Return when one device has moved by a distance, or the end of its leg."""
        # Only the end of the leg is certain: after a corner it may be faster.
        moved_s = np.inf
        speed_mps = float(np.hypot(*self._velocity(device, time_s)))
        if speed_mps > 0:
            moved_s = time_s + distance_m / speed_mps
        return min(self._leg_at(device, time_s).end_s, moved_s)

    def _velocity(self, device: int, time_s: float) -> Floats:
        leg = self._leg_at(device, time_s)
        return (leg.end - leg.start) / (leg.end_s - leg.begin_s)  # 0 on a leg without end

    def _leg_at(self, device: int, time_s: float) -> _Leg:
        """Return a device's leg at a time."""
        times_s, points, row = self._leg(device, time_s)
        return _Leg(times_s[row], times_s[row + 1], points[row], points[row + 1])

    def _leg(self, device: int, time_s: float) -> tuple[list[float], list[Floats], int]:
        """Return all corners so far, and the number of the one that begins the leg at a time."""
        if device not in self._paths:
            self._paths[device] = _Path([], [], self.corners(device))
        times_s, points, following = self._paths[device]
        try:
            # One corner beyond the time, so that the leg has an end.
            while not times_s or times_s[-1] <= time_s:
                corner_s, point = next(following)
                times_s.append(corner_s)
                points.append(point)
        except BaseException:
            # A generator that Ctrl-C has hit gives nothing more, and positions are asked for once more when results are
            # written: the way begins anew, as it is a function of the device alone.
            del self._paths[device]
            raise
        return times_s, points, bisect_right(times_s, time_s) - 1  # of corners at one time the last begins the leg


def timed(corners: Corners, speed_mps: float) -> Corners:
    """Yield corners by time from corners by distance; without speed, the device stands where its distance is 0."""
    if speed_mps > 0:
        for distance, point in corners:
            yield distance / speed_mps, point
    # Without speed a distance takes no time: the device stands where its distance is 0, between two corners.
    behind, start = next(corners)
    for ahead, end in corners:
        if ahead > 0:
            position = start + behind / (behind - ahead) * (end - start)
            yield 0.0, position
            yield np.inf, position
        behind = ahead
        start = end
