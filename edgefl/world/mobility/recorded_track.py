"""The track of devices whose positions were recorded."""

from __future__ import annotations

import math
from array import array
from bisect import bisect_left, bisect_right
from typing import Literal, NamedTuple

import numpy as np

from edgefl.core.arrays import Bools, Floats, Ids
from edgefl.world.mobility.base import Track, duration_s

ROUNDING_S = 1e-6  # of the times of samples, which may be seconds since 1970
AtEnd = Literal["hold", "loop", "leave"]


class RecordedWay(NamedTuple):
    """A device's positions in order of time, straight on between them; at least two.

    In the middle of an absence there are two positions at one time: the device is put from one to the other.
    """

    times_s: Floats  # [n] in the emulation
    points: Floats  # [n, 2] in the cell
    # When each absence begins and ends: in between, the device is off the map. These are arrays of Python, as bisecting
    # them is much faster than NumPy's.
    leaves_s: array[float]
    returns_s: array[float]

    @property
    def is_jump(self) -> Bools:
        """Return between which positions and the next [n - 1] no time passes."""
        return np.asarray(np.diff(self.times_s) == 0)


def way_of(times_s: Floats, points: Floats, is_absent: Bools) -> RecordedWay:
    """Return the way through samples.

    Args:
        times_s: [n] of the samples, ascending.
        points: [n, 2] positions.
        is_absent: [n - 1] whether the device is absent between each sample and the next.
    """
    if len(times_s) == 1:  # one sample is a way without length
        return RecordedWay(np.repeat(times_s, 2), np.repeat(points, 2, axis=0), array("d"), array("d"))
    before = np.flatnonzero(is_absent)
    begins_s = times_s[before]
    ends_s = times_s[before + 1]
    # An absent device is at the position that is nearest in time.
    middles_s = np.repeat((begins_s + ends_s) / 2, 2)
    kept = np.stack([points[before], points[before + 1]], axis=1).reshape(-1, 2)
    places = np.repeat(before + 1, 2)
    # The samples themselves do not belong to the absence, however their times are rounded.
    leaves_s = array("d", begins_s + ROUNDING_S)
    returns_s = array("d", ends_s - ROUNDING_S)
    all_times_s = np.insert(times_s, places, middles_s)
    return RecordedWay(all_times_s, np.insert(points, places, kept, axis=0), leaves_s, returns_s)


class RecordedTrack(Track):
    """The track of devices with recorded ways.

    Args:
        ways: of the devices.
        start_s: when the file begins.
        end_s: when it ends; it may have more devices than these.
        at_end: what happens after a device's last sample.
        leaves: [devices] whether each leaves after its last sample, also where `at_end` is hold.
    """

    def __init__(self, ways: list[RecordedWay], *, start_s: float, end_s: float, at_end: AtEnd, leaves: Bools) -> None:
        super().__init__(np.zeros(len(ways)))
        self._ways = ways
        self._start_s = start_s
        self._end_s = end_s
        self._at_end = at_end
        self._leaves = leaves | (at_end != "hold")
        self._first_s = np.array([way.times_s[0] for way in ways])  # [devices]
        self._last_s = np.array([way.times_s[-1] for way in ways])
        self.fastest_mps = np.array([_fastest_mps(way) for way in ways])
        self._has_absences = np.array([len(way.leaves_s) > 0 for way in ways], dtype=bool)

    @property
    def can_leave(self) -> bool:
        return True

    def stays_within_until_s(self, ids: Ids, time_s: float, distance_m: Floats) -> Floats:
        """Return when devices [n] may have moved by distances [n], entered or left the map, or the file restarts."""
        file_s = self._file_s(time_s)
        first_s = self._first_s[ids]
        last_s = self._last_s[ids]
        lasts_s = duration_s(distance_m, self.fastest_mps[ids])
        lasts_s = np.where(self._leaves[ids], np.minimum(lasts_s, last_s - file_s), lasts_s)
        for row in np.flatnonzero(self._has_absences[ids]).tolist():
            lasts_s[row] = min(lasts_s[row], self._next_change_s(int(ids[row]), file_s) - file_s)
        lasts_s = np.where(file_s > last_s, np.inf, lasts_s)  # after its last sample, nothing happens to it
        lasts_s = np.where(file_s < first_s, first_s - file_s, lasts_s)
        if self._at_end == "loop":
            lasts_s = np.minimum(lasts_s, self._end_s - file_s)
        return time_s + lasts_s

    def _next_change_s(self, device: int, file_s: float) -> float:
        """Return when an absence next begins, is half over (the device is put elsewhere) or ends; inf if never."""
        way = self._ways[device]
        number = bisect_left(way.returns_s, file_s)
        if number == len(way.returns_s):
            return math.inf
        leaves_s = way.leaves_s[number]
        if file_s <= leaves_s:
            return leaves_s
        returns_s = way.returns_s[number]
        middle_s = (leaves_s + returns_s) / 2
        if file_s <= middle_s:
            return middle_s
        return returns_s

    def path_m(self, device: int, times_s: Floats) -> Floats:
        return self._interpolated(device, np.array([self._file_s(time_s) for time_s in times_s.tolist()]))

    def positions_m(self, ids: Ids, time_s: float) -> Floats:
        file_s = self._file_s(time_s)
        # One by one: each device has its own sampling times.
        return np.array([self._interpolated(device, file_s) for device in ids.tolist()]).reshape(-1, 2)

    def _interpolated(self, device: int, file_s: Floats | float) -> Floats:
        way = self._ways[device]
        return np.stack([np.interp(file_s, way.times_s, way.points[:, axis]) for axis in (0, 1)], axis=-1)

    def speeds_mps(self, ids: Ids, time_s: float) -> Floats:
        """Return the speeds [n] between the samples before and after; 0 before the first and after the last one."""
        return np.array([self._speed_mps(int(device), self._file_s(time_s)) for device in ids])

    def on_map(self, ids: Ids, time_s: float) -> Bools:
        file_s = self._file_s(time_s)
        is_there = self._first_s[ids] <= file_s
        is_there &= ~self._leaves[ids] | (file_s <= self._last_s[ids])
        for row in np.flatnonzero(is_there & self._has_absences[ids]).tolist():
            is_there[row] = not self._is_absent(int(ids[row]), file_s)
        return np.asarray(is_there)

    def _is_absent(self, device: int, file_s: float) -> bool:
        way = self._ways[device]
        number = bisect_right(way.returns_s, file_s)  # of the first absence that ends later
        return number < len(way.leaves_s) and way.leaves_s[number] < file_s

    def _file_s(self, time_s: float) -> float:
        """Return the time within the first run through the file."""
        span_s = self._end_s - self._start_s
        if self._at_end == "loop" and time_s > self._start_s and span_s:
            return self._start_s + (time_s - self._start_s) % span_s
        return time_s

    def _speed_mps(self, device: int, file_s: float) -> float:
        way = self._ways[device]
        if not way.times_s[0] <= file_s < way.times_s[-1]:
            return 0.0
        leg = int(np.searchsorted(way.times_s, file_s, side="right")) - 1
        step_m = np.hypot(*(way.points[leg + 1] - way.points[leg]))
        return float(step_m / (way.times_s[leg + 1] - way.times_s[leg]))


def _fastest_mps(way: RecordedWay) -> float:
    """Return the greatest speed of a way; jumps in the middle of absences have none."""
    lasts_s = np.diff(way.times_s)
    steps = np.diff(way.points, axis=0)
    steps_m = np.hypot(steps[:, 0], steps[:, 1])
    speeds_mps = np.divide(steps_m, lasts_s, out=np.zeros(len(lasts_s)), where=lasts_s > 0)
    return float(speeds_mps.max())
