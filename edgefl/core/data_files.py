"""Files of data that users write: rows of CSV, and errors that name the file and the line."""

import csv
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from io import BufferedReader
from itertools import chain
from math import inf, isfinite, nan
from pathlib import Path
from typing import Any, NamedTuple

from edgefl.core.errors import InputError
from edgefl.core.files import text_lines
from edgefl.core.packed_files import unpacked
from edgefl.core.section import nearest, shown
from edgefl.core.units import as_number

_DATE = re.compile(r"\d{4}([-.])\d\d\1\d\d|\d\d:\d\d:\d\d")  # the beginning of a timestamp, and of no number
_CLOCK = re.compile(r"\d\d:\d\d:\d\d([.,]\d+)?")  # a time of day
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
    b"{": "is JSON, and no table: name its format, or save it as CSV",
}
SEPARATORS = (",", ";", "\t")  # beside ';' and tabs, decimals may have commas
KNOWN = Path(__file__).with_name("known_columns.csv")
DEGREES = "deg"
FACTORS = {"kbit/s": 1e3}  # from units of known columns to those of edgefl
NOT_MEASURED = frozenset({"", "-"})  # cells of logs
MOST_NAMES = 50  # of a file's columns in a message
DIGITS_OF_THOUSANDS = 3
_SURROGATE = re.compile("[\ud800-\udfff]")  # what `text_lines` makes of bytes that are not UTF-8
_DECIMAL_COMMA = re.compile(r"([+-]?\d+),(\d+(?:[eE][+-]?\d+)?)")


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


class Origin(NamedTuple):
    """Where a column of edgefl stands in a file."""

    name: str  # in the file's header
    unit: str = ""  # of its known columns; "": that of edgefl


class CsvRow(NamedTuple):
    """A row of a CSV file; its cells, without spaces around them, by column."""

    line: int
    cells: dict[str, str]
    timestamps: dict[str, str] | None = None  # as written, by column, where the cells have seconds in their place
    origins: Mapping[str, Origin] = {}  # of the columns asked for

    def as_written(self, column: str) -> str:
        """Return a cell as in the file."""
        return (self.timestamps or self.cells)[column]

    def name_of(self, column: str) -> str:
        """Return the file's name for a column."""
        return self.origins[column].name

    def are_in_degrees(self, columns: Sequence[str]) -> bool:
        """Return whether the file's names for the columns of a place say that they are in degrees.

        Raises:
            NotReadable: one says so, and another has edgefl's own name, which says metres.
        """
        if all(self.origins[column].unit != DEGREES for column in columns):
            return False
        for column in columns:
            if self.origins[column].name == column:
                raise NotReadable(f"{column} would be in degrees, as the other coordinate is: rename it", self.line)
        return True

    def is_measured(self, columns: Iterable[str]) -> bool:
        """Return whether the cells of columns hold something."""
        return NOT_MEASURED.isdisjoint(self.cells[column] for column in columns)


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
        reason = f"{row.name_of(column)}: must be {expected}, got {shown(text)}"
        if remedy:
            reason = f"{reason}: {remedy}"
        raise NotReadable(reason, row.line)
    if not least <= value <= most:
        raise NotReadable(f"{row.name_of(column)}: must be from {least:g} to {most:g}, got {text}", row.line)
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


def csv_rows(
    path: Path,
    required: Sequence[str] = (),
    optional: Sequence[str] = (),
    names: Mapping[str, str] | None = None,
) -> Iterator[CsvRow]:
    """Yield the rows of a CSV file.

    The file may be packed by gzip, and may have a byte order mark, lines of comments above its header, blank lines,
    spaces around cells, more columns, and empty cells at the end of rows and empty rows at the end of the file. Between
    columns there may be commas, semicolons or tabs; beside the latter two, decimals may have commas.

    Args:
        path: the file; its first line names the columns.
        required: columns that it must have.
        optional: columns that it may have once.
        names: the file's names for columns; others may have a known name (`known_columns.csv`) there. None: all
            columns have their own names.

    Raises:
        NotReadable: it is not a text in UTF-8; a column is missing or repeated; a row has more or fewer cells than the
            header, or a decimal comma beside commas in one of the columns named here.
        OSError: it cannot be read, or has too many bytes for its packed size or for a line.
    """
    with unpacked(path) as stream:
        _check_kind(stream.peek(MOST_MARK_BYTES))
        texts = utf8_lines(stream)
        line, first, comment = _opening(texts)
        separator = max(SEPARATORS, key=first.count)
        table = csv.reader(chain([first], texts), delimiter=separator, skipinitialspace=True)
        header = _header(table, comment, required)
        try:
            origins = _origins(header, line, required, optional, names)
            for row in _rows(table, header, line - 1):
                yield _as_named(row, origins, may_have_commas=separator != ",")
        except csv.Error:  # the csv module refuses very long cells, and nothing else
            text = f"has a cell of more than {csv.field_size_limit()} characters: is a quotation mark left open?"
            raise NotReadable(text, line - 1 + table.line_num) from None


def timed_rows(
    path: Path,
    times: Sequence[str],
    required: Sequence[str],
    optional: Sequence[str] = (),
    names: Mapping[str, str] | None = None,
) -> Iterator[CsvRow]:
    """Yield rows as `csv_rows` does, with timestamps as seconds since the earliest one of the file.

    A timestamp is a date with or without a time of day, in ISO 8601, or a time of day; without a zone it is in UTC.

    Args:
        path: the file.
        times: columns of seconds or of timestamps, among the required ones.
        required: columns that it must have.
        optional: columns that it may have once.
        names: the file's names for columns, as for `csv_rows`.

    Raises:
        NotReadable: as for `csv_rows`; or a cell is not a timestamp, or is one, and the file's first cell is not.
        OSError: as for `csv_rows`.
    """
    earliest: datetime | None = None
    first = next(csv_rows(path, required, optional, names), None)
    if first is not None and _DATE.match(first.cells[times[0]]):
        cells = (row.cells[column] for row in csv_rows(path, required, (), names) for column in times)
        found = (timestamp(cell) for cell in cells)
        # Without any, each cell is refused below, whatever the time.
        earliest = min((time for time in found if time is not None), default=datetime.now(UTC))
    for row in csv_rows(path, required, optional, names):
        timestamps = {column: row.cells[column] for column in times}
        for column, cell in timestamps.items():
            if earliest is not None:
                row.cells[column] = _since(earliest, row.name_of(column), cell, row.line)
            elif _DATE.match(cell):
                text = f"{shown(cell)} is a timestamp, and the rows above have seconds: write one form"
                raise NotReadable(f"{row.name_of(column)}: {text}", row.line)
        yield row._replace(timestamps=timestamps)


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

    G-NetTrack's 2019.12.14_10.16.30 is one, too; a time of day is one of 1970-01-01.
    """
    text = _DOTTED.sub(r"\1-\2-\3T\4:\5:\6", text)
    if _CLOCK.fullmatch(text):
        text = f"1970-01-01T{text}"
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

    `sep=,` or `sep=;`, which spreadsheets read and leave out, counts as a comment.
    """
    comment = ""
    number = 0
    for number, line in enumerate(texts, 1):
        text = line.strip().strip('"')
        if text.startswith(COMMENT):
            comment = text.lstrip(COMMENT)
        elif text and not text.startswith("sep="):
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


class _Known(NamedTuple):
    """What a file's name for a column says."""

    unit: str = ""
    remedy: str = ""  # of another quantity; "": it is the column


@lru_cache(maxsize=1)
def _known() -> dict[str, dict[str, _Known]]:
    """Return the known names in their plain form, for each column of edgefl."""
    known: dict[str, dict[str, _Known]] = {}
    for row in csv_rows(KNOWN, ("column", "name", "unit", "remedy")):
        named = _Known(row.cells["unit"], row.cells["remedy"])
        known.setdefault(row.cells["column"], {})[plain_name(row.cells["name"])] = named
    return known


def plain_name(name: str) -> str:
    """Return a column's name in lower case, with underscores for what is neither letter, digit nor percent."""
    return re.sub(r"[^a-z0-9%]+", "_", name.lower()).strip("_")


def _origins(
    header: Sequence[str],
    line: int,
    required: Sequence[str],
    optional: Sequence[str],
    names: Mapping[str, str] | None,
) -> dict[str, Origin]:
    """Return where the required columns stand in a file, and those of the optional ones that it has."""
    mapped = names or {}
    origins = {}
    for column in (*required, *optional):
        known = {} if names is None else _known().get(column, {})
        candidates = [name for name in header if plain_name(name) in known and not known[plain_name(name)].remedy]
        if column in mapped:
            candidates = [mapped[column]]
        elif column in header or not candidates:
            candidates = [column]
        if len(candidates) > 1:
            text = f"{column} may be any of {', '.join(map(shown, candidates))}"
            raise NotReadable(f"{text}: say which with columns, or remove the others", line)
        name = candidates[0]
        if header.count(name) > 1:
            raise NotReadable(f"has the column {name} twice: remove one", line)
        origins[column] = Origin(name, known.get(plain_name(name), _Known()).unit)
    missing = [column for column in origins if column in {*required, *mapped} and origins[column].name not in header]
    if missing:
        missed = ", ".join(origins[column].name + nearest(origins[column].name, header) for column in missing)
        listed = ", ".join(map(shown, header[:MOST_NAMES])) + ", ..." * (len(header) > MOST_NAMES)
        text = f"has no column{'s' * (len(missing) > 1)} {missed}; it has {listed or 'none'}"
        raise NotReadable(text + _remedy(missing, header, required, can_map=names is not None), line)
    return {column: origin for column, origin in origins.items() if origin.name in header}


def _remedy(missing: Iterable[str], header: Sequence[str], required: Sequence[str], *, can_map: bool) -> str:
    """Return what to do about missing columns."""
    if header and all(as_number(name) is not None for name in header):
        return f": write {','.join(required)} above its rows"
    if len(header) == 1 and len(required) > 1:
        return ": write ',' between columns"
    if not can_map:
        return ""
    for column in missing:
        known = _known().get(column, {})
        for name in header:
            remedy = known.get(plain_name(name), _Known()).remedy
            if remedy:
                return f": {remedy.replace('{}', name)}"
    return ": if these are there under other names, map them with columns"


def _rows(table: Any, header: list[str], lines_above: int) -> Iterator[CsvRow]:
    """Yield the rows below the header; `table` is a reader of the csv module."""
    for line, lines_long, cells in _filled(table, len(header), lines_above):
        if cells[0].startswith(COMMENT):
            raise NotReadable("is a comment, which may only stand above the header: delete it", line)
        if len(cells) != len(header):
            _check_length(cells, header, line, lines_long)
        yield CsvRow(line, dict(zip(header, cells, strict=False)))


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

    Additional cells at the end may be empty.
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


def _as_named(row: CsvRow, origins: Mapping[str, Origin], *, may_have_commas: bool) -> CsvRow:
    """Return a row with the cells of columns under their own names, in their units and with points for decimals."""
    cells = row.cells | {column: row.cells[origin.name] for column, origin in origins.items()}
    row = CsvRow(row.line, cells, origins=origins)
    for column in origins if "," in "".join(row.cells.values()) else ():  # few files have commas in cells
        number = _DECIMAL_COMMA.fullmatch(cells[column])
        if number is None:
            continue
        whole, decimals = number.groups()
        if not may_have_commas:
            remedy = f"write {whole}.{decimals}"
            if len(decimals) == DIGITS_OF_THOUSANDS:
                remedy = f"{remedy}, or {whole}{decimals} if thousands are meant"
            raise NotReadable(f"{row.name_of(column)}: {shown(cells[column])} has a comma: {remedy}", row.line)
        cells[column] = f"{whole}.{decimals}"
    for column, origin in origins.items():
        if origin.unit in FACTORS and row.is_measured((column,)):
            cells[column] = repr(number_in(row, column) * FACTORS[origin.unit])
    return row
