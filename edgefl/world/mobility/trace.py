"""Traces of real or simulated movement."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from typing import Literal, NamedTuple

import numpy as np
from pydantic import model_validator

from edgefl.core.arrays import Bools, Floats, Ids
from edgefl.core.section import fault_at
from edgefl.core.streams import Streams
from edgefl.world.mobility.area import Area
from edgefl.world.mobility.base import Track, duration_s
from edgefl.world.mobility.formats import FORMATS, Format, FormatName, format_of, known_suffixes
from edgefl.world.mobility.formats.sample import Sample
from edgefl.world.mobility.placed import LEAST_EXTENT_M, Coordinates, Factor, Placed, Shift

EARTH_RADIUS_M = 6_371_008.8  # mean radius (IUGG)
LARGEST_NUMBER = 1e12  # seconds or metres; beyond that, differences of samples would be rounding
MOST_DIGITS = 20  # of a number in a device's name; longer ones are ordered as text
MOST_DEGREES_PER_M = 0.01  # a degree is longer than 100 m everywhere but within 100 km of a pole


class RecordedWay(NamedTuple):
    """A device's samples; at least two."""

    times_s: Floats  # [n] in the emulation
    points: Floats  # [n, 2] in the cell


class Trace(Placed):
    """Recorded positions (CSV, SUMO FCD, UCY obsmat, GPX), straight on between samples; exact at the samples.

    Device i is the i-th of the file by its first sample, then by its name. The file's first sample is at
    `time_offset_s`. A device is absent before its first sample and, with `leave`, after its last one.
    """

    format: FormatName | None = None  # Format of the file; by default by its name.
    time_offset_s: Shift = 0.0  # Virtual time of the file's first sample.
    time_scale: Factor = 1.0  # Seconds of the emulation for each second of the file.
    # Whether a device stays at the last sample (hold), starts the file again, or is gone (leave).
    at_end: Literal["hold", "loop", "leave"] = "hold"
    # What x and y are; auto takes degrees for GPX, and for FCD whose speeds say so.
    coordinates: Literal["auto", "metres", "lon_lat"] = "auto"
    origin: Coordinates | None = None  # The [latitude, longitude] that becomes (0, 0); by default the mean.

    @model_validator(mode="after")
    def _check_format(self) -> Trace:
        kind = self.kind
        if kind is None:
            text = f"is required where the file's name does not end in {known_suffixes()} (or with .gz)"
            raise fault_at(("format",), text)
        places = FORMATS[kind].places
        if self.coordinates == "lon_lat" and places == "metres":
            raise fault_at(("coordinates",), f"{kind} files are in metres: leave it out")
        if self.coordinates == "metres" and places == "degrees":
            raise fault_at(("coordinates",), f"{kind} files are in degrees: leave it out")
        if self.origin is not None:
            may_be_degrees = places in {"degrees", "by_speeds"} and self.coordinates != "metres"
            if self.coordinates != "lon_lat" and not may_be_degrees:
                raise fault_at(("origin",), f"projects degrees; {kind} files are in metres: leave it out")
            latitude, longitude = self.origin
            if abs(latitude) >= 90 or abs(longitude) > 180:
                raise fault_at(("origin",), f"must be [latitude, longitude] in degrees, got {list(self.origin)}")
        return self

    @property
    def kind(self) -> str | None:
        """Return the file's format; None if it is unknown."""
        return self.format or format_of(self.path)

    @property
    def _known(self) -> Format:
        """Return how the file is read."""
        return FORMATS[str(self.kind)]

    def track(self, area: Area, count: int, streams: Streams) -> Track:
        """Return the track of the first `count` devices of the file."""
        ways = self._ways()
        if len(ways) < count:
            raise self.fault(f"has tracks of {len(ways)} devices, the scenario has {count}: lower devices.count")
        used = ways[:count]
        starts = np.concatenate([way.points[:-1] for way in used])
        ends = np.concatenate([way.points[1:] for way in used])
        self.check_reach(starts, ends, area)
        end_s = max(way.times_s[-1] for way in ways)  # of the file, also where not all of its devices are used
        return _RecordedTrack(used, end_s, self)

    def _ways(self) -> list[RecordedWay]:
        """Return the ways of all devices of the file, in their order."""
        samples = self._samples()
        file_points = np.array([(sample.x, sample.y) for sample in samples])
        in_degrees = self._in_degrees(samples, file_points)
        if in_degrees:
            file_points = self._projected_m(file_points)
        points = self.placed_m(file_points)
        file_s = np.array([sample.time_s for sample in samples])
        times_s = (file_s - file_s.min()) * self.time_scale + self.time_offset_s
        rows: dict[str, list[int]] = {}
        for row, sample in enumerate(samples):
            rows.setdefault(sample.device, []).append(row)
        ways = []
        for name in sorted(rows, key=lambda name: (file_s[rows[name][0]], _natural(name))):
            own = rows[name]
            if len(own) == 1:
                own = own * 2  # one sample is a way without length
            ways.append(RecordedWay(times_s[own], points[own]))
        if self.coordinates == "auto" and not in_degrees:
            self._check_extent(ways, points)
        return ways

    def _samples(self) -> list[Sample]:
        """Return the file's samples.

        Raises:
            InputError: the file cannot be read, or a sample is wrong.
        """
        with self.reading():
            samples = list(self._checked())
        if not samples:
            raise self.fault("holds no positions")
        return samples

    def _checked(self) -> Iterator[Sample]:
        """Yield the samples of a file; a wrong one is refused before later ones fill the memory."""
        last_s: dict[str, float] = {}
        for sample in self._known.read(self.path):
            self._check_sample(sample, last_s.get(sample.device, -np.inf))
            last_s[sample.device] = sample.time_s
            yield sample

    def _check_sample(self, sample: Sample, before_s: float) -> None:
        """Check one sample; `before_s` is the time of its device's last one."""
        device = sample.device
        if not device:
            raise self.fault("a device has no name", sample.line)
        # In this form nan is refused, too.
        if not all(abs(value) <= LARGEST_NUMBER for value in (sample.time_s, sample.x, sample.y)):
            raise self.fault(f"device {device}: time and place must be numbers up to {LARGEST_NUMBER:g}", sample.line)
        if sample.time_s <= before_s:
            text = f"device {device}: times must rise, got {sample.time_s:.10g} s after {before_s:.10g} s"
            raise self.fault(text, sample.line)

    def _in_degrees(self, samples: Sequence[Sample], points: Floats) -> bool:
        """Return whether points [n, 2] of the file are longitude and latitude.

        Raises:
            InputError: they should be, and one of them cannot be.
        """
        on_earth = (np.abs(points) <= (180.0, 90.0)).all(axis=1)
        if self._known.places == "degrees" or self.coordinates == "lon_lat":
            if not on_earth.all():
                wrong = samples[int(np.flatnonzero(~on_earth)[0])]
                text = f"device {wrong.device}: {wrong.x:g}, {wrong.y:g} must be longitude and latitude in degrees"
                raise self.fault(text, wrong.line)
            return True
        if self.coordinates == "metres" or self._known.places != "by_speeds":
            return False
        return bool(on_earth.all()) and _degrees_per_m(samples) < MOST_DEGREES_PER_M

    def _projected_m(self, points: Floats) -> Floats:
        """Return longitudes and latitudes [n, 2] in metres, by the equirectangular projection around the origin."""
        if self.origin is None:
            middle = points.mean(axis=0)  # longitude, latitude
        else:
            latitude, longitude = self.origin
            middle = np.array([longitude, latitude])
        shrink = np.array([np.cos(np.radians(middle[1])), 1.0])  # circles of latitude are shorter than the equator
        return np.asarray(np.radians(points - middle) * EARTH_RADIUS_M * shrink)

    def _check_extent(self, ways: Sequence[RecordedWay], points: Floats) -> None:
        """Refuse points [n, 2] among which devices move, but all within less than a metre."""
        extent_m = float(np.ptp(points, axis=0).max())
        moves = any(np.ptp(way.points, axis=0).any() for way in ways)
        if not moves or extent_m >= LEAST_EXTENT_M:
            return
        remedy = "if it is not in metres, write scale"
        if self._known.places in {"as_told", "by_speeds"}:
            remedy = f"if it is in degrees, write coordinates: lon_lat; {remedy}"
        text = f"its devices move, but within {extent_m:.3g} m in all: {remedy}; if it is right, coordinates: metres"
        raise self.fault(text)


class _RecordedTrack(Track):
    def __init__(self, ways: list[RecordedWay], end_s: float, model: Trace) -> None:
        super().__init__(np.zeros(len(ways)))
        self.ways = ways
        self.end_s = end_s
        self.model = model
        self.first_s = np.array([way.times_s[0] for way in ways])  # [devices]
        self.last_s = np.array([way.times_s[-1] for way in ways])
        self.fastest_mps = np.array([_fastest_mps(way) for way in ways])

    @property
    def can_leave(self) -> bool:
        return True

    def stays_within_until_s(self, ids: Ids, time_s: float, distance_m: Floats) -> Floats:
        """Return when devices [n] may have moved by distances [n], entered or left the map, or the file restarts."""
        file_s = self._file_s(time_s)
        first_s = self.first_s[ids]
        last_s = self.last_s[ids]
        moves_s = duration_s(distance_m, self.fastest_mps[ids])
        leaves_s = last_s - file_s if self.model.at_end != "hold" else np.inf
        begins_again_s = self.end_s - file_s if self.model.at_end == "loop" else np.inf
        lasts_s = np.minimum(moves_s, leaves_s)
        lasts_s = np.where(file_s > last_s, np.inf, lasts_s)  # after its last sample, nothing happens to it
        lasts_s = np.where(file_s < first_s, first_s - file_s, lasts_s)
        return time_s + np.minimum(lasts_s, begins_again_s)

    def path_m(self, device: int, times_s: Floats) -> Floats:
        return self._interpolated(device, np.array([self._file_s(time_s) for time_s in times_s.tolist()]))

    def positions_m(self, ids: Ids, time_s: float) -> Floats:
        file_s = self._file_s(time_s)
        # One by one: each device has its own sampling times.
        return np.array([self._interpolated(device, file_s) for device in ids.tolist()]).reshape(-1, 2)

    def _interpolated(self, device: int, file_s: Floats | float) -> Floats:
        sampled_s, points = self.ways[device]
        return np.stack([np.interp(file_s, sampled_s, points[:, axis]) for axis in (0, 1)], axis=-1)

    def speeds_mps(self, ids: Ids, time_s: float) -> Floats:
        """Return the speeds [n] between the samples before and after; 0 before the first and after the last one."""
        return np.array([self._speed_mps(int(device), self._file_s(time_s)) for device in ids])

    def on_map(self, ids: Ids, time_s: float) -> Bools:
        file_s = self._file_s(time_s)
        has_begun = self.first_s[ids] <= file_s
        if self.model.at_end == "hold":
            return np.asarray(has_begun)
        return np.asarray(has_begun & (file_s <= self.last_s[ids]))

    def _file_s(self, time_s: float) -> float:
        """Return the time within the first run through the file."""
        start_s = self.model.time_offset_s
        span_s = self.end_s - start_s
        if self.model.at_end == "loop" and time_s > start_s and span_s:
            return start_s + (time_s - start_s) % span_s
        return time_s

    def _speed_mps(self, device: int, file_s: float) -> float:
        times_s, points = self.ways[device]
        if not times_s[0] <= file_s < times_s[-1]:
            return 0.0
        leg = int(np.searchsorted(times_s, file_s, side="right")) - 1
        step_m = np.hypot(*(points[leg + 1] - points[leg]))
        return float(step_m / (times_s[leg + 1] - times_s[leg]))


def _degrees_per_m(samples: Sequence[Sample]) -> float:
    """Return the movement in the file's coordinates for each metre by its speeds; inf if it has no speeds."""
    last_of: dict[str, Sample] = {}
    moved = 0.0
    driven_m = 0.0
    for sample in samples:
        last = last_of.get(sample.device)
        last_of[sample.device] = sample
        if last is None:
            continue
        mean_mps = (sample.speed_mps + last.speed_mps) / 2
        if math.isfinite(mean_mps):
            moved += math.hypot(sample.x - last.x, sample.y - last.y)
            driven_m += mean_mps * (sample.time_s - last.time_s)
    if driven_m <= 0:
        return math.inf
    return moved / driven_m


def _fastest_mps(way: RecordedWay) -> float:
    """Return the greatest speed between a way's samples."""
    lasts_s = np.diff(way.times_s)
    steps = np.diff(way.points, axis=0)
    steps_m = np.hypot(steps[:, 0], steps[:, 1])
    speeds_mps = np.divide(steps_m, lasts_s, out=np.zeros(len(lasts_s)), where=lasts_s > 0)
    return float(speeds_mps.max())


def _natural(name: str) -> tuple[float, str, str]:
    """Return a sort key of names: numbers by value, then words, with the numbers in them by value."""
    padded = re.sub(r"\d+", lambda digits: digits[0].zfill(MOST_DIGITS), name)
    try:
        return float(name), padded, name
    except ValueError:
        return np.inf, padded, name
