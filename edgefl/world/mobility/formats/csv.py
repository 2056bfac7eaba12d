"""CSV files of positions."""

from collections.abc import Iterator
from pathlib import Path

from edgefl.core.data_files import MissingColumn, NotReadable, timed_rows
from edgefl.world.mobility.formats.sample import Sample, coordinate_in, seconds_in

COLUMNS = ("time_s", "device", "x_m", "y_m")
DEGREES = frozenset({"lat", "latitude", "lon", "lng", "long", "longitude"})  # usual names of columns


def read_csv(path: Path) -> Iterator[Sample]:
    """Yield the samples of a CSV file whose header has `time_s,device,x_m,y_m`, in any order, among other columns.

    Times may be timestamps, such as 2024-05-01T12:00:00Z.
    """
    try:
        yield from _samples(path)
    except MissingColumn as error:
        if DEGREES.isdisjoint(name.lower() for name in error.header):
            raise
        remedy = "name the longitude x_m and the latitude y_m, and set coordinates: lon_lat"
        raise NotReadable(f"{error}: {remedy}", error.line) from None


def _samples(path: Path) -> Iterator[Sample]:
    for row in timed_rows(path, ("time_s",), COLUMNS):
        time_s = seconds_in(row, "time_s")
        x = coordinate_in(row, "x_m")
        y = coordinate_in(row, "y_m")
        yield Sample(row.line, time_s, row.cells["device"], x, y, time=row.as_written("time_s"))
