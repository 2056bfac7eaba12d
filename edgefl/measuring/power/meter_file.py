"""The CSV file of a USB meter or of another logger: the power of the whole device, with the time of each row."""

from pathlib import Path

from edgefl.core.data_files import CsvRow, NotReadable, csv_rows, faults_in, number_in, timestamp
from edgefl.core.units import as_number
from edgefl.measuring.power.source import Series, Source


def source(path: Path) -> Source:
    """Return the power in a file, which may still grow.

    Raises:
        InputError: it cannot be read, or has no rows.
    """
    powers(path)  # so that its faults are told before the measurement
    return Source(f"{path.name}: as its meter is wired", rows=lambda: powers(path))


def powers(path: Path) -> Series:
    """Return Unix time [s] and power [W] of each row, in the order of time.

    Raises:
        InputError: the file cannot be read, or has no rows.
    """
    with faults_in(path):
        found = sorted((_unix_s(row), _watts(row)) for row in csv_rows(path, ("time",), ("watts", "volts", "amperes")))
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
    if not {"volts", "amperes"} <= row.cells.keys():
        raise NotReadable("needs a column watts, or volts and amperes")
    return number_in(row, "volts") * number_in(row, "amperes")
