"""The one reader of link traces that are CSV files: formats differ by the names of their columns."""

from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from edgefl.core.data_files import EXAMPLE, CsvRow, NotReadable, number_in
from edgefl.core.sample_times import SampleTimes
from edgefl.core.section import LARGEST_S
from edgefl.radio.traces.base import HIGHEST_BPS, LARGEST_SNR_DB, Recording, held, unit_notes

BPS_PER_KBPS = 1e3
NO_SNR = "leave the row out, so that the value before holds"
NO_RATE = f"write 0 where nothing could be sent, or {NO_SNR}"


class Columns(NamedTuple):
    """The columns with the values of a recording, and the numbers that they may hold."""

    names: tuple[str, ...]  # of the downlink and of the uplink, or one for both
    least: float
    most: float
    remedy: str  # for a cell without a number
    scale: float = 1.0  # to bit/s or dB
    are_snrs: bool = False


RATES = Columns(("downlink_bps", "uplink_bps"), 0.0, HIGHEST_BPS, NO_RATE)
SNRS = Columns(("downlink_snr_db", "uplink_snr_db"), -LARGEST_SNR_DB, LARGEST_SNR_DB, NO_SNR, are_snrs=True)
BITRATES = Columns(("DL_bitrate", "UL_bitrate"), 0.0, HIGHEST_BPS / BPS_PER_KBPS, NO_RATE, BPS_PER_KBPS)
SNR = Columns(("SNR",), -LARGEST_SNR_DB, LARGEST_SNR_DB, NO_SNR, are_snrs=True)


class Row(NamedTuple):
    """A row of a file."""

    line: int
    device: str
    time_s: float
    time: str  # as in the file
    down: float  # bit/s or dB
    up: float


class Table(NamedTuple):
    """The rows of a file by device, in order of time."""

    rows: dict[str, list[Row]]
    are_snrs: bool
    notes: list[str]  # for the user

    def recording(self, device: str, begin_s: float | None = None) -> Recording:
        """Return the recording that a device's rows describe; the first value may hold from a time before its row."""
        own = self.rows[device]
        times_s = [row.time_s for row in own]
        if begin_s is not None:
            times_s[0] = begin_s
        return held(device, times_s, [row.down for row in own], [row.up for row in own], are_snrs=self.are_snrs)


def row_of(row: CsvRow, columns: Columns, time: str, device: str) -> Row:
    """Return a device's row, whose time stands in the column `time`.

    Raises:
        NotReadable: a cell holds no number, or one out of bounds.
    """
    if not device:
        raise NotReadable("a device has no name", row.line)
    time_s = number_in(row, time, expected=f"seconds, or a timestamp such as {EXAMPLE}", least=0.0, most=LARGEST_S)
    values = []
    for name in columns.names:
        value = number_in(row, name, least=columns.least, most=columns.most, remedy=columns.remedy)
        values.append(value * columns.scale)
    return Row(row.line, device, time_s, row.as_written(time), values[0], values[-1])


def table_of(path: Path, rows: Iterable[tuple[Row, Columns]]) -> Table:
    """Return the rows of a file; of several rows of a device at one time the last counts.

    Raises:
        NotReadable: the times of a device fall, or there are no rows.
    """
    times = SampleTimes()
    of_device: dict[str, list[Row]] = {}
    columns: Columns | None = None
    for row, found in rows:
        columns = found
        own = of_device.setdefault(row.device, [])
        if times.is_repeated(row.device, row.device, row.time_s, row.time, row.line):
            own.pop()
        own.append(row)
    if columns is None:
        raise NotReadable("has no rows with values", 1)
    notes = times.notes(path)
    if columns.scale == 1:  # others name their unit
        values = [value for own in of_device.values() for row in own for value in (row.down, row.up)]
        notes += unit_notes(path, values, are_snrs=columns.are_snrs)
    return Table(of_device, columns.are_snrs, notes)
