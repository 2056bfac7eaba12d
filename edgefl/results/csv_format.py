"""The CSV format of result files: 12 significant digits, an empty cell where there is no value."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping
from typing import Any


def csv_cell(value: Any) -> str:
    """Return a value as it stands in a CSV file."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float):
        return format(value, ".12g")  # the last digits of a float differ between machines
    return str(value)


def csv_bytes(columns: Mapping[str, list[Any]]) -> bytes:
    """Return columns of equal length as a CSV file with a header."""
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(columns)
    cells = [[csv_cell(value) for value in values] for values in columns.values()]
    writer.writerows(zip(*cells, strict=True))  # transposed: a file has rows
    return stream.getvalue().encode()
