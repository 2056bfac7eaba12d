"""Printed tables: CSV files of the folder `published`, with numbers as they are printed."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Literal, NamedTuple

from edgefl.core.data_files import csv_rows, faults_in
from edgefl.core.errors import InputError
from edgefl.core.section import shown

Form = Literal["number", "first", "mean_std", "text"]
TableRow = dict[str, str]


class Printed(NamedTuple):
    """A printed cell."""

    text: str
    number: float | None = None  # None if nothing comparable is printed
    bound: bool = False  # as in ">1000": the number is a bound, as the target was not reached
    deviation: float | None = None  # the standard deviation that is printed after ±, if any
    misprint: str = ""  # why the text cannot be what was measured; then it has no number
    repeated: bool = False  # another row prints the number, too, so that it does not count here


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
        InputError: it cannot be read, has no rows, or a row has more or fewer cells than the header.
    """
    with faults_in(path):
        rows = tuple(row.cells for row in csv_rows(path))
    if not rows:
        raise InputError(f"{path}: has no rows")
    return Table(path.name, tuple(rows[0]), rows)


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
    mark = {"number": "", "first": "|", "mean_std": "±"}[form]
    main = text.partition(mark)[0].strip() if mark else text.strip()
    try:
        deviation = None
        if form == "mean_std" and mark in text:
            deviation = float(text.partition(mark)[2])
        return Printed(text, float(main.removeprefix(">")), main.startswith(">"), deviation)
    except ValueError:
        raise ValueError(f"{shown(text)} is not of the form {form}") from None
