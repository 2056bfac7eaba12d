"""Files of data that users write: rows of CSV, and errors that name the file and the line."""

import csv
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import NamedTuple

from edgefl.core.errors import InputError
from edgefl.core.files import lines
from edgefl.core.packed_files import unpacked
from edgefl.core.section import nearest, shown

_DATE = re.compile(r"\d{4}-\d\d-\d\d")  # the beginning of a timestamp, and of no number
EXAMPLE = "2024-05-01T12:00:00Z"  # of a timestamp
ENDLESS = "inf"  # may stand among timestamps


class NotReadable(Exception):  # noqa: N818 - the name says what happened
    """The file is wrong at `line`."""

    def __init__(self, text: str, line: int | None = None) -> None:
        super().__init__(text)
        self.line = line


@contextmanager
def faults_in(place: Path | str) -> Iterator[None]:
    """Turn faults of a file into errors for the user, which begin with `place` and the line.

    Raises:
        InputError: the block raised `NotReadable`, or could not read the file.
    """
    try:
        yield
    except NotReadable as error:
        line = "" if error.line is None else f":{error.line}"
        raise InputError(f"{place}{line}: {error}") from None
    except OSError as error:
        raise InputError(f"{place}: cannot be read: {error.strerror}") from None
    except UnicodeDecodeError:
        raise InputError(f"{place}: is not a text in UTF-8") from None


class CsvRow(NamedTuple):
    """A row of a CSV file; its cells, without spaces around them, by column."""

    line: int
    cells: dict[str, str]
    timestamps: dict[str, str] | None = None  # as written, by column, where the cells have seconds in their place

    def as_written(self, column: str) -> str:
        """Return a cell as in the file."""
        return (self.timestamps or self.cells)[column]


def csv_rows(path: Path, required: Sequence[str] = (), optional: Sequence[str] = ()) -> Iterator[CsvRow]:
    """Yield the rows of a CSV file, which may be packed by gzip and may have blank lines and further columns.

    Args:
        path: the file; its first line names the columns.
        required: columns that it must have.
        optional: columns that it may have once.

    Raises:
        NotReadable: a column is missing or repeated, or a row has more or fewer cells than the header.
        OSError: it cannot be read, or has too many bytes for its packed size or for a line.
    """
    try:
        with unpacked(path) as stream:
            table = csv.reader(_texts(lines(stream)))
            header = [name.strip() for name in next(table, [])]
            _check_header(header, required, optional)
            for cells in table:
                if not cells:  # a blank line
                    continue
                if len(cells) != len(header):
                    text = f"has {len(cells)} cells, the header has {len(header)}: write one for each column"
                    raise NotReadable(text, table.line_num)
                yield CsvRow(table.line_num, dict(zip(header, map(str.strip, cells), strict=True)))
    except (UnicodeDecodeError, csv.Error):
        raise NotReadable("is not a CSV file in UTF-8") from None


def timed_rows(
    path: Path, times: Sequence[str], required: Sequence[str], optional: Sequence[str] = ()
) -> Iterator[CsvRow]:
    """Yield rows as `csv_rows` does, with timestamps as seconds since the earliest one of the file.

    A timestamp is a date with or without a time of day, in ISO 8601; without a zone it is in UTC.

    Args:
        path: the file.
        times: columns of seconds or of timestamps, among the required ones.
        required: columns that it must have.
        optional: columns that it may have once.

    Raises:
        NotReadable: as for `csv_rows`; or a cell is not a timestamp, or is one, and the file's first cell is not.
        OSError: as for `csv_rows`.
    """
    earliest: datetime | None = None
    has_timestamps: bool | None = None
    for row in csv_rows(path, required, optional):
        if has_timestamps is None:
            has_timestamps = _DATE.match(row.cells[times[0]]) is not None
            if has_timestamps:
                earliest = _earliest(path, times)
        if earliest is not None:
            timestamps = {column: row.cells[column] for column in times}
            for column, cell in timestamps.items():
                row.cells[column] = _since(earliest, column, cell, row.line)
            yield row._replace(timestamps=timestamps)
            continue
        for column in times:
            cell = row.cells[column]
            if _DATE.match(cell):
                text = f"{column}: {shown(cell)} is a timestamp, and the rows above have seconds: write one form"
                raise NotReadable(text, row.line)
        yield row


def _earliest(path: Path, times: Sequence[str]) -> datetime:
    """Return the earliest timestamp in columns of a file; any time if there is none, as each cell is then refused."""
    cells = (row.cells[column] for row in csv_rows(path) for column in times)
    found = (timestamp(cell) for cell in cells)
    return min((time for time in found if time is not None), default=datetime.now(UTC))


def _since(earliest: datetime, column: str, cell: str, line: int) -> str:
    """Return the text of the seconds from a time to the timestamp in a cell."""
    if cell == ENDLESS:
        return cell
    time = timestamp(cell)
    if time is None:
        text = f"{column}: must be a timestamp such as {EXAMPLE}, as the file's first one, got {shown(cell)}"
        raise NotReadable(text, line)
    return repr((time - earliest) / timedelta(seconds=1))


def timestamp(text: str) -> datetime | None:
    """Return the time of an ISO 8601 timestamp, in UTC if it names no zone; None if the text is none."""
    try:
        time = datetime.fromisoformat(text)
    except ValueError:
        return None
    if time.tzinfo is None:
        time = time.replace(tzinfo=UTC)  # instead of the machine's zone
    return time


def _texts(raw_lines: Iterator[bytes]) -> Iterator[str]:
    for raw in raw_lines:
        # Some spreadsheets end lines with \r alone, others write a byte order mark.
        for line in raw.splitlines(keepends=True):
            yield line.decode().removeprefix("\ufeff")


def _check_header(header: list[str], required: Sequence[str], optional: Sequence[str]) -> None:
    for name in required:
        if name not in header:
            found = shown(",".join(header) or None)
            if len(header) == 1 and (other := re.search(r"[;\t|]", header[0])):
                text = f"its columns are divided by {other[0]!r}: save it with commas, and with points for decimals"
                raise NotReadable(text, 1)
            text = f"has no column {name}{nearest(name, header)}; must have {', '.join(required)}, got {found}"
            raise NotReadable(text, 1)
    for name in (*required, *optional):
        if header.count(name) > 1:
            raise NotReadable(f"has the column {name} twice: remove one", 1)
