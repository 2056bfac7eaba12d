"""The CSV format of result files: 12 significant digits, an empty cell for a missing value."""

import csv
import io
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

FORMULA_OPENS = ("=", "+", "-", "@", "\t", "\r")


def csv_cell(value: Any) -> str:
    """Return a value as a cell of a CSV file."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float):
        return format(value, ".12g")  # the last digits of a float differ between machines
    return str(value)


def spreadsheet_cell(value: Any) -> str:
    """Return a value, or a column's name, as a cell of an export that spreadsheets open and take for no formula."""
    text = csv_cell(value)
    if text.startswith(FORMULA_OPENS) and not _is_number(text):
        return f"'{text}"
    return text


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def csv_bytes(columns: Mapping[str, list[Any]]) -> bytes:
    """Return columns of equal length as a CSV file with a header."""
    return b"".join(csv_pieces(list(columns), [columns]))


def spreadsheet_bytes(columns: Mapping[str, list[Any]]) -> bytes:
    """Return columns of equal length as an export with a header; see `spreadsheet_cell`."""
    return csv_bytes(
        {spreadsheet_cell(name): [spreadsheet_cell(value) for value in values] for name, values in columns.items()}
    )


def csv_pieces(names: Sequence[str], blocks: Iterable[Mapping[str, list[Any]]]) -> Iterator[bytes]:
    """Yield a CSV file piece by piece: the header, then the rows of each block."""
    yield _csv_lines([names])
    for columns in blocks:
        cells = [[csv_cell(value) for value in columns[name]] for name in names]
        yield _csv_lines(zip(*cells, strict=True))


def _csv_lines(rows: Iterable[Iterable[str]]) -> bytes:
    stream = io.StringIO()
    csv.writer(stream, lineterminator="\n").writerows(rows)
    return stream.getvalue().encode()
