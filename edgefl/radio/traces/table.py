"""Link traces as tables of numbers over time."""

from collections.abc import Mapping

from edgefl.core.data_files import NotReadable, faults_in
from edgefl.core.paths import DataFile
from edgefl.core.sample_times import shown_time
from edgefl.core.section import shown
from edgefl.radio.traces.base import LinkTrace, Recording, unit_notes
from edgefl.radio.traces.columns import RATES, SNRS, Named, Row, Table, read_table


class CsvTrace(LinkTrace):
    """A CSV file: device, time_s, and downlink_bps, uplink_bps or downlink_snr_db, uplink_snr_db.

    Times are seconds, or timestamps such as 2024-05-01T12:00:00Z.
    Each row holds until the device's next one, the last as long as the one before it, and a single one for ever.
    Of several rows of a device at one time the last counts.
    """

    path: DataFile  # CSV file with the recordings.
    columns: Mapping[Named, str] = {}  # The names of these columns in the file; usual ones of drive tests are known.

    def recordings(self) -> list[Recording]:
        """Return the recordings by device: in the order of their numbers, or of their names in a pool."""
        table = self._read()
        names = sorted(table.rows)
        if self.assign == "by_number":
            names = [str(number) for number in range(len(table.rows))]
        return [table.recording(name) for name in names]

    def notes(self) -> list[str]:
        """See LinkTrace."""
        table = self._read()
        values = [value for own in table.rows.values() for row in own for value in (row.down, row.up)]
        return table.notes + unit_notes(self.path, values, are_snrs=table.are_snrs)

    def _read(self) -> Table:
        with faults_in(self.path):
            table = read_table(self.path, self.path.stat().st_mtime_ns, (RATES, SNRS), tuple(self.columns.items()))
            if self.assign == "by_number":
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
