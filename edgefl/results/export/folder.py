"""The files of a result folder, read row by row: a table may not fit in memory."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from edgefl.core.errors import InputError

Row = dict[str, Any]

TEXTS = frozenset({"run", "status", "algorithm", "scenario", "phase"})
FLAGS = frozenset({"los", "reached"})
COUNTS = frozenset(
    {
        *("session", "round", "rounds", "device", "cell", "seed", "bytes", "bytes_down", "bytes_up", "backhaul_bytes"),
        *("history_bytes", "selected", "received", "late", "departed", "failed", "unfinished", "present", "arrivals"),
        *("departures", "handovers", "depleted", "last_n"),
        *("drops_late", "drops_departed", "drops_failed", "drops_unfinished"),
    }
)


def kind(column: str) -> type:
    """Of what type a column's values are; what is not known is a float."""
    known = {str: TEXTS, bool: FLAGS, int: COUNTS}
    return next((one for one, names in known.items() if column in names), float)


def header(folder: Path, name: str) -> list[str]:
    """The columns of a CSV file."""
    with opened(folder, name) as stream:
        return _header(csv.reader(stream), name)


def rows(folder: Path, name: str) -> Iterator[Row]:
    """The rows of a CSV file, typed; None for an empty cell.

    Raises:
        ValueError: a cell is not of its column's type, or a row has more or fewer cells than the header.
    """
    with opened(folder, name) as stream:
        lines = csv.reader(stream)
        columns = _header(lines, name)
        reading = [_READ[kind(column)] for column in columns]
        for line in lines:
            cells = zip(reading, line, strict=True)
            yield dict(zip(columns, [read(cell) if cell else None for read, cell in cells], strict=True))


def _header(lines: Iterator[list[str]], name: str) -> list[str]:
    """The first line, which even a table without rows has."""
    if not (columns := next(lines, [])):
        raise ValueError(f"{name} is empty")
    return columns


_READ: dict[type, Callable[[str], Any]] = {
    str: str,
    int: int,
    float: float,
    bool: {"true": True, "false": False}.__getitem__,
}


def whole_json(folder: Path, name: str) -> Mapping[str, Any]:
    """A JSON file that is an object."""
    with opened(folder, name) as stream:
        value = json.load(stream)
    if not isinstance(value, dict):
        raise TypeError(f"{name} is no object")
    return value


@contextmanager
def opened(folder: Path, name: str, mode: str = "r") -> Iterator[IO[Any]]:
    """A file of the folder.

    Raises:
        InputError: it is not there.
    """
    encoding, newline = (None, None) if "b" in mode else ("utf-8", "")
    try:
        stream = (folder / name).open(mode, encoding=encoding, newline=newline)
    except OSError:
        raise InputError(f"{folder}: is no finished result folder: {name} is missing") from None
    with stream:
        yield stream
