"""A timeline in the Trace Event Format (Google, "Trace Event Format"), for ui.perfetto.dev: JSON, times in µs."""

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import IO, Any

from edgefl.results.export.exported_runs import exported_folders
from edgefl.results.export.participations import ParticipationPhases, TimedPhase, participations
from edgefl.results.reader import TableRow, rows_of

TraceEvent = dict[str, Any]
ROUND_ARGS = ("session", "selected", "received", "round_energy_j", "bytes_down", "bytes_up", "test_accuracy")
COUNTERS = ("energy_j", "test_accuracy")  # drawn as curves above the rounds


def write(folders: Sequence[Path], part: str | None, sink: IO[bytes], form: str) -> None:
    """Write all runs into one timeline."""
    # Event by event, as a timeline may not fit in memory.
    separator = b'{"displayTimeUnit": "ms", "traceEvents": [\n'
    runs = exported_folders(folders)
    for number, folder in enumerate(runs):
        prefix = f"{folder} " if len(runs) > 1 else ""
        for event in _run_events(folder, prefix, server_pid=2 * number + 1):
            sink.write(separator + json.dumps(event, allow_nan=False).encode())
            separator = b",\n"
    sink.write(b"\n]}\n")


def _run_events(folder: Path, prefix: str, server_pid: int) -> Iterator[TraceEvent]:
    server_track = {"pid": server_pid, "tid": 1}
    yield _naming("process", f"{prefix}server", server_track)
    yield _naming("thread", "rounds", server_track)
    for row in rows_of(folder, "rounds.csv"):
        yield from _round_events(row, server_track)
    devices_pid = server_pid + 1
    yield _naming("process", f"{prefix}devices", {"pid": devices_pid, "tid": 0})
    yield from _device_events(folder, devices_pid)


def _naming(kind: str, name: str, track: TraceEvent) -> TraceEvent:
    # "M" is metadata, "X" a complete slice, "C" a counter (Trace Event Format).
    return {"ph": "M", "name": f"{kind}_name", **track, "args": {"name": name}}


def _round_events(row: TableRow, track: TraceEvent) -> Iterator[TraceEvent]:
    begin_ns = _ns(row["time_s"] - row["duration_s"])
    end_ns = _ns(row["time_s"])
    args = {key: row[key] for key in ROUND_ARGS if row.get(key) is not None}
    yield _slice(f"round {row['round']}", "round", begin_ns, end_ns, args) | track
    for counter in COUNTERS:
        if row.get(counter) is not None:
            yield {"ph": "C", "name": counter, "ts": end_ns / 1000, **track, "args": {counter: row[counter]}}


def _device_events(folder: Path, pid: int) -> Iterator[TraceEvent]:
    """Yield the slices of all participations, with a track for each device.

    As files have 12 digits, a participation may seem to begin before the end of the device's last one; slices of a
    track must not overlap, so it then begins at that end.
    """
    end_ns_of: dict[int, int] = {}  # by device: the end of its last slice
    for participation in participations(folder):
        device = participation.row["device"]
        track = {"pid": pid, "tid": device + 1}  # from 1, as 0 is the process itself
        if device not in end_ns_of:
            yield _naming("thread", f"device {device}", track)
            # In the order of devices, not of their first slices.
            yield {"ph": "M", "name": "thread_sort_index", **track, "args": {"sort_index": device}}
        for phase in participation.phases:
            begin_ns = max(_ns(phase.start_s), end_ns_of.get(device, 0))
            end_ns = max(begin_ns, _ns(phase.start_s + phase.duration_s))
            end_ns_of[device] = end_ns
            if phase.duration_s or phase.energy_j:
                yield _slice(phase.name, phase.name, begin_ns, end_ns, _phase_args(participation, phase)) | track


def _phase_args(participation: ParticipationPhases, phase: TimedPhase) -> TableRow:
    row = participation.row
    return {
        "session": row["session"],
        "round": row["round"],
        "cell": row["cell"],
        "status": row["status"],
        "seconds": phase.duration_s,
        "joules": phase.energy_j,
        "bytes": phase.bytes,
    }


def _slice(name: str, kind: str, begin_ns: int, end_ns: int, args: TableRow) -> TraceEvent:
    """Return a slice; its times are whole nanoseconds, so that neighbours touch."""
    return {
        "ph": "X",
        "name": name,
        "cat": kind,
        "ts": begin_ns / 1000,  # the format counts in µs
        "dur": (end_ns - begin_ns) / 1000,
        "args": args,
    }


def _ns(time_s: float) -> int:
    return round(1e9 * time_s)
