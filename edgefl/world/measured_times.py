"""Tables of measured training steps: CSV with the columns device, network, batch_size and step_s."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from statistics import fmean
from typing import NamedTuple

import numpy as np

from edgefl.core.data_files import CsvRow, NotReadable, csv_rows, faults_in, number_in
from edgefl.core.errors import InputError
from edgefl.core.section import shown

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
    with faults_in(path):
        return [_step(row) for row in csv_rows(path, COLUMNS)]


def _step(row: CsvRow) -> MeasuredStep:
    batch_size = _positive(row, "batch_size")
    if batch_size != int(batch_size):
        raise NotReadable(f"batch_size: must be a whole number, got {row.cells['batch_size']}", row.line)
    return MeasuredStep(row.cells["device"], row.cells["network"], int(batch_size), _positive(row, "step_s"))


def _positive(row: CsvRow, column: str) -> float:
    value = number_in(row, column, expected="a number above 0")
    if value <= 0:
        raise NotReadable(f"{column}: must be a number above 0, got {shown(row.cells[column])}", row.line)
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
