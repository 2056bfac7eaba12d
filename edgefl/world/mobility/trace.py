"""Traces of real or simulated movement."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Annotated, Literal

import numpy as np
from pydantic import Field, model_validator

from edgefl.core.arrays import Bools, Floats, Rows
from edgefl.core.file_lists import files_at, natural
from edgefl.core.paths import DataPath
from edgefl.core.sample_times import warn_once
from edgefl.core.section import fault_at
from edgefl.core.streams import Streams
from edgefl.world.mobility.area import Area
from edgefl.world.mobility.base import Track
from edgefl.world.mobility.formats import FORMATS, Format, FormatName, format_of, known_suffixes
from edgefl.world.mobility.placed import LEAST_EXTENT_M, Coordinates, Factor, Placed, Shift, projected_m
from edgefl.world.mobility.recorded_track import RecordedTrack, RecordedWay, way_of
from edgefl.world.mobility.samples import Samples, joined, moved_per_m, read_samples

USUAL_ABSENCES = 0.5  # for each sample: more of them are a way of sampling
SPEED_RATIOS = (0.8, 1.25)  # of movement by positions to that by speeds: beyond them, the file has another clock
MOST_DEGREES_PER_M = 0.01  # a degree is longer than 100 m everywhere but within 100 km of a pole


class Trace(Placed):
    """Recorded positions (CSV, SUMO, GPX, BonnMotion, ns-2, ...), straight on between samples; exact at the samples.

    Device i is the i-th of the file by its first sample, then by its name. The file's first sample is at
    `time_offset_s`. A device is absent before its first sample, in gaps of its recording and, with `leave` or where
    later time steps of FCD are without it, after its last sample.
    """

    path: DataPath  # The file with positions, or a folder with several files, which all begin at time_offset_s.
    format: FormatName | None = None  # Format of the file; by default by its name.
    # The names of CSV columns in the file, such as {x_m: Longitude}; usual names of drive tests are known.
    columns: Mapping[Literal["time_s", "device", "x_m", "y_m"], str] = {}
    time_offset_s: Shift = 0.0  # Virtual time of the file's first sample.
    time_scale: Factor = 1.0  # Seconds of the emulation for each second of the file.
    # Whether a device stays at the last sample (hold), starts the file again, or is gone (leave).
    at_end: Literal["hold", "loop", "leave"] = "hold"
    # Seconds of the file between two samples of a device, above which it is absent in between. By default the file says
    # so: time steps without the vehicle (FCD), a new segment (GPX).
    gap_s: Annotated[float, Field(gt=0, le=1e12)] | None = None
    # What x and y are; auto takes degrees for GPX, for columns such as longitude, and for FCD whose speeds say so.
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
        if self.columns and places != "by_names":
            raise fault_at(("columns",), f"{kind} files have no names of columns: leave it out")
        if self.origin is not None:
            if self.coordinates == "metres" or places == "metres":
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
        return FORMATS[str(self.kind)]

    def track(self, area: Area, count: int, streams: Streams) -> Track:
        """Return the track of the first `count` devices of the file."""
        samples = self._samples()
        ways = self._ways(samples)
        if len(ways) < count:
            raise self.fault(f"has tracks of {len(ways)} devices, the scenario has {count}: lower devices.count")
        used = ways[:count]
        starts = np.concatenate([way.points[:-1] for way in used])
        ends = np.concatenate([way.points[1:] for way in used])
        is_jump = np.concatenate([way.is_jump for way in used])
        self.check_reach(starts, np.where(is_jump[:, None], starts, ends), area)
        leaves = self._is_gone(samples)[:count]
        end_s = float(self._emulation_s(samples, samples.ends_s).max())  # also where not all of its devices are used
        if end_s < 0 and self.at_end == "hold":
            text = f"the file ends {-end_s:.4g} s before the run begins, so its devices stand at their last samples"
            warn_once(f"mobility.time_offset_s: {self.path}: {text}")
        return RecordedTrack(used, start_s=self.time_offset_s, end_s=end_s, at_end=self.at_end, leaves=leaves)

    def _emulation_s(self, samples: Samples, times_s: Floats) -> Floats:
        """Return times of the file [n] as times of the emulation."""
        begin_s = float(samples.time_s.min())
        return (times_s - begin_s) * self.time_scale + self.time_offset_s

    def _is_gone(self, samples: Samples) -> Bools:
        """Return whether the file says of each device [n], in their order, that it is gone after its last sample."""
        if not self._known.tells_absence:
            return np.zeros(len(samples.names), dtype=np.bool_)
        of_devices = samples.of_devices()
        rest_s = [samples.ends_s[device] - samples.time_s[of_devices[device][-1]] for device in _order(samples)]
        return np.array(rest_s) > (self.gap_s or 0.0)

    def _ways(self, samples: Samples) -> list[RecordedWay]:
        """Return the ways of all devices of the file, in their order.

        Raises:
            InputError: the file is wrong.
        """
        for note in (*samples.repeated, *samples.unknown):
            warn_once(f"mobility.path: {note}")
        if self._known.places == "metres":
            self._check_clock(samples)
        if self.gap_s is None and samples.after_absence.sum() > USUAL_ABSENCES * len(samples.line):
            text = "devices are absent between most of their samples, as the file leaves them out in between"
            warn_once(f"mobility.path: {self.path}: {text}: if they were only sampled rarely, write gap_s")
        points = samples.points
        in_degrees = self._in_degrees(samples)
        if in_degrees:
            points, _ = projected_m(points, self.origin)
        elif self.origin is not None:
            raise self.fault("is in metres, and origin projects degrees: leave it out, or write coordinates: lon_lat")
        points = self.placed_m(points)
        times_s = self._emulation_s(samples, samples.time_s)
        of_devices = samples.of_devices()
        ways = []
        for device in _order(samples):
            rows = of_devices[device]
            ways.append(way_of(times_s[rows], points[rows], self._is_absent(samples, rows)))
        if self.coordinates == "auto" and not in_degrees:
            self._check_extent(ways, points)
        return ways

    def _samples(self) -> Samples:
        """Return the samples of the file, or of all files of the folder."""
        parts = []
        with self.reading():
            files = files_at(self.path, self._known.suffixes)
        for file in files:
            with self.reading(file):
                changed_ns = file.stat().st_mtime_ns
                parts.append(read_samples(file, changed_ns, str(self.kind), tuple(sorted(self.columns.items()))))
        if not self.path.is_dir():
            return parts[0]
        return joined(parts)

    def _is_absent(self, samples: Samples, rows: Rows) -> Bools:
        """Return whether a device with samples in rows [n] is absent between each of them and the next [n - 1]."""
        if self.gap_s is None:
            return samples.after_absence[rows[1:]]
        return np.asarray(np.diff(samples.time_s[rows]) > self.gap_s)

    def _in_degrees(self, samples: Samples) -> bool:
        """Return whether positions in the file are longitude and latitude.

        Raises:
            InputError: they should be, and one of them cannot be.
        """
        on_earth = (np.abs(samples.points) <= (180.0, 90.0)).all(axis=1)
        says_degrees = samples.in_degrees and self.coordinates == "auto"
        if says_degrees or self._known.places == "degrees" or self.coordinates == "lon_lat":
            if not on_earth.all():
                row = int(np.flatnonzero(~on_earth)[0])
                x, y = samples.points[row]
                device = samples.device[row]
                text = f"device {samples.names[device]}: {x:g}, {y:g} must be longitude and latitude in degrees"
                if self.kind == "gpx":
                    text = f"{text} (SUMO's option --fcd-output.geo)"
                raise self.fault(text, int(samples.line[row]), samples.files[device])
            return True
        if self.coordinates == "metres" or self._known.places != "by_speeds":
            return False
        return bool(on_earth.all()) and moved_per_m(samples) < MOST_DEGREES_PER_M

    def _check_clock(self, samples: Samples) -> None:
        """Warn if the file's speeds say that its times are in another unit, such as frames at another rate."""
        ratio = moved_per_m(samples)
        least, most = SPEED_RATIOS
        if self.time_scale != 1 or least <= ratio <= most or not 0 < ratio < math.inf:
            return
        text = f"its devices move {ratio:.4g} m for each metre by the speeds in the file"
        warn_once(f"mobility.path: {self.path}: {text}: if the speeds are right, write time_scale: {ratio:.4g}")

    def _check_extent(self, ways: Sequence[RecordedWay], points: Floats) -> None:
        """Refuse points [n, 2] among which devices move, but all within less than a metre."""
        extent_m = float(np.ptp(points, axis=0).max())
        moves = any(np.ptp(way.points, axis=0).any() for way in ways)
        if not moves or extent_m >= LEAST_EXTENT_M:
            return
        remedy = "if it is not in metres, write scale"
        if self._known.places in {"by_names", "by_speeds"}:
            remedy = f"if it is in degrees, write coordinates: lon_lat; {remedy}"
        text = f"its devices move, but within {extent_m:.3g} m in all: {remedy}; if it is right, coordinates: metres"
        raise self.fault(text)


def _order(samples: Samples) -> list[int]:
    """Return the devices of a file in their order: by first sample, then by name."""
    of_devices = samples.of_devices()

    def rank(device: int) -> tuple[float, tuple[float, str, str]]:
        return samples.time_s[of_devices[device][0]], natural(samples.names[device])

    return sorted(range(len(of_devices)), key=rank)
