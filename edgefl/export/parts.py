"""Participations with their beginnings, which devices.csv has not."""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from edgefl.export.folder import Row, opened, rows
from edgefl.protocols.base import DEPARTED

ROUNDING = 1e-11  # of a time whose parts have 12 digits each
PHASES = (
    ("download", "download_s", "rx_energy_j", "bytes_down"),
    ("compute", "compute_s", "cpu_energy_j", None),
    ("upload", "upload_s", "tx_energy_j", "bytes_up"),
    ("wait", "wait_s", "idle_energy_j", None),
)


class Phase(NamedTuple):
    """A stretch of a participation; phases that alternate (split learning) are one each, in this order."""

    name: str
    start_s: float
    duration_s: float
    energy_j: float
    bytes: int


class Part(NamedTuple):
    """A row of devices.csv and its phases, one after another."""

    row: Row
    phases: tuple[Phase, ...]


class Span(NamedTuple):
    """From when to when a round lasted."""

    begin_s: float
    end_s: float


def spans(folder: Path) -> dict[tuple[int, int], Span]:
    """Of all rounds, by session and round."""
    table = rows(folder, "rounds.csv")
    return {(row["session"], row["round"]): Span(row["time_s"] - row["duration_s"], row["time_s"]) for row in table}


def parts(folder: Path) -> Iterator[Part]:
    """All participations, as devices.csv has them.

    A part ends with its round, for which its device waits; one that departs waits for nothing and ends there and then.
    """
    known, left = spans(folder), _departures(folder)
    for row in rows(folder, "devices.csv"):
        span = known[row["session"], row["round"]]
        end_s = left[row["device"]].popleft() if row["status"] == DEPARTED else span.end_s
        start_s = end_s - sum(row[seconds] for _, seconds, *_ in PHASES)
        if abs(start_s - span.begin_s) <= ROUNDING * span.end_s:
            start_s = span.begin_s
        yield Part(row, tuple(_phases(row, max(start_s, 0.0))))


def _phases(row: Row, start_s: float) -> Iterator[Phase]:
    for name, seconds, joules, count in PHASES:
        yield Phase(name, start_s, row[seconds], row.get(joules) or 0.0, row[count] if count else 0)
        start_s += row[seconds]


def _departures(folder: Path) -> dict[int, deque[float]]:
    """When parts ended by departure, in order of time, by device."""
    import pyarrow.parquet as pq

    found: dict[int, deque[float]] = defaultdict(deque)
    with opened(folder, "events.parquet", "rb") as stream:
        for batch in pq.ParquetFile(stream).iter_batches(columns=["time_s", "kind", "device"]):
            for time_s, kind, device in zip(*(column.to_pylist() for column in batch.columns), strict=True):
                if kind == DEPARTED:
                    found[device].append(time_s)
    return found
