"""Links by the logs of the phone app G-NetTrack."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from typing import Literal, NamedTuple

from edgefl.core.data_files import NotReadable, faults_in, timed_rows
from edgefl.core.file_lists import files_at, stem_of
from edgefl.core.paths import DataPath
from edgefl.core.sample_times import SampleTimes, of_folder
from edgefl.radio.traces.base import (
    HIGHEST_BPS,
    LARGEST_SNR_DB,
    NO_RATE,
    NO_SNR,
    LinkTrace,
    Recording,
    bounded,
    held,
    unit_notes,
)

TIME = "Timestamp"
NOT_MEASURED = "-"
BPS_PER_KBPS = 1e3


class GNetTrackTrace(LinkTrace):
    """Logs of phones by G-NetTrack Pro, as of Raca et al. (MMSys 2020): DL_bitrate, UL_bitrate (kbit/s), or SNR (dB).

    A log is one device; a folder has one for each, in the order of the files' names. A row holds until the next one
    with a value; of several rows at one time the last counts.
    """

    path: DataPath  # CSV file of one phone, or a folder with a file for each.
    # What is taken from the log: the bitrates, which are those of the phone's traffic, or the downlink's SNR, which
    # then serves both directions.
    values: Literal["bitrates", "snr"] = "bitrates"

    def recordings(self) -> list[Recording]:
        """Return the recordings in the order of the files' names."""
        return [log.recording for log in self._logs()]

    def notes(self) -> list[str]:
        """See LinkTrace."""
        return of_folder([note for log in self._logs() for note in log.notes])

    @property
    def source(self) -> str:
        """See LinkTrace."""
        return str(self.path)

    def _logs(self) -> list[_Log]:
        with faults_in(self.path):
            files = files_at(self.path, (".csv",))
        logs = []
        for file in files:
            with faults_in(file):
                logs.append(_read(file, file.stat().st_mtime_ns, is_snr=self.values == "snr"))
        return logs


class _Values(NamedTuple):
    """The columns with the values of a recording, in units of the log."""

    columns: tuple[str, ...]  # of the downlink and of the uplink, or one for both
    least: float
    most: float
    scale: float  # to bit/s or dB
    remedy: str  # for a cell without a number


BITRATES = _Values(("DL_bitrate", "UL_bitrate"), 0.0, HIGHEST_BPS / BPS_PER_KBPS, BPS_PER_KBPS, NO_RATE)
SNR = _Values(("SNR",), -LARGEST_SNR_DB, LARGEST_SNR_DB, 1.0, NO_SNR)


class _Log(NamedTuple):
    """The content of a log."""

    recording: Recording
    notes: list[str]  # for the user


class _Row(NamedTuple):
    """A row with values."""

    line: int
    time_s: float
    time: str  # as in the file
    down: float  # bit/s or dB
    up: float


@lru_cache(maxsize=256)
def _read(path: Path, changed_ns: int, *, is_snr: bool) -> _Log:
    """Return the recording of a log, which is read again if it has changed.

    Raises:
        NotReadable: the file is wrong, or has no row with values.
    """
    name = stem_of(path)
    times = SampleTimes()
    rows: list[_Row] = []
    wanted = SNR if is_snr else BITRATES
    for row in _rows(path, wanted):
        if times.is_repeated(name, name, row.time_s, row.time, row.line):
            rows.pop()
        rows.append(row)
    if not rows:
        raise NotReadable(f"has no row with {' and '.join(wanted.columns)}", 1)
    times_s = [0.0, *(row.time_s for row in rows[1:])]  # the first value holds from the log's beginning
    recording = held(name, times_s, [row.down for row in rows], [row.up for row in rows], are_snrs=is_snr)
    notes = times.notes(path)
    if is_snr:
        notes += unit_notes(path, [row.down for row in rows], are_snrs=True)
    return _Log(recording, notes)


def _rows(path: Path, wanted: _Values) -> Iterator[_Row]:
    """Yield the rows of a log that have all wanted values."""
    for row in timed_rows(path, (TIME,), (TIME, *wanted.columns)):
        if any(row.cells[column] == NOT_MEASURED for column in wanted.columns):
            continue
        values = [
            bounded(column, row, wanted.least, wanted.most, wanted.remedy) * wanted.scale for column in wanted.columns
        ]
        yield _Row(row.line, float(row.cells[TIME]), row.as_written(TIME), values[0], values[-1])
