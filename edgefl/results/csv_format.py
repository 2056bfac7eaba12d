"""The CSV format of result files: 12 significant digits, an empty cell where there is no value."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping
from typing import Any

FORMULA_OPENS = ("=", "+", "-", "@", "\t", "\r")


def csv_cell(value: Any) -> str:
    """Return a value as it stands in a CSV file."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float):
        return format(value, ".12g")  # the last digits of a float differ between machines
    text = str(value)
    if text.startswith(FORMULA_OPENS) and not _is_number(text):
        return f"'{text}"  # spreadsheets would compute it
    return text


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def csv_bytes(columns: Mapping[str, list[Any]]) -> bytes:
    """Return columns of equal length as a CSV file with a header."""
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(columns)
    cells = [[csv_cell(value) for value in values] for values in columns.values()]
    writer.writerows(zip(*cells, strict=True))  # transposed: a file has rows
    return stream.getvalue().encode()
