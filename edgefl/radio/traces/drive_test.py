"""Links by the logs of drive tests."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from edgefl.core.data_files import faults_in
from edgefl.core.file_lists import files_at, stem_of
from edgefl.core.paths import DataPath
from edgefl.core.sample_times import of_folder
from edgefl.radio.traces.base import LinkTrace, Recording
from edgefl.radio.traces.columns import DOWNLINK_SNR, RATES, Named, Table, read_table


class DriveTestTrace(LinkTrace):
    """Logs of devices, as of the phone app G-NetTrack Pro: time_s, and downlink_bps, uplink_bps or downlink_snr_db.

    A log is one device; a folder has one for each, in the order of the files' names. A row holds until the next one
    with a value; of several rows at one time the last counts.
    """

    path: DataPath  # CSV file of one device, or a folder with a file for each.
    # What is taken from the log: the bitrates, which are those of the device's traffic, or the downlink's SNR, which
    # then serves both directions.
    values: Literal["bitrates", "snr"] = "bitrates"
    columns: Mapping[Named, str] = {}  # The names of these columns in the files; usual ones of drive tests are known.

    def recordings(self) -> list[Recording]:
        """Return the recordings in the order of the files' names."""
        # The first value holds from the log's beginning.
        return [log.recording(device, begin_s=0.0) for log in self._logs() for device in log.rows]

    def notes(self) -> list[str]:
        """See LinkTrace."""
        return of_folder([note for log in self._logs() for note in log.notes])

    def _logs(self) -> list[Table]:
        with faults_in(self.path):
            files = files_at(self.path, (".csv",))
        kinds = (DOWNLINK_SNR,) if self.values == "snr" else (RATES,)
        names = tuple(self.columns.items())
        logs = []
        for file in files:
            with faults_in(file):
                logs.append(read_table(file, file.stat().st_mtime_ns, kinds, names, stem_of(file)))
        return logs
