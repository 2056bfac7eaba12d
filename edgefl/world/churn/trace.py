"""Devices that come and go as a file says."""

from __future__ import annotations

import csv
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import numpy as np
from pydantic import PrivateAttr, model_validator

from edgefl.core.arrays import Bools, Floats, Ids
from edgefl.core.paths import UserPath
from edgefl.core.section import fault
from edgefl.core.streams import Streams
from edgefl.world.churn.alternating import AlternatingPresence
from edgefl.world.churn.base import Churn, Presence

COLUMNS = ["device", "on_s", "off_s"]


class _Row(NamedTuple):
    """A time during which a device is there, and the file's line."""

    device: int
    on_s: float
    off_s: float
    line: int


class TraceChurn(Churn):
    """A CSV file with the columns device, on_s, off_s: a device is there from on_s, without off_s itself.

    Each row is a stay of a device; off_s may be inf. Devices that the file does not name never come.
    """

    path: UserPath

    _rows: list[_Row] = PrivateAttr()

    @model_validator(mode="after")
    def _read(self) -> TraceChurn:
        try:
            self._rows = sorted(_rows(self.path))
        except OSError as error:
            raise fault(f"{self.path}: cannot be read: {error.strerror}") from None
        except (UnicodeDecodeError, csv.Error):
            raise fault(f"{self.path}: is no CSV file in UTF-8") from None
        return self

    def check(self, count: int) -> str | None:
        """Every device must exist."""
        last = self._rows[-1]
        if last.device < count:
            return None
        where = f"{self.path}:{last.line}"
        return f"{where}: names device {last.device}, but devices are numbered 0 to {count - 1}"

    def presence(self, count: int, lowest_label: Ids, classes: int, streams: Streams) -> Presence:
        """As it stands; nothing is drawn."""
        return _Rows(count, self._rows)


class _Rows(AlternatingPresence):
    """All changes of a device one after another, then inf."""

    def __init__(self, count: int, rows: list[_Row]) -> None:
        changes = [(row.device, time) for row in rows for time in (row.on_s, row.off_s)]
        changes += [(device, np.inf) for device in range(count)]
        device, times = np.array(sorted(changes)).T
        self._times_s = times
        self._first = np.searchsorted(device, np.arange(count))
        super().__init__(_shares(count, rows))

    def begin(self) -> tuple[Bools, Floats]:
        """Nobody, before time 0."""
        return np.zeros(len(self._first), dtype=bool), self._times_s[self._first]

    def until_s(self, ids: Ids, there: Bools, since_s: Floats, turns: Ids) -> Floats:
        """The file's next time."""
        return np.asarray(self._times_s[self._first[ids] + turns])


def _shares(count: int, rows: list[_Row]) -> Floats:
    """Which part [devices] of the file's time each is there; who stays for ever counts to the last time named."""
    times = np.array([(row.on_s, row.off_s) for row in rows])
    end = times[np.isfinite(times)].max()
    stays = np.minimum(times[:, 1], end) - times[:, 0]
    shares = np.bincount([row.device for row in rows], weights=stays, minlength=count)
    return np.clip(shares / end if end else np.ones(count), 1e-4, 1.0)


def _rows(path: Path) -> list[_Row]:
    """The file's rows.

    Raises:
        PydanticCustomError: a row that cannot be, with its line.
    """
    with path.open(newline="", encoding="utf-8-sig") as stream:
        reader = csv.reader(stream)
        header = next(reader, [])
        if header != COLUMNS:
            raise fault(f"{path}:1: must have the columns {','.join(COLUMNS)}, got {','.join(header) or 'nothing'}")
        rows = [_row(cells, path, reader.line_num) for cells in reader if cells]
    if not rows:
        raise fault(f"{path}: has no rows")
    for one, other in pairwise(sorted(rows, key=lambda row: (row.device, row.line))):
        if one.device == other.device and other.on_s < one.off_s:
            text = f"device {one.device} comes at {other.on_s:g} s, but stays until {one.off_s:g} s by line {one.line}"
            raise fault(f"{path}:{other.line}: {text}: its rows must follow one another")
    return rows


def _row(cells: list[str], path: Path, line: int) -> _Row:
    """One row."""
    try:
        device, on_s, off_s = cells
        row = _Row(int(device), float(on_s), float(off_s), line)
    except ValueError:
        raise fault(f"{path}:{line}: must be a device's number and two times, got {','.join(cells)}") from None
    if row.device < 0 or not 0 <= row.on_s < row.off_s or row.on_s == np.inf:
        text = "must have a device from 0 and 0 <= on_s < off_s"
        raise fault(f"{path}:{line}: {text}, got {','.join(cells)}")
    return row
