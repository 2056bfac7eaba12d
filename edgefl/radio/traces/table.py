"""Link traces as tables of numbers over time."""

from collections.abc import Container, Iterator
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

from edgefl.core.data_files import EXAMPLE, NotReadable, faults_in, timed_rows
from edgefl.core.paths import DataFile
from edgefl.core.sample_times import SampleTimes, shown_time
from edgefl.core.section import LARGEST_S, shown
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

KEYS = ("device", "time_s")
TIMES = ("time_s",)
BPS = ("downlink_bps", "uplink_bps")
SNR = ("downlink_snr_db", "uplink_snr_db")


class _Read(NamedTuple):
    """The content of a file."""

    recordings: list[Recording]
    notes: list[str]  # for the user


class CsvTrace(LinkTrace):
    """A CSV file: device, time_s, and downlink_bps, uplink_bps or downlink_snr_db, uplink_snr_db.

    Times are seconds, or timestamps such as 2024-05-01T12:00:00Z.
    Each row holds until the device's next one, the last as long as the one before it, and a single one for ever.
    Of several rows of a device at one time the last counts.
    """

    path: DataFile  # CSV file with the recordings.

    def recordings(self) -> list[Recording]:
        """Return the recordings by device: in the order of their numbers, or of their names in a pool."""
        return list(self._read().recordings)

    def notes(self) -> list[str]:
        """See LinkTrace."""
        return self._read().notes

    def _read(self) -> _Read:
        with faults_in(self.path):
            changed_ns = self.path.stat().st_mtime_ns
            return _read(self.path, changed_ns, numbered=self.assign == "by_number")

    @property
    def source(self) -> str:
        """See LinkTrace."""
        return str(self.path)


class _Row(NamedTuple):
    """A row of the file."""

    line: int
    device: str
    time_s: float
    time: str  # as in the file
    down: float
    up: float
    is_snr: bool


@lru_cache(maxsize=4)
def _read(path: Path, changed_ns: int, *, numbered: bool) -> _Read:
    """Return what a file holds; it is read again if it has changed.

    Raises:
        NotReadable: the file is wrong.
    """
    times = SampleTimes()
    of_device: dict[str, list[_Row]] = {}
    for row in _rows(path):
        own = of_device.setdefault(row.device, [])
        if times.is_repeated(row.device, row.device, row.time_s, row.time, row.line):
            own.pop()
        own.append(row)
    if not of_device:
        raise NotReadable("has no rows", 1)
    all_rows = [row for own in of_device.values() for row in own]
    values = [value for row in all_rows for value in (row.down, row.up)]
    notes = [*times.notes(path), *unit_notes(path, values, are_snrs=all_rows[0].is_snr)]
    if not numbered:
        return _Read([_recording(name, of_device[name]) for name in sorted(of_device)], notes)
    _check_numbers(of_device)
    numbers = range(len(of_device))
    return _Read([_recording(str(number), of_device[str(number)]) for number in numbers], notes)


def _check_numbers(of_device: dict[str, list[_Row]]) -> None:
    """Check that devices are numbered from 0 without a gap, and begin together.

    Raises:
        NotReadable: a number is missing or malformed, or a device begins at another time.
    """
    first_of_all = next(iter(of_device.values()))[0]
    for name, rows in of_device.items():
        first = rows[0]
        if not name.isdecimal() or str(int(name)) != name:
            text = f"{shown(name)} is not the number of a device, such as 0: any names are allowed with assign: pool"
            raise NotReadable(text, first.line)
        if first.time_s != first_of_all.time_s:
            text = f"device {name} begins at {shown_time(first.time)}, device {first_of_all.device} at"
            text = f"{text} {shown_time(first_of_all.time)}: all must begin together"
            raise NotReadable(text, first.line)
    for number in range(len(of_device)):
        if str(number) not in of_device:
            raise NotReadable(f"has no rows of device {number}, but of {len(of_device)} others: number them from 0")


def _recording(name: str, rows: list[_Row]) -> Recording:
    """Return the recording that a device's rows describe, from its first row on."""
    times_s = [row.time_s for row in rows]
    return held(name, times_s, [row.down for row in rows], [row.up for row in rows], are_snrs=rows[0].is_snr)


def _rows(path: Path) -> Iterator[_Row]:
    """Yield the rows of a file with the columns of rates or of SNRs.

    Raises:
        NotReadable: a column is missing, the file has both rates and SNRs, or a row is wrong.
    """
    pair: tuple[str, str] | None = None
    for row in timed_rows(path, TIMES, KEYS, (*BPS, *SNR)):
        pair = pair or _pair(row.cells)
        device = row.cells["device"]
        if not device:
            raise NotReadable("a device has no name", row.line)
        time_s = bounded("time_s", row, 0.0, LARGEST_S, f"write seconds, or a timestamp such as {EXAMPLE}")
        least, most, remedy = 0.0, HIGHEST_BPS, NO_RATE
        if pair == SNR:
            least, most, remedy = -LARGEST_SNR_DB, LARGEST_SNR_DB, NO_SNR
        down, up = (bounded(name, row, least, most, remedy) for name in pair)
        yield _Row(row.line, device, time_s, row.as_written("time_s"), down, up, pair == SNR)


def _pair(header: Container[str]) -> tuple[str, str]:
    must = f"must have {', '.join(KEYS)} and either {', '.join(BPS)} or {', '.join(SNR)}"
    found = [pair for pair in (BPS, SNR) if any(name in header for name in pair)]
    if len(found) > 1:
        raise NotReadable(f"has columns of both rates and SNRs; {must}", 1)
    pair = found[0] if found else BPS
    for name in pair:
        if name not in header:
            raise NotReadable(f"has no column {name}; {must}", 1)
    return pair
