"""The samples of a trace file as arrays, and what is wrong with them."""

import math
from array import array
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

import numpy as np

from edgefl.core.arrays import Bools, Floats, Ints, Rows
from edgefl.core.data_files import NotReadable
from edgefl.core.file_lists import stem_of
from edgefl.core.sample_times import SampleTimes, of_folder
from edgefl.world.mobility.formats import FORMATS
from edgefl.world.mobility.formats.sample import EmptyStep, Sample

LARGEST_NUMBER = 1e12  # seconds or metres; beyond that, differences of samples would be rounding


class Samples(NamedTuple):
    """The samples [n] of a file, in its order, which is in order of time for each device."""

    names: list[str]  # [devices] in the file, as they first appear
    device: Ints  # index of `names`
    line: Ints
    time_s: Floats  # the file's own
    points: Floats  # [n, 2], the file's own
    speed_mps: Floats  # nan: unknown
    in_degrees: bool  # the names of columns say so
    after_absence: Bools  # the file says that the device was away since its last sample
    # Lines for the user, without the file's key: none, or one.
    repeated: list[str]  # samples at the time of another were replaced
    unknown: list[str]  # positions are unknown
    files: list[Path]  # [devices] where their samples stand
    ends_s: Floats  # [devices] when their files end, in the files' own time

    def of_devices(self) -> list[Rows]:
        """Return the rows of each device's samples."""
        counts = np.bincount(self.device, minlength=len(self.names))
        return np.split(np.argsort(self.device, kind="stable"), np.cumsum(counts)[:-1])


@lru_cache(maxsize=2)
def read_samples(path: Path, changed_ns: int, form: str, names: tuple[tuple[str, str], ...]) -> Samples:
    """Return the samples of a file; kept, as reading may take long, until the file changes.

    Args:
        path: the file.
        changed_ns: when it was changed.
        form: its format, a key of `FORMATS`.
        names: the file's names for columns.

    Raises:
        NotReadable: the file is wrong.
        OSError: it cannot be read.
    """
    columns = _Columns(path)
    known = FORMATS[form]
    for sample in known.read(path, dict(names)) if known.places == "by_names" else known.read(path):
        if isinstance(sample, EmptyStep):
            columns.add_empty(sample)
            continue
        # A wrong sample is refused before later ones fill the memory.
        columns.add(sample)
    return columns.samples()


def joined(parts: Sequence[Samples]) -> Samples:
    """Return the samples of several files, which all begin at one time; each file has devices of its own.

    A device has the name of its file, or file/name where the file has several.
    """
    names: list[str] = []
    for part in parts:
        names += [f"{stem_of(file)}/{name}" for file, name in zip(part.files, part.names, strict=True)]
        if len(part.names) == 1:
            names[-1] = stem_of(part.files[0])
    firsts = np.cumsum([0, *(len(part.names) for part in parts)])[:-1]
    return Samples(
        names=names,
        device=np.concatenate([part.device + first for part, first in zip(parts, firsts, strict=True)]),
        line=np.concatenate([part.line for part in parts]),
        time_s=np.concatenate([part.time_s - part.time_s.min() for part in parts]),
        points=np.concatenate([part.points for part in parts]),
        speed_mps=np.concatenate([part.speed_mps for part in parts]),
        in_degrees=all(part.in_degrees for part in parts),
        after_absence=np.concatenate([part.after_absence for part in parts]),
        repeated=of_folder([note for part in parts for note in part.repeated]),
        unknown=of_folder([note for part in parts for note in part.unknown]),
        files=[file for part in parts for file in part.files],
        ends_s=np.concatenate([part.ends_s - part.time_s.min() for part in parts]),
    )


class _Columns:
    """The samples so far, in the order of the file, in columns that take little memory."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._times = SampleTimes()
        self._names: list[str] = []
        self._number_of: dict[tuple[str, str], int] = {}  # of a group and a name
        self._last_row: list[int] = []  # of each device; -1: none
        self._device = array("q")
        self._line = array("q")
        self._time_s = array("d")
        self._x = array("d")
        self._y = array("d")
        self._speed_mps = array("d")
        self._after_absence = bytearray()
        self._unknown = 0
        self._first_unknown: Sample | None = None
        self._end_s = -math.inf  # of the file so far
        self._in_degrees = False

    def add_empty(self, step: EmptyStep) -> None:
        """Add a time step without devices.

        Raises:
            NotReadable: its time is wrong.
        """
        if not abs(step.time_s) <= LARGEST_NUMBER:
            raise NotReadable(f"a time must be a number up to {LARGEST_NUMBER:g}", step.line)
        self._end_s = max(self._end_s, step.time_s)

    def add(self, sample: Sample) -> None:
        """Add a sample, or replace the one that its device has at its time.

        Raises:
            NotReadable: it is wrong.
        """
        _check(sample)
        self._in_degrees = sample.in_degrees
        self._end_s = max(self._end_s, sample.time_s)
        if not sample.is_known:
            self._unknown += 1
            self._first_unknown = self._first_unknown or sample
            return
        key = (sample.group, sample.device)
        device = self._number_of.setdefault(key, len(self._names))
        if device == len(self._names):
            self._names.append(sample.device)
            self._last_row.append(-1)
        written = sample.time
        if written is None:
            written = f"{sample.time_s:.10g}"
        if self._times.is_repeated(device, sample.device, sample.time_s, written, sample.line):
            row = self._last_row[device]
            self._line[row] = sample.line
            self._x[row] = sample.x
            self._y[row] = sample.y
            self._speed_mps[row] = sample.speed_mps
            return
        self._last_row[device] = len(self._device)
        self._device.append(device)
        self._line.append(sample.line)
        self._time_s.append(sample.time_s)
        self._x.append(sample.x)
        self._y.append(sample.y)
        self._speed_mps.append(sample.speed_mps)
        self._after_absence.append(sample.after_absence)

    def samples(self) -> Samples:
        """Return the samples.

        Raises:
            NotReadable: there are none.
        """
        if not self._device:
            raise NotReadable("holds no positions")
        return Samples(
            names=self._names,
            device=np.frombuffer(self._device, dtype=np.int64),
            line=np.frombuffer(self._line, dtype=np.int64),
            time_s=np.frombuffer(self._time_s),
            points=np.stack([np.frombuffer(self._x), np.frombuffer(self._y)], axis=-1),
            speed_mps=np.frombuffer(self._speed_mps),
            in_degrees=self._in_degrees,
            after_absence=np.frombuffer(self._after_absence, dtype=np.bool_),
            repeated=self._times.notes(self._path),
            unknown=self._unknown_notes(),
            files=[self._path] * len(self._names),
            ends_s=np.full(len(self._names), self._end_s),
        )

    def _unknown_notes(self) -> list[str]:
        first = self._first_unknown
        if first is None:
            return []
        what = "1 position is unknown"
        if self._unknown > 1:
            what = f"{self._unknown} positions are unknown"
        place = f"{self._path}:{first.line}"
        return [f"{place}: {what} (the first: device {first.device}, {first.x:.10g}, {first.y:.10g}): left out"]


def _check(sample: Sample) -> None:
    if not sample.device:
        raise NotReadable("a device has no name", sample.line)
    most = LARGEST_NUMBER
    # In this form nan is refused, too.
    if most < abs(sample.time_s) < math.inf:
        text = f"device {sample.device}: a time must be a number of seconds up to {LARGEST_NUMBER:g}"
        raise NotReadable(
            f"{text}, got {sample.time_s:.15g}: divide by 1000 if the times are milliseconds", sample.line
        )
    if not (abs(sample.time_s) <= most and abs(sample.x) <= most and abs(sample.y) <= most):
        text = f"device {sample.device}: time and place must be numbers up to {LARGEST_NUMBER:g}"
        raise NotReadable(text, sample.line)


def moved_per_m(samples: Samples) -> float:
    """Return the movement in the file's coordinates for each metre by its speeds; inf without any speeds above 0."""
    rows = np.argsort(samples.device, kind="stable")
    speed_mps = samples.speed_mps[rows]
    mean_mps = (speed_mps[1:] + speed_mps[:-1]) / 2
    is_leg = (np.diff(samples.device[rows]) == 0) & ~samples.after_absence[rows][1:] & np.isfinite(mean_mps)
    driven_m = float((mean_mps * np.diff(samples.time_s[rows]))[is_leg].sum())
    if driven_m <= 0:
        return math.inf
    moved = np.hypot(*np.diff(samples.points[rows], axis=0).T)
    return float(moved[is_leg].sum()) / driven_m
