"""The one reader of link traces that are CSV files: tables of devices, and logs of one."""

from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Literal, NamedTuple

from edgefl.core.data_files import EXAMPLE, CsvRow, NotReadable, csv_rows, number_in, timed_rows
from edgefl.core.sample_times import SampleTimes
from edgefl.core.section import LARGEST_S
from edgefl.radio.traces.base import HIGHEST_BPS, LARGEST_SNR_DB, Recording, held

NO_SNR = "leave the row out, so that the value before holds"
NO_RATE = f"write 0 where nothing could be sent, or {NO_SNR}"
TIME = "time_s"
Named = Literal["time_s", "downlink_bps", "uplink_bps", "downlink_snr_db", "uplink_snr_db"]


class Columns(NamedTuple):
    """The columns with the values of a recording, and the numbers that they may hold."""

    names: tuple[str, ...]  # of the downlink and of the uplink, or one for both
    least: float
    most: float
    remedy: str  # for a cell without a number
    are_snrs: bool = False


RATES = Columns(("downlink_bps", "uplink_bps"), 0.0, HIGHEST_BPS, NO_RATE)
SNRS = Columns(("downlink_snr_db", "uplink_snr_db"), -LARGEST_SNR_DB, LARGEST_SNR_DB, NO_SNR, are_snrs=True)
DOWNLINK_SNR = SNRS._replace(names=SNRS.names[:1])


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


@lru_cache(maxsize=256)
def read_table(
    path: Path,
    changed_ns: int,
    kinds: tuple[Columns, ...],
    named: tuple[tuple[str, str], ...],
    device: str | None = None,
) -> Table:
    """Return the rows of a file, which is read again if it has changed; of several at one time the last counts.

    Args:
        path: the file.
        changed_ns: when it was changed.
        kinds: columns of values; it must have one of these kinds.
        named: its names for columns.
        device: whose log it is, with rows without values; None: it has a column `device`, and values in all rows.

    Raises:
        NotReadable: the times of a device fall, a cell holds no number, or one out of bounds, or there are no rows.
    """
    names = dict(named)
    columns = _kind(path, kinds, names)
    keys = (TIME,) if device is not None else ("device", TIME)
    times = SampleTimes()
    of_device: dict[str, list[Row]] = {}
    for cells in timed_rows(path, (TIME,), (*keys, *columns.names), (), names):
        if device is not None and not cells.is_measured(columns.names):
            continue
        row = _row(cells, columns, device or cells.cells["device"])
        own = of_device.setdefault(row.device, [])
        if times.is_repeated(row.device, row.device, row.time_s, row.time, row.line):
            own.pop()
        own.append(row)
    if not of_device:
        raise NotReadable("has no rows with values", 1)
    return Table(of_device, columns.are_snrs, times.notes(path))


def _kind(path: Path, kinds: tuple[Columns, ...], names: Mapping[str, str]) -> Columns:
    """Return the kind of columns that a file has, or the first kind."""
    named = tuple(kind for kind in kinds if not names.keys().isdisjoint(kind.names)) or kinds
    optional = [name for kind in named for name in kind.names]
    first = next(csv_rows(path, (), optional, names), None)
    found = [kind for kind in named if first is not None and not first.cells.keys().isdisjoint(kind.names)]
    if len(found) > 1:
        raise NotReadable(
            "has columns of both rates and SNRs: say which count, such as columns: {uplink_bps: uplink_bps}", 1
        )
    return (found or kinds)[0]


def _row(row: CsvRow, columns: Columns, device: str) -> Row:
    if not device:
        raise NotReadable("a device has no name", row.line)
    time_s = number_in(row, TIME, expected=f"seconds, or a timestamp such as {EXAMPLE}", least=0.0, most=LARGEST_S)
    values = [
        number_in(row, name, least=columns.least, most=columns.most, remedy=columns.remedy) for name in columns.names
    ]
    return Row(row.line, device, time_s, row.as_written(TIME), values[0], values[-1])
