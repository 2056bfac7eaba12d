"""The CSV file of a USB meter or of another logger: the power of the whole device, with the time of each row."""

from pathlib import Path

from edgefl.core.data_files import CsvRow, NotReadable, csv_rows, faults_in, number_in, timestamp
from edgefl.core.units import as_number

ELECTRIC = ("volts", "amperes")


def powers(path: Path) -> list[tuple[float, float]]:
    """Return Unix time [s] and power [W] of each row, in the order of time.

    Raises:
        InputError: the file cannot be read, or has no rows.
    """
    with faults_in(path):
        rows = csv_rows(path, ("time",), ("watts", *ELECTRIC))
        found = sorted((_unix_s(row), _watts(row)) for row in rows)
        if not found:
            raise NotReadable("has no rows: write time and watts, or time, volts and amperes")
    return found


def _unix_s(row: CsvRow) -> float:
    stamp = timestamp(row.cells["time"])
    if as_number(row.cells["time"]) is None and stamp is not None:
        return stamp.timestamp()
    return number_in(row, "time", expected="a timestamp with its zone, or Unix seconds")


def _watts(row: CsvRow) -> float:
    if "watts" in row.cells:
        return number_in(row, "watts")
    for column in ELECTRIC:
        if column not in row.cells:
            raise NotReadable(f"has no column watts, and no column {column}: it needs one, or volts and amperes")
    return number_in(row, "volts") * number_in(row, "amperes")
