"""Files of data that users write: rows of CSV, and errors that name the file and the line."""

import csv
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from edgefl.core.errors import InputError
from edgefl.core.files import lines
from edgefl.core.packed_files import unpacked
from edgefl.core.section import nearest, shown


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
