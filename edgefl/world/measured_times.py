"""Tables of measured training steps: CSV with the columns device, network, batch_size and step_s."""

from __future__ import annotations

import csv
import math
from collections.abc import Iterable, Iterator
from pathlib import Path
from statistics import fmean
from typing import NamedTuple

import numpy as np

from edgefl.core.errors import InputError
from edgefl.core.files import opened_text

COLUMNS = ("device", "network", "batch_size", "step_s")


class MeasuredStep(NamedTuple):
    """One row of a table."""

    device: str
    network: str
    batch_size: int
    step_s: float


def read_measured(path: Path) -> list[MeasuredStep]:
    """Return the rows of a table, in order.

    Raises:
        InputError: the file cannot be read, lacks a column, or holds a cell that is not a positive number.
    """
    try:
        with opened_text(path, "utf-8-sig") as stream:
            return list(_rows(path, csv.DictReader(stream)))
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror or error}") from None
    except (UnicodeDecodeError, csv.Error):
        raise InputError(f"{path}: is not a CSV file in UTF-8") from None


def _rows(path: Path, reader: csv.DictReader[str]) -> Iterator[MeasuredStep]:
    for name in COLUMNS:
        if name not in (reader.fieldnames or []):
            raise InputError(f"{path}:1: has no column {name}; must have {', '.join(COLUMNS)}")
    for row in reader:
        where = f"{path}:{reader.line_num}"
        batch_size = _positive(row, "batch_size", where)
        if batch_size != int(batch_size):
            raise InputError(f"{where}: batch_size: must be a whole number, got {row['batch_size']}")
        yield MeasuredStep(row["device"], row["network"], int(batch_size), _positive(row, "step_s", where))


def _positive(row: dict[str, str], column: str, where: str) -> float:
    try:
        value = float(row[column])
    except (TypeError, ValueError):
        value = math.nan
    if not 0 < value < math.inf:
        raise InputError(f"{where}: {column}: must be a number above 0, got {row[column]}")
    return value


def step_s_of(path: Path, device: str, network: str, batch_size: int) -> float:
    """Return the seconds of a step that a table has for a device, a network and a batch size.

    Rows of equal batch size are averaged. Between two measured batch sizes the time is interpolated linearly, as a step
    takes a fixed time and a time for each sample.

    Raises:
        InputError: the table cannot be read, or has no such row.
    """
    rows = read_measured(path)
    of_device = [row for row in rows if row.device == device]
    if not of_device:
        raise InputError(f'{path}: has no device "{device}"; has {_listed(row.device for row in rows)}')
    of_network = [row for row in of_device if row.network == network]
    if not of_network:
        raise InputError(f'{path}: has no network "{network}" of {device}; has {_listed(r.network for r in of_device)}')
    sizes = sorted({row.batch_size for row in of_network})
    if not sizes[0] <= batch_size <= sizes[-1]:
        measured = ", ".join(map(str, sizes))
        raise InputError(f"{path}: has no batch_size {batch_size} of {device} and {network}, nor around it: {measured}")
    means_s = [fmean(row.step_s for row in of_network if row.batch_size == size) for size in sizes]
    return float(np.interp(batch_size, sizes, means_s))


def _listed(names: Iterable[str]) -> str:
    return ", ".join(sorted(set(names)))
