"""CSV files of positions: tables of devices, and logs of drive tests."""

from collections.abc import Iterator, Mapping
from pathlib import Path

from edgefl.core.data_files import EXAMPLE, number_in, timed_rows
from edgefl.core.file_lists import stem_of
from edgefl.world.mobility.formats.sample import Sample

TIME = "time_s"
PLACE = ("x_m", "y_m")


def read_csv(path: Path, names: Mapping[str, str], *, is_log: bool = False) -> Iterator[Sample]:
    """Yield the samples of a CSV file whose header has `time_s,device,x_m,y_m`, in any order, among other columns.

    Times may be timestamps, such as 2024-05-01T12:00:00Z; cells of an unknown position are empty, or hold `-`.

    Args:
        path: the file.
        names: its names for these columns, where they are not known.
        is_log: it is the log of one device, which has the file's name, and needs no column for it.
    """
    keys = (TIME,) if is_log else (TIME, "device")
    begin: tuple[float, str] | None = None  # of a log
    is_first = is_log
    for row in timed_rows(path, (TIME,), (*keys, *PLACE), (), names):
        time = row.as_written(TIME)
        time_s = number_in(row, TIME, expected=f"seconds, or a timestamp such as {EXAMPLE}")
        device = stem_of(path) if is_log else row.cells["device"]
        if not row.is_measured(PLACE):
            yield Sample(row.line, time_s, device, 0.0, 0.0, time=time, is_known=False)
            begin = begin or (time_s, time)
            continue
        x, y = (number_in(row, column) for column in PLACE)
        sample = Sample(row.line, time_s, device, x, y, time=time, in_degrees=row.are_in_degrees(PLACE))
        if is_first and begin is not None:
            # It was somewhere when its log began: so a log's positions and its links have one clock.
            yield sample._replace(time_s=begin[0], time=begin[1])
        is_first = False
        yield sample
