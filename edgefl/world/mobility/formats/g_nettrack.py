"""Logs of the phone app G-NetTrack."""

from collections.abc import Iterator
from pathlib import Path

from edgefl.core.data_files import timed_rows
from edgefl.core.file_lists import stem_of
from edgefl.world.mobility.formats.sample import Sample, coordinate_in, seconds_in

TIME = "Timestamp"
PLACE = ("Longitude", "Latitude")
NOT_MEASURED = "-"


def read_g_nettrack(path: Path) -> Iterator[Sample]:
    """Yield the positions of a phone by its log, a CSV file of G-NetTrack Pro (as of Raca et al., MMSys 2020).

    Columns are Timestamp, such as 2019.12.14_10.16.30, Longitude, Latitude (degrees) and others. The phone's name is
    the file's.
    """
    name = stem_of(path)
    unknown_since: tuple[float, str] | None = None  # times of the first row, before any with a position
    is_found = False
    for row in timed_rows(path, (TIME,), (TIME, *PLACE)):
        time_s = seconds_in(row, TIME)
        time = row.as_written(TIME)
        if NOT_MEASURED in {row.cells[column] for column in PLACE}:
            yield Sample(row.line, time_s, name, 0.0, 0.0, time=time, is_known=False)
            unknown_since = unknown_since or (time_s, time)
            continue
        x, y = (coordinate_in(row, column) for column in PLACE)
        if unknown_since is not None and not is_found:
            # It was somewhere when its log began: so a log's positions and its links have one clock.
            yield Sample(row.line, unknown_since[0], name, x, y, time=unknown_since[1])
        is_found = True
        yield Sample(row.line, time_s, name, x, y, time=time)
