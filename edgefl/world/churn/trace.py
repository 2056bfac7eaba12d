"""Devices that come and go by a file."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import Annotated, Literal, NamedTuple

import numpy as np
from pydantic import Field, PrivateAttr, model_validator

from edgefl.core.arrays import Bools, Floats, Ids
from edgefl.core.data_files import ENDLESS, EXAMPLE, CsvRow, NotReadable, faults_in, timed_rows
from edgefl.core.errors import InputError
from edgefl.core.paths import DataFile
from edgefl.core.sample_times import warn_once
from edgefl.core.section import fault, fault_at, shown
from edgefl.core.streams import Streams
from edgefl.world.churn.alternating import AlternatingPresence
from edgefl.world.churn.base import Churn, Presence
from edgefl.world.churn.recordings import Recordings, read_fedscale, read_flash
from edgefl.world.churn.repeating import LEAST_PROBABILITY, RepeatingPresence

TRACE_COLUMNS = ("device", "on_s", "off_s")
UNIX_S = 1e9  # seconds since 1970 are more from 2001 on; no run lasts as long
Need = Literal["locked", "screen_off", "wifi", "charging"]


class _RecordedStay(NamedTuple):
    """A row of the file: a device is present from `on_s` to `off_s`, without the end."""

    device: int
    on_s: float
    off_s: float
    line: int  # of the file


@lru_cache(maxsize=2)
def _recordings(path: Path, changed_ns: int, form: str, needs: tuple[str, ...] | None) -> Recordings:
    """Return the recordings of a published trace; kept, as reading may take seconds, until the file changes."""
    if form == "fedscale":
        return read_fedscale(path)
    return read_flash(path, needs)


class TraceChurn(Churn):
    """A file of stays: CSV (device, on_s, off_s), FedScale's client_behave_trace, or FLASH's state_traces.json.

    A device is present from on_s until just before off_s. In CSV each row is a stay, in any order; off_s may be inf;
    timestamps such as 2024-05-01T12:00:00Z count from the file's earliest one; devices that the file does not name
    never come. The published traces repeat: device i is their i-th phone.
    """

    path: DataFile  # The file of stays.
    format: Literal["csv", "fedscale", "flash"] = "csv"  # Format of the file, csv or that of a published trace.
    # Time on the published trace's clock at which the run begins.
    begin_s: Annotated[float, Field(ge=0, le=1e12)] | None = None
    # What a FLASH phone needs to be present.
    needs: Annotated[tuple[Need, ...], Field(strict=False, min_length=1)] | None = None

    _stays: list[_RecordedStay] = PrivateAttr()
    _recordings: Recordings = PrivateAttr()
    _notes: list[str] = PrivateAttr()

    @model_validator(mode="after")
    def _read(self) -> TraceChurn:
        for key, value, formats in (
            ("begin_s", self.begin_s, ("fedscale", "flash")),
            ("needs", self.needs, ("flash",)),
        ):
            if value is not None and self.format not in formats:
                raise fault_at((key,), f"is for format {' or '.join(formats)}: leave it out")
        try:
            with faults_in(self.path):
                if self.format == "csv":
                    self._stays, self._notes = _read_stays(self.path)
                else:
                    changed_ns = self.path.stat().st_mtime_ns
                    self._recordings = _recordings(self.path, changed_ns, self.format, self.needs)
                    self._notes = self._recordings.notes
        except InputError as error:
            raise fault(str(error)) from None
        return self

    def check(self, count: int) -> str | None:
        """Return which device of the file does not exist, or that the file has too few; None if all is well."""
        if self.format != "csv":
            phones = len(self._recordings.phones)
            if count <= phones:
                return None
            return f"{self.path}: has {phones} phones, the scenario has {count} devices: lower devices.count"
        last = self._stays[-1]
        if last.device < count:
            return None
        place = f"{self.path}:{last.line}"
        return f"{place}: names device {last.device}, but devices are numbered 0 to {count - 1}"

    def presence(self, count: int, lowest_label: Ids, classes: int, streams: Streams) -> Presence:
        """Return the population that the file describes; nothing is drawn."""
        for note in self._notes:
            warn_once(f"churn.path: {note}")
        if self.format != "csv":
            return RepeatingPresence(self._recordings.phones[:count], self.begin_s or 0.0)
        return _RecordedPresence(count, self._stays)


class _RecordedPresence(AlternatingPresence):
    """The presence that a CSV file describes."""

    def __init__(self, count: int, stays: list[_RecordedStay]) -> None:
        # An end for every device, also for those that the file does not name: after it, nothing changes.
        changes = [(device, np.inf) for device in range(count)]
        for stay in stays:
            changes.append((stay.device, stay.on_s))
            changes.append((stay.device, stay.off_s))
        by_device = np.array(sorted(changes))  # [changes, 2]: all of a device one after another, then inf
        self._times_s = by_device[:, 1]
        self._first_row = np.searchsorted(by_device[:, 0], np.arange(count))  # [devices]
        super().__init__(_time_fractions(count, stays))

    def initial_state(self) -> tuple[Bools, Floats]:
        return np.zeros(len(self._first_row), dtype=bool), self._times_s[self._first_row]

    def next_change_s(self, ids: Ids, present: Bools, since_s: Floats, number: Ids) -> Floats:
        # Rows of a device alternate, arrival and departure, so the number of the change is the row.
        return np.asarray(self._times_s[self._first_row[ids] + number])


def _time_fractions(count: int, stays: list[_RecordedStay]) -> Floats:
    """Return the fraction [devices] of the file's time that each device is present.

    The file ends with its last finite time; a stay without end counts up to then.
    """
    times_s = np.array([(stay.on_s, stay.off_s) for stay in stays])
    end_s = times_s[np.isfinite(times_s)].max()
    lasts_s = np.minimum(times_s[:, 1], end_s) - times_s[:, 0]
    present_s = np.bincount([stay.device for stay in stays], weights=lasts_s, minlength=count)
    if end_s == 0:  # all stays begin at 0 and have no end
        return np.ones(count)
    return np.asarray(np.clip(present_s / end_s, LEAST_PROBABILITY, 1.0))


def _read_stays(path: Path) -> tuple[list[_RecordedStay], list[str]]:
    """Return the file's stays by device and time, and lines for the user: a repeated row counts once."""
    rows = sorted(_stay(row) for row in timed_rows(path, TRACE_COLUMNS[1:], TRACE_COLUMNS))
    if not rows:
        raise NotReadable("has no rows")
    stays = rows[:1]
    repeated = []
    for row in rows[1:]:
        last = stays[-1]
        if row[:3] == last[:3]:
            repeated.append(row.line)
            continue
        if row.device == last.device and row.on_s < last.off_s:
            lines = sorted([row.line, last.line])
            text = f"device {row.device}: the stay overlaps that of line {lines[0]}: if both are right, write one row"
            raise NotReadable(f"{text} from {last.on_s:g} to {max(row.off_s, last.off_s):g} s", lines[1])
        stays.append(row)
    notes = []
    if repeated:
        what = "1 row repeats" if len(repeated) == 1 else f"{len(repeated)} rows repeat"
        notes.append(f"{path}:{min(repeated)}: {what} an earlier stay: it counts once")
    first = min(stays, key=lambda stay: stay.on_s)
    if first.on_s > UNIX_S:
        remedy = "subtract them from the file's times, or write timestamps"
        notes.append(f"{path}:{first.line}: no device arrives in the run's first {first.on_s:.10g} s: {remedy}")
    return stays, notes


def _stay(row: CsvRow) -> _RecordedStay:
    cells = [row.cells[name] for name in TRACE_COLUMNS]
    found = shown(",".join(cells))
    if not cells[-1]:
        raise NotReadable(f"has no off_s, got {found}: write {ENDLESS} for a stay without an end", row.line)
    expected = f"must be a device's number and two times, in seconds or such as {EXAMPLE}"
    try:
        number, on_s, off_s = map(float, cells)
    except ValueError:
        raise NotReadable(f"{expected}, got {found}", row.line) from None
    # In this form nan is refused, too: every comparison with it is false.
    if not number.is_integer() or number < 0 or not 0 <= on_s < off_s or on_s == np.inf:
        raise NotReadable(f"must have a device from 0 and 0 <= on_s < off_s, got {found}", row.line)
    return _RecordedStay(int(number), on_s, off_s, row.line)
