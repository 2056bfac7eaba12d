"""A timeline in the Trace Event Format (Google, "Trace Event Format"), for ui.perfetto.dev: JSON, times in µs.

A run is two processes: the server, with its rounds and counters, and the devices, a thread each.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import IO, Any

from edgefl.results.export.folder import Row, rows
from edgefl.results.export.parts import Part, Phase, parts

Event = dict[str, Any]
ROUND_ARGS = ("session", "selected", "received", "round_energy_j", "bytes_down", "bytes_up", "test_accuracy")
COUNTERS = ("energy_j", "test_accuracy")


def write(folders: Sequence[Path], part: str | None, sink: IO[bytes], form: str) -> None:
    """All runs in one timeline, one below the other."""
    start = b'{"displayTimeUnit": "ms", "traceEvents": [\n'
    for place, folder in enumerate(folders):
        run = f"{folder} " if len(folders) > 1 else ""
        for event in _events(folder, run, 2 * place + 1):
            sink.write(start + json.dumps(event, allow_nan=False).encode())
            start = b",\n"
    sink.write(b"\n]}\n")


def _events(folder: Path, run: str, pid: int) -> Iterator[Event]:
    server, devices = {"pid": pid, "tid": 1}, pid + 1
    yield _name("process", f"{run}server", server)
    yield _name("thread", "rounds", server)
    for row in rows(folder, "rounds.csv"):
        yield from _round(row, server)
    yield _name("process", f"{run}devices", {"pid": devices, "tid": 0})
    yield from _devices(folder, devices)


def _name(kind: str, name: str, track: Event) -> Event:
    return {"ph": "M", "name": f"{kind}_name", **track, "args": {"name": name}}


def _round(row: Row, track: Event) -> Iterator[Event]:
    """A slice, and what the counters stand at when it ends."""
    begin, end = _ns(row["time_s"] - row["duration_s"]), _ns(row["time_s"])
    args = {key: row[key] for key in ROUND_ARGS if row.get(key) is not None}
    yield _slice(f"round {row['round']}", "round", begin, end, args) | track
    for counter in COUNTERS:
        if row.get(counter) is not None:
            yield {"ph": "C", "name": counter, "ts": end / 1000, **track, "args": {counter: row[counter]}}


def _devices(folder: Path, pid: int) -> Iterator[Event]:
    """The slices of all parts, device by device on tracks of their own.

    Files have 12 digits: where a part seems to begin before the last one has ended, it begins with its end.
    """
    ended: dict[int, int] = {}
    for part in parts(folder):
        device = part.row["device"]
        track = {"pid": pid, "tid": device + 1}
        if device not in ended:
            yield _name("thread", f"device {device}", track)
            yield {"ph": "M", "name": "thread_sort_index", **track, "args": {"sort_index": device}}
        for phase in part.phases:
            begin = max(_ns(phase.start_s), ended.get(device, 0))
            ended[device] = end = max(begin, _ns(phase.start_s + phase.duration_s))
            if phase.duration_s or phase.energy_j:
                yield _slice(phase.name, phase.name, begin, end, _args(part, phase)) | track


def _args(part: Part, phase: Phase) -> Row:
    """What the ledger says of a phase."""
    row = part.row
    args = {"session": row["session"], "round": row["round"], "cell": row["cell"], "status": row["status"]}
    return args | {"seconds": phase.duration_s, "joules": phase.energy_j, "bytes": phase.bytes}


def _slice(name: str, kind: str, begin: int, end: int, args: Row) -> Event:
    """From one nanosecond to another: whole ones, so that neighbours touch."""
    return {"ph": "X", "name": name, "cat": kind, "ts": begin / 1000, "dur": (end - begin) / 1000, "args": args}


def _ns(time_s: float) -> int:
    return round(1e9 * time_s)
