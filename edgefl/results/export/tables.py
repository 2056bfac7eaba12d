"""The tables that can be exported, of one run or of several below each other."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from edgefl.results.export.folder import Row, header, rows
from edgefl.results.export.parts import parts
from edgefl.results.report.describe import at, kind, name
from edgefl.results.report.read import Run, load, reached

PHASE_COLUMNS = ("session", "round", "device", "phase", "start_s", "duration_s", "energy_j", "bytes")
NO_FIGURES = ("targets", "sessions", "wall_s")  # of the summary: lists, and what differs from machine to machine


class Table(NamedTuple):
    """Columns, and rows; those of one run may lack some of them."""

    columns: Sequence[str]
    rows: Iterator[Row]


def table(folders: Sequence[Path], kind: str) -> Table:
    """A table of all the runs, None where a row has nothing; where there are several, `run` tells their folder."""
    several = len(folders) > 1
    made = [SOURCES[kind](folder) for folder in folders]
    columns = dict.fromkeys([*(["run"] if several else []), *(column for one in made for column in one.columns)])

    def every() -> Iterator[Row]:
        for folder, one in zip(folders, made, strict=True):
            for row in one.rows:
                whole = row | {"run": str(folder)}
                yield {column: whole.get(column) for column in columns}

    return Table(list(columns), every())


def _rounds(folder: Path) -> Table:
    return Table(header(folder, "rounds.csv"), rows(folder, "rounds.csv"))


def _devices(folder: Path) -> Table:
    return Table(header(folder, "devices.csv"), rows(folder, "devices.csv"))


def _phases(folder: Path) -> Table:
    """A row a device, round and phase: when it began, how long it took, its joules and bytes."""
    header(folder, "rounds.csv")  # a folder without it is told before anything is written

    def every() -> Iterator[Row]:
        for part in parts(folder):
            whose = {key: part.row[key] for key in ("session", "round", "device")}
            for phase in part.phases:
                yield {**whose, "phase": phase.name, **{key: getattr(phase, key) for key in PHASE_COLUMNS[4:]}}

    return Table(PHASE_COLUMNS, every())


def _summary(folder: Path) -> Table:
    """A row a run."""
    run = load(folder, details=False)
    figures = {key: value for key, value in run.summary.items() if key not in NO_FIGURES}
    row = {**_who(run), "status": run.manifest.get("status"), **dict(_flat(figures))}
    return Table(list(row), iter([row]))


def _targets(folder: Path) -> Table:
    """A row a run and target: what it took; nothing where it was not reached."""
    run = load(folder, details=False)
    keys = ("accuracy", "relative", "round", "time_s", "energy_j")
    table = [
        {**_who(run), "reached": reached(target), **{key: target.get(key) for key in keys}} for target in run.targets
    ]
    return Table([*_who(run), "reached", *keys], iter(table))


def _who(run: Run) -> Row:
    return {
        "scenario": name(run),
        "algorithm": kind(run.scenario, "algorithm"),
        "seed": at(run.scenario, "seed"),
    }


def _flat(value: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Nested figures as one row: `last_mean_accuracy`."""
    for key, inner in value.items():
        if isinstance(inner, Mapping):
            yield from ((f"{key}_{below}", figure) for below, figure in _flat(inner))
        else:
            yield key, inner


SOURCES: dict[str, Callable[[Path], Table]] = {
    "rounds": _rounds,
    "devices": _devices,
    "phases": _phases,
    "summary": _summary,
    "targets": _targets,
}
