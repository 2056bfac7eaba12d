"""Links by the logs of the phone app G-NetTrack."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from typing import Literal

from edgefl.core.data_files import faults_in, timed_rows
from edgefl.core.file_lists import files_at, stem_of
from edgefl.core.paths import DataPath
from edgefl.core.sample_times import of_folder
from edgefl.radio.traces.base import LinkTrace, Recording
from edgefl.radio.traces.columns import BITRATES, SNR, Columns, Row, Table, row_of, table_of

TIME = "Timestamp"
NOT_MEASURED = "-"


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
        # The first value holds from the log's beginning.
        return [log.recording(device, begin_s=0.0) for log in self._logs() for device in log.rows]

    def notes(self) -> list[str]:
        """See LinkTrace."""
        return of_folder([note for log in self._logs() for note in log.notes])

    @property
    def source(self) -> str:
        """See LinkTrace."""
        return str(self.path)

    def _logs(self) -> list[Table]:
        with faults_in(self.path):
            files = files_at(self.path, (".csv",))
        logs = []
        for file in files:
            with faults_in(file):
                logs.append(_read(file, file.stat().st_mtime_ns, SNR if self.values == "snr" else BITRATES))
        return logs


@lru_cache(maxsize=256)
def _read(path: Path, changed_ns: int, columns: Columns) -> Table:
    """Return a log, which is read again if it has changed."""
    return table_of(path, _rows(path, columns))


def _rows(path: Path, columns: Columns) -> Iterator[tuple[Row, Columns]]:
    """Yield the rows of a log that have all wanted values."""
    for row in timed_rows(path, (TIME,), (TIME, *columns.names)):
        if NOT_MEASURED not in {row.cells[name] for name in columns.names}:
            yield row_of(row, columns, TIME, stem_of(path)), columns
