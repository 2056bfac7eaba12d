"""CSV files of positions."""

from collections.abc import Iterator
from pathlib import Path

from edgefl.core.data_files import timed_rows
from edgefl.world.mobility.formats.sample import Sample, number

COLUMNS = ("time_s", "device", "x_m", "y_m")


def read_csv(path: Path) -> Iterator[Sample]:
    """Yield the samples of a CSV file whose header has `time_s,device,x_m,y_m`, in any order, among other columns.

    Times may be timestamps, such as 2024-05-01T12:00:00Z.
    """
    for row in timed_rows(path, ("time_s",), COLUMNS):
        line = row.line
        cells = row.cells
        time_s = number(cells["time_s"], line)
        x = number(cells["x_m"], line)
        y = number(cells["y_m"], line)
        yield Sample(line, time_s, cells["device"], x, y, time=row.as_written("time_s"))
