"""Participations and their phases."""

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from edgefl.results.reader import TableRow, rows_of


class PhaseColumns(NamedTuple):
    """A phase of a participation and its columns of devices.csv."""

    name: str
    seconds: str  # column of its duration
    joules: str  # column of its energy
    bytes: str | None  # None: nothing is sent or received


class TimedPhase(NamedTuple):
    """A phase of a participation with its time and costs."""

    name: str
    start_s: float  # virtual time since the run's beginning
    duration_s: float
    energy_j: float
    bytes: int  # over the air


class ParticipationPhases(NamedTuple):
    """A row of devices.csv and its phases in order."""

    row: TableRow
    phases: tuple[TimedPhase, ...]


# If phases alternate (split learning), the file has only their sums: each is one phase, in this order.
PHASES_IN_ORDER = (
    PhaseColumns("set-up", "setup_s", "setup_energy_j", None),
    PhaseColumns("download", "download_s", "rx_energy_j", "bytes_down"),
    PhaseColumns("compute", "compute_s", "cpu_energy_j", None),
    PhaseColumns("upload", "upload_s", "tx_energy_j", "bytes_up"),
    PhaseColumns("wait", "wait_s", "idle_energy_j", None),
)


def participations(folder: Path) -> Iterator[ParticipationPhases]:
    """Yield all participations in the order of devices.csv."""
    for row in rows_of(folder, "devices.csv"):
        yield ParticipationPhases(row, tuple(_phases(row)))


def _phases(row: TableRow) -> Iterator[TimedPhase]:
    start_s = row["start_s"]
    for columns in PHASES_IN_ORDER:
        duration_s = row.get(columns.seconds)
        if duration_s is None:  # the phase is optional
            continue
        energy_j = row[columns.joules]
        carried = 0
        if columns.bytes is not None:
            carried = row[columns.bytes]
        yield TimedPhase(columns.name, start_s, duration_s, energy_j, carried)
        start_s += duration_s
