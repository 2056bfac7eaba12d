"""Participations and their phases, one after another."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from edgefl.results.export.folder import Row, rows

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
    """All participations, as devices.csv has them."""
    for row in rows(folder, "devices.csv"):
        yield Part(row, tuple(_phases(row, row["start_s"])))


def _phases(row: Row, start_s: float) -> Iterator[Phase]:
    for name, seconds, joules, count in PHASES:
        yield Phase(name, start_s, row[seconds], row.get(joules) or 0.0, row[count] if count else 0)
        start_s += row[seconds]
