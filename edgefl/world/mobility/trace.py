"""Traces of real or simulated movement."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import numpy as np
from pydantic import model_validator

from edgefl.core.arrays import Bools, Floats, Ids
from edgefl.core.errors import Unavailable
from edgefl.core.section import fault_at
from edgefl.core.streams import Streams
from edgefl.world.mobility.base import Area, Track
from edgefl.world.mobility.files import READERS, NotReadable, NotThere, Sample, read
from edgefl.world.mobility.placed import Factor, Pair, Placed, Within, nearest_m

EARTH_RADIUS_M = 6_371_008.8  # mean radius (IUGG)
MOST = 1e12  # seconds or metres
FORMATS = {".csv": "csv", ".txt": "obsmat", ".xml": "fcd", ".gpx": "gpx"}


class Trace(Placed):
    """Recorded positions (CSV, SUMO FCD, UCY obsmat, GPX), straight on between samples; exact at the samples.

    Device i is the i-th of the file by its first sample, then by its name. The file's first sample is at
    `time_offset_s`. Before its first sample, and with `leave` after its last one, a device is not there.
    """

    format: Literal["csv", "obsmat", "fcd", "gpx"] | None = None  # by the file's name where not given
    time_offset_s: Within = 0.0
    time_scale: Factor = 1.0  # seconds of the emulation for each second of the file
    at_end: Literal["hold", "loop", "leave"] = "hold"  # stay at the last sample, begin the file again, or be gone
    origin: Pair | None = None  # [latitude, longitude] of GPX's (0, 0); the mean where not given

    @model_validator(mode="after")
    def _known(self) -> Trace:
        if self.kind is None:
            known = ", ".join(FORMATS)
            raise fault_at(("format",), f"is required where the file's name does not end in {known} (or with .gz)")
        if self.origin is not None and self.kind != "gpx":
            raise fault_at(("origin",), f"projects GPX; a {self.kind} file is in metres: leave it out")
        if self.origin is not None and not (abs(self.origin[0]) < 90 and abs(self.origin[1]) <= 180):
            raise fault_at(("origin",), f"must be [latitude, longitude] in degrees, got {list(self.origin)}")
        return self

    @property
    def kind(self) -> str | None:
        """The file's format."""
        return self.format or FORMATS.get(Path(self.path.name.removesuffix(".gz")).suffix)

    def track(self, area: Area, count: int, streams: Streams) -> Track:
        """The first `count` devices of the file."""
        tracks = self._tracks()
        if len(tracks) < count:
            raise self.fault(f"has tracks of {len(tracks)} devices, the scenario has {count}: lower devices.count")
        used = tracks[:count]
        starts, ends = (np.concatenate([points[rows] for _, points in used]) for rows in (slice(-1), slice(1, None)))
        self.check_reach([nearest_m(starts - site, ends - site) for site in np.array(area.sites_m)], area)
        return _Recorded(used, max(times[-1] for times, _ in tracks), self)

    def _tracks(self) -> list[tuple[Floats, Floats]]:
        """Of each device the times [n] in the emulation and the points [n, 2] in the cell; at least two samples."""
        samples = self._samples()
        points = self.placed_m(self._metres(np.array([sample[3:] for sample in samples])))
        file_s = np.array([sample.time_s for sample in samples])
        times = (file_s - file_s.min()) * self.time_scale + self.time_offset_s
        rows: dict[str, list[int]] = {}
        for row, sample in enumerate(samples):
            rows.setdefault(sample.device, []).append(row)
        order = sorted(rows, key=lambda name: (file_s[rows[name][0]], _natural(name)))
        pairs = [rows[name] if len(rows[name]) > 1 else rows[name] * 2 for name in order]
        return [(times[each], points[each]) for each in pairs]

    def _samples(self) -> list[Sample]:
        """The file's samples, checked."""
        last: dict[str, float] = {}
        try:
            samples = read(self.path, READERS[str(self.kind)])
        except NotThere as error:
            raise Unavailable(*self.fault(str(error)).faults) from None
        except NotReadable as error:
            raise self.fault(str(error), error.line) from None
        for sample in samples:
            before = last.get(sample.device, -np.inf)
            if not sample.device:
                raise self.fault("a device has no name", sample.line)
            if not all(abs(value) <= MOST for value in (sample.time_s, sample.x, sample.y)):
                raise self.fault(f"device {sample.device}: time and place must be numbers up to {MOST:g}", sample.line)
            if sample.time_s <= before:
                text = f"device {sample.device}: times must rise, got {sample.time_s:.10g} s after {before:.10g} s"
                raise self.fault(text, sample.line)
            last[sample.device] = sample.time_s
        if not samples:
            raise self.fault("holds no positions")
        return samples

    def _metres(self, points: Floats) -> Floats:
        """Points [n, 2] in metres; GPX's by the equirectangular projection around the origin."""
        if self.kind != "gpx":
            return points
        middle = points.mean(axis=0) if self.origin is None else np.array(self.origin[::-1])
        shrink = np.array([np.cos(np.radians(middle[1])), 1.0])
        return np.asarray(np.radians(points - middle) * EARTH_RADIUS_M * shrink)


class _Recorded(Track):
    def __init__(self, tracks: list[tuple[Floats, Floats]], end_s: float, model: Trace) -> None:
        super().__init__(np.zeros(len(tracks)))
        self.tracks, self.end_s, self.model = tracks, end_s, model
        self.spans_s = np.array([(times[0], times[-1]) for times, _ in tracks])  # [devices, 2]
        self.fastest_mps = np.array([_fastest_mps(*each) for each in tracks])

    @property
    def can_leave(self) -> bool:
        """Before its first sample, if not elsewhere."""
        return True

    def stays_within_until_s(self, ids: Ids, time_s: float, slack_m: Floats) -> Floats:
        """Off the map until it comes onto it, or the file begins again; on it until it has gone so far, or leaves."""
        time, (first_s, last_s) = self._file_s(time_s), self.spans_s[ids].T
        again_s = self.end_s - time if self.model.at_end == "loop" else np.inf
        fastest = self.fastest_mps[ids]
        moves_s = np.divide(slack_m, fastest, out=np.full(len(ids), np.inf), where=fastest > 0)
        goes_s = last_s - time if self.model.at_end != "hold" else np.inf
        on_map = np.where(time > last_s, np.inf, np.minimum(moves_s, goes_s))
        return time_s + np.minimum(np.where(time < first_s, first_s - time, on_map), again_s)

    def positions_m(self, ids: Ids, time_s: float) -> Floats:
        time = self._file_s(time_s)
        tracks = [self.tracks[device] for device in ids]
        return np.array([[np.interp(time, at, axis) for axis in points.T] for at, points in tracks]).reshape(-1, 2)

    def speeds_mps(self, ids: Ids, time_s: float) -> Floats:
        """Speeds [n] between the samples before and after; 0 before the first and after the last one."""
        return np.array([self._speed(int(device), self._file_s(time_s)) for device in ids])

    def on_map(self, ids: Ids, time_s: float) -> Bools:
        time, staying = self._file_s(time_s), self.model.at_end == "hold"
        spans = [(self.tracks[device][0][0], self.tracks[device][0][-1]) for device in ids]
        return np.array([first <= time and (staying or time <= last) for first, last in spans], dtype=bool)

    def _file_s(self, time_s: float) -> float:
        """The time within the first run through the file."""
        start = self.model.time_offset_s
        span = self.end_s - start
        return start + (time_s - start) % span if self.model.at_end == "loop" and time_s > start and span else time_s

    def _speed(self, device: int, time: float) -> float:
        times, points = self.tracks[device]
        if not times[0] <= time < times[-1]:
            return 0.0
        leg = int(np.searchsorted(times, time, side="right")) - 1
        return float(np.hypot(*(points[leg + 1] - points[leg])) / (times[leg + 1] - times[leg]))


def _fastest_mps(times: Floats, points: Floats) -> float:
    """The greatest speed between samples [n]."""
    lasts = np.diff(times)
    steps_m = np.hypot(*np.diff(points, axis=0).T)
    return float(np.divide(steps_m, lasts, out=np.zeros(len(lasts)), where=lasts > 0).max())


def _natural(name: str) -> tuple[float, str]:
    """Numbers in their order, then words in theirs."""
    try:
        return float(name), name
    except ValueError:
        return np.inf, name
