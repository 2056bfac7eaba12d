"""Printed tables: CSV files of the folder `published`, with numbers as they are printed."""

from __future__ import annotations

import csv
from collections.abc import Iterable
from pathlib import Path
from typing import Literal, NamedTuple

from edgefl.core.errors import InputError
from edgefl.core.files import opened_text
from edgefl.core.section import shown

Form = Literal["number", "first", "mean_std", "text"]
TableRow = dict[str, str]


class Printed(NamedTuple):
    """A printed cell."""

    text: str
    number: float | None = None  # None if nothing comparable is printed
    bound: bool = False  # as in ">1000": the number is a bound, as the target was not reached


class Table(NamedTuple):
    """A printed table."""

    file: str
    header: tuple[str, ...]
    rows: tuple[TableRow, ...]

    def without(self, columns: Iterable[str]) -> Table:
        """Return the table without some columns."""
        left_out = set(columns)
        header = tuple(name for name in self.header if name not in left_out)
        rows = tuple({name: row[name] for name in header} for row in self.rows)
        return Table(self.file, header, rows)


def read_table(path: Path) -> Table:
    """Return the table of a file.

    Raises:
        InputError: it cannot be read, or a row has more or fewer cells than the header.
    """
    try:
        with opened_text(path) as file:
            lines = csv.reader(file)
            header = tuple(next(lines, []))
            rows = []
            for line in lines:
                if len(line) != len(header):
                    raise InputError(f"{path}:{lines.line_num}: has {len(line)} cells, the header has {len(header)}")
                rows.append(dict(zip(header, line, strict=True)))
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise InputError(f"{path}: cannot be read: {getattr(error, 'strerror', None) or error}") from None
    if not header:
        raise InputError(f"{path}: is empty")
    return Table(path.name, header, tuple(rows))


def printed(text: str, form: Form) -> Printed:
    """Return a printed cell.

    Args:
        text: as printed: 45, 45|1.00, 98.08±0.03, >1000, or nothing.
        form: how to read it; `first` and `mean_std` read up to the first bar or ±, `text` compares nothing.

    Raises:
        ValueError: it is not a number of this form.
    """
    if form == "text" or not text.strip():
        return Printed(text)
    mark = {"number": None, "first": "|", "mean_std": "±"}[form]
    main = text.partition(mark)[0].strip() if mark else text.strip()
    try:
        return Printed(text, float(main.removeprefix(">")), main.startswith(">"))
    except ValueError:
        raise ValueError(f"{shown(text)} is not of the form {form}") from None
