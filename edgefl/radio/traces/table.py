"""Link traces as tables of numbers over time."""

from collections.abc import Container, Iterator
from functools import lru_cache
from pathlib import Path

from edgefl.core.data_files import NotReadable, faults_in, timed_rows
from edgefl.core.paths import DataFile
from edgefl.core.sample_times import shown_time
from edgefl.core.section import shown
from edgefl.radio.traces.base import LinkTrace, Recording
from edgefl.radio.traces.columns import RATES, SNRS, Columns, Row, Table, row_of, table_of

KEYS = ("device", "time_s")


class CsvTrace(LinkTrace):
    """A CSV file: device, time_s, and downlink_bps, uplink_bps or downlink_snr_db, uplink_snr_db.

    Times are seconds, or timestamps such as 2024-05-01T12:00:00Z.
    Each row holds until the device's next one, the last as long as the one before it, and a single one for ever.
    Of several rows of a device at one time the last counts.
    """

    path: DataFile  # CSV file with the recordings.

    def recordings(self) -> list[Recording]:
        """Return the recordings by device: in the order of their numbers, or of their names in a pool."""
        table = self._read()
        names = sorted(table.rows)
        if self.assign == "by_number":
            names = [str(number) for number in range(len(table.rows))]
        return [table.recording(name) for name in names]

    def notes(self) -> list[str]:
        """See LinkTrace."""
        return self._read().notes

    def _read(self) -> Table:
        with faults_in(self.path):
            changed_ns = self.path.stat().st_mtime_ns
            return _read(self.path, changed_ns, numbered=self.assign == "by_number")

    @property
    def source(self) -> str:
        """See LinkTrace."""
        return str(self.path)


@lru_cache(maxsize=4)
def _read(path: Path, changed_ns: int, *, numbered: bool) -> Table:
    """Return what a file holds; it is read again if it has changed."""
    table = table_of(path, _rows(path))
    if numbered:
        _check_numbers(table.rows)
    return table


def _check_numbers(of_device: dict[str, list[Row]]) -> None:
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


def _rows(path: Path) -> Iterator[tuple[Row, Columns]]:
    """Yield the rows of a file with the columns of rates or of SNRs."""
    columns: Columns | None = None
    for row in timed_rows(path, ("time_s",), KEYS, (*RATES.names, *SNRS.names)):
        columns = columns or _columns(row.cells)
        yield row_of(row, columns, "time_s", row.cells["device"]), columns


def _columns(header: Container[str]) -> Columns:
    must = f"must have {', '.join(KEYS)} and either {', '.join(RATES.names)} or {', '.join(SNRS.names)}"
    found = [columns for columns in (RATES, SNRS) if any(name in header for name in columns.names)]
    if len(found) > 1:
        raise NotReadable(f"has columns of both rates and SNRs; {must}", 1)
    columns = found[0] if found else RATES
    for name in columns.names:
        if name not in header:
            raise NotReadable(f"has no column {name}; {must}", 1)
    return columns
