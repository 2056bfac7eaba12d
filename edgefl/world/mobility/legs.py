"""Movement in straight legs, each at a constant velocity."""

from array import array
from bisect import bisect_right
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from edgefl.core.arrays import Floats, Ids
from edgefl.world.mobility.base import Track

Corners = Iterator[tuple[float, Floats]]
"""The corners of a device's way, in order and without end: (time or distance, point [2]); the first at 0 or before."""

MOST_CORNERS = 2**15  # of one device in memory: 0.8 MB
KEPT_CORNERS = 2**14  # the latest ones, which stay when there are more than that


class _Path:
    """A device's corners around the latest times that were asked for, and the iterator that gives the next ones."""

    def __init__(self, following: Corners) -> None:
        # 24 bytes a corner; a NumPy array for each point would take several times as much.
        self.times_s = array("d")
        self.x_m = array("d")
        self.y_m = array("d")
        self._following = following

    def covers(self, time_s: float) -> bool:
        """Return whether the leg at a time is kept, or still to come."""
        return not self.times_s or self.times_s[0] <= time_s

    def extend(self, from_s: float, until_s: float) -> None:
        """Go on until the leg at `until_s` has an end; keep all corners since the leg at `from_s`."""
        # One corner beyond the time, so that the leg has an end.
        while not self.times_s or self.times_s[-1] <= until_s:
            corner_s, point = next(self._following)
            x_m, y_m = np.asarray(point).tolist()  # a user's model may yield a tuple
            self.times_s.append(corner_s)
            self.x_m.append(x_m)
            self.y_m.append(y_m)
            if len(self.times_s) > MOST_CORNERS:
                self._forget(from_s)

    def _forget(self, from_s: float) -> None:
        """Forget early corners; keep those since the leg at `from_s`, and at least the latest `KEPT_CORNERS`."""
        before = max(0, self.row(from_s))
        forgotten = min(before, len(self.times_s) - KEPT_CORNERS)
        for values in (self.times_s, self.x_m, self.y_m):
            del values[:forgotten]

    def row(self, time_s: float) -> int:
        """Return the row of the corner that begins the leg at a time; of corners at one time it is the last."""
        return bisect_right(self.times_s, time_s) - 1


class _Leg(NamedTuple):
    """A straight leg, from one corner to the next."""

    begin_s: float
    end_s: float
    start: tuple[float, float]
    end: tuple[float, float]


class Legs(Track):
    """Devices that move in straight legs.

    Corners are a function of the device. The latest ones are kept, which alters no answer: for an earlier time, a
    device's way starts again. So memory does not grow with virtual time.
    """

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
        kept = self._path(device, float(times_s[0]), float(times_s[-1]))
        corners_s = np.array(kept.times_s)
        points = np.stack([kept.x_m, kept.y_m], axis=1)
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
        return np.array([self._velocity_mps(device, time_s) for device in ids.tolist()]).reshape(-1, 2)

    def stays_within_until_s(self, ids: Ids, time_s: float, distance_m: Floats) -> Floats:
        """Return when devices [n] have moved by distances [n], or the end of their leg if that is before."""
        until_s = []
        for device, limit_m in zip(ids.tolist(), distance_m.tolist(), strict=True):
            until_s.append(self._stays_within(device, limit_m, time_s))
        return np.array(until_s)

    def _stays_within(self, device: int, distance_m: float, time_s: float) -> float:
        # Only the end of the leg is certain: after a corner it may be faster.
        moved_s = np.inf
        speed_mps = float(np.hypot(*self._velocity_mps(device, time_s)))
        if speed_mps > 0:
            moved_s = time_s + distance_m / speed_mps
        return min(self._leg_at(device, time_s).end_s, moved_s)

    def _velocity_mps(self, device: int, time_s: float) -> tuple[float, float]:
        leg = self._leg_at(device, time_s)
        duration_s = leg.end_s - leg.begin_s  # inf on a leg without end, where the device stands
        return (leg.end[0] - leg.start[0]) / duration_s, (leg.end[1] - leg.start[1]) / duration_s

    def _leg_at(self, device: int, time_s: float) -> _Leg:
        path = self._path(device, time_s, time_s)
        row = path.row(time_s)
        start = (path.x_m[row], path.y_m[row])
        end = (path.x_m[row + 1], path.y_m[row + 1])
        return _Leg(path.times_s[row], path.times_s[row + 1], start, end)

    def _path(self, device: int, from_s: float, until_s: float) -> _Path:
        """Return a device's corners, at least from the leg at `from_s` to the end of the leg at `until_s`."""
        path = self._paths.get(device)
        if path is None or not path.covers(from_s):
            path = _Path(self.corners(device))
            self._paths[device] = path
        try:
            path.extend(from_s, until_s)
        except BaseException:
            # A generator that Ctrl-C has hit gives nothing more, but results are still written: start the way again.
            del self._paths[device]
            raise
        return path


def timed(corners: Corners, speed_mps: float) -> Corners:
    """Yield corners by time from corners by distance."""
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
