"""Files of data that users write: rows of CSV, and errors that name the file and the line."""

import csv
import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from io import BufferedReader
from itertools import chain
from math import inf, isfinite, nan
from pathlib import Path
from typing import Any, NamedTuple

from edgefl.core.errors import InputError
from edgefl.core.files import text_lines
from edgefl.core.packed_files import unpacked
from edgefl.core.section import nearest, shown

_DATE = re.compile(r"\d{4}([-.])\d\d\1\d\d")  # the beginning of a timestamp, and of no number
_DOTTED = re.compile(r"(\d{4})\.(\d\d)\.(\d\d)_(\d\d)\.(\d\d)\.(\d\d)")  # a timestamp of G-NetTrack
EXAMPLE = "2024-05-01T12:00:00Z"  # of a timestamp
ENDLESS = "inf"  # may stand among timestamps
COMMENT = "#"  # begins a line above the header
NOT_UTF_8 = "is not in UTF-8: save it as UTF-8, in a spreadsheet as 'CSV UTF-8 (comma delimited)'"
MOST_MARK_BYTES = 4
OTHER_KINDS = {
    b"\xff\xfe": NOT_UTF_8,  # UTF-16
    b"\xfe\xff": NOT_UTF_8,
    b"PK\3\4": "is a spreadsheet or an archive: save it as CSV",
    b"PAR1": "is a Parquet file: save it as CSV",
    b"\x1f\x8b": "is packed by gzip: let its name end in .csv.gz",
}
OTHER_SEPARATORS = {";": "';'", "\t": "tabs", "|": "'|'"}
DIGITS_OF_THOUSANDS = 3
_SURROGATE = re.compile("[\ud800-\udfff]")  # what `text_lines` makes of bytes that are not UTF-8
_DECIMAL_COMMA = re.compile(r"([+-]?\d+),(\d+)")


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


class MissingColumn(NotReadable):
    """The header, whose names are `header`, lacks a column."""

    def __init__(self, text: str, line: int, header: Sequence[str]) -> None:
        super().__init__(text, line)
        self.header = header


class CsvRow(NamedTuple):
    """A row of a CSV file; its cells, without spaces around them, by column."""

    line: int
    cells: dict[str, str]
    timestamps: dict[str, str] | None = None  # as written, by column, where the cells have seconds in their place

    def as_written(self, column: str) -> str:
        """Return a cell as in the file."""
        return (self.timestamps or self.cells)[column]


def number_in(
    row: CsvRow, column: str, *, expected: str = "a number", least: float = -inf, most: float = inf, remedy: str = ""
) -> float:
    """Return the finite number that a cell holds.

    Raises:
        NotReadable: it holds none from `least` to `most`; where it holds no number, the sentence ends with the remedy.
    """
    text = row.cells[column]
    try:
        value = float(text)
    except ValueError:
        value = nan
    if not isfinite(value):
        reason = f"{column}: must be {expected}, got {shown(text)}"
        if remedy:
            reason = f"{reason}: {remedy}"
        raise NotReadable(reason, row.line)
    if not least <= value <= most:
        raise NotReadable(f"{column}: must be from {least:g} to {most:g}, got {text}", row.line)
    return value


def utf8_lines(stream: BufferedReader) -> Iterator[str]:
    r"""Yield the lines of a text, which end with `\n`, `\r\n` or `\r`, without its byte order mark.

    Raises:
        NotReadable: the text is not in UTF-8.
        OSError: a line has too many bytes.
    """
    for number, line in enumerate(text_lines(stream), 1):
        if not line.isascii() and _SURROGATE.search(line):
            raise NotReadable(NOT_UTF_8, number)
        yield line


def csv_rows(path: Path, required: Sequence[str] = (), optional: Sequence[str] = ()) -> Iterator[CsvRow]:
    """Yield the rows of a CSV file.

    The file may be packed by gzip, and may have a byte order mark, lines of comments above its header, blank lines,
    spaces around cells, more columns, and empty cells at the end of rows and empty rows at the end of the file.

    Args:
        path: the file; its first line names the columns.
        required: columns that it must have.
        optional: columns that it may have once.

    Raises:
        NotReadable: it is not a text in UTF-8 with commas between its columns; a column is missing or repeated; a row
            has more or fewer cells than the header, or a decimal comma in one of the columns named here.
        OSError: it cannot be read, or has too many bytes for its packed size or for a line.
    """
    with unpacked(path) as stream:
        _check_kind(stream.peek(MOST_MARK_BYTES))
        texts = utf8_lines(stream)
        line, first, comment = _opening(texts)
        table = csv.reader(chain([first], texts), skipinitialspace=True)
        header = _header(table, comment, required)
        try:
            _check_header(header, line, required, optional)
            yield from _rows(table, header, line - 1, (*required, *optional))
        except csv.Error:  # the csv module refuses very long cells, and nothing else
            text = f"has a cell of more than {csv.field_size_limit()} characters: is a quotation mark left open?"
            raise NotReadable(text, line - 1 + table.line_num) from None


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
                earliest = _earliest(path, times, required)
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


def _earliest(path: Path, times: Sequence[str], required: Sequence[str]) -> datetime:
    """Return the earliest timestamp in columns of a file; any time if there is none, as each cell is then refused."""
    cells = (row.cells[column] for row in csv_rows(path, required) for column in times)
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
    """Return the time of an ISO 8601 timestamp, in UTC if it names no zone; None if the text is not one.

    G-NetTrack's 2019.12.14_10.16.30 is one, too.
    """
    text = _DOTTED.sub(r"\1-\2-\3T\4:\5:\6", text)
    try:
        time = datetime.fromisoformat(text)
    except ValueError:
        return None
    if time.tzinfo is None:
        time = time.replace(tzinfo=UTC)  # instead of the machine's zone
    return time


def _check_kind(beginning: bytes) -> None:
    """Check that a file does not begin as files of another kind do."""
    for mark, text in OTHER_KINDS.items():
        if beginning.startswith(mark):
            raise NotReadable(text)
    if b"\0" in beginning[:MOST_MARK_BYTES]:  # UTF-16 without its mark
        raise NotReadable(NOT_UTF_8)


def _opening(texts: Iterable[str]) -> tuple[int, str, str]:
    """Return number and text of the first line that is not blank or a comment, and the text of the last comment.

    `sep=,`, which spreadsheets read and leave out, counts as a comment.
    """
    comment = ""
    number = 0
    for number, line in enumerate(texts, 1):
        text = line.strip().strip('"')
        if text.startswith(COMMENT):
            comment = text.lstrip(COMMENT)
        elif text and text != "sep=,":
            return number, line, comment
    return max(number, 1), "", comment


def _header(table: Iterator[list[str]], comment: str, required: Sequence[str]) -> list[str]:
    """Return the names of a file's columns.

    NumPy's `savetxt` writes them as a comment.
    """
    commented = [name.strip() for name in next(csv.reader([comment], skipinitialspace=True), [])]
    if required and set(required) <= set(commented):
        return commented
    return [name.strip() for name in next(table, [])]


def _check_header(header: list[str], line: int, required: Sequence[str], optional: Sequence[str]) -> None:
    for name in required:
        if name not in header:
            _check_separator(header, line, required)
            found = shown(",".join(header) or None)
            text = f"has no column {name}{nearest(name, header)}; must have {', '.join(required)}, got {found}"
            raise MissingColumn(text, line, header)
    for name in (*required, *optional):
        if header.count(name) > 1:
            raise NotReadable(f"has the column {name} twice: remove one", line)


def _check_separator(header: list[str], line: int, required: Sequence[str]) -> None:
    """Check that a header which lacks a column has commas between its columns."""
    first = "".join(header[:1])
    found = [name for separator, name in OTHER_SEPARATORS.items() if separator in first]
    words = first.split()
    if not found and len(words) > 1 and set(words) & set(required):
        found = ["spaces"]
    if found:
        raise NotReadable(f"the columns are separated by {found[0]}: write ',', and '.' for decimals", line)


def _rows(table: Any, header: list[str], lines_above: int, named: Sequence[str]) -> Iterator[CsvRow]:
    """Yield the rows below the header; `table` is a reader of the csv module."""
    for line, lines_long, cells in _filled(table, len(header), lines_above):
        if cells[0].startswith(COMMENT):
            raise NotReadable("is a comment, which may only stand above the header: delete it", line)
        if len(cells) != len(header):
            _check_length(cells, header, line, lines_long)
        row = dict(zip(header, cells, strict=False))
        if "," in "".join(cells):  # in few files, which saves looking at each cell
            _check_decimals(row, named, line)
        yield CsvRow(line, row)


def _filled(table: Any, columns: int, lines_above: int) -> Iterator[tuple[int, int, list[str]]]:
    """Yield the rows that are not empty: the last line of each, how many lines it takes, and its cells."""
    empty_line: int | None = None
    before = table.line_num
    lines_long = 1  # more with line breaks between quotation marks
    raw: list[str] = []
    for raw in table:
        lines_long = table.line_num - before
        before = table.line_num
        line = lines_above + table.line_num
        cells = [cell.strip() for cell in raw]
        is_blank = not cells or (cells == [""] and columns > 1)
        if any(cells):
            if empty_line is not None:  # where row i is device i, leaving it out would shift devices
                raise NotReadable("has only empty cells, and rows follow: delete it, or fill it in", empty_line)
            yield line, lines_long, cells
        elif not is_blank:
            empty_line = empty_line or line
    if lines_long > 1 and raw[-1].endswith(("\n", "\r")):
        raise NotReadable("the file ends between quotation marks: one is left open", lines_above + before)


def _check_length(cells: Sequence[str], header: Sequence[str], line: int, lines_long: int) -> None:
    """Check that a row has a cell for each column, but for columns without a name at the end.

    Further cells at the end may be empty.
    """
    filled = len(cells)
    while filled > len(header) and not cells[filled - 1]:
        filled -= 1
    if filled == len(header):
        return
    if filled < len(header) and not any(header[filled:]):
        return
    text = f"has {len(cells)} cells, the header has {len(header)}: write one for each column"
    if lines_long > 1:
        text = f"{text}; is a quotation mark left open above?"
    elif filled > len(header):
        text = f"{text}, and '.' for decimals"
    raise NotReadable(text, line)


def _check_decimals(row: dict[str, str], named: Sequence[str], line: int) -> None:
    """Check that no cell of the columns named has a decimal comma."""
    for name in named:
        number = _DECIMAL_COMMA.fullmatch(row.get(name, ""))
        if number is None:
            continue
        whole, decimals = number.groups()
        remedy = f"write {whole}.{decimals}"
        if len(decimals) == DIGITS_OF_THOUSANDS:
            remedy = f"{remedy}, or {whole}{decimals} if thousands are meant"
        raise NotReadable(f"{name}: {shown(row[name])} has a comma: {remedy}", line)
