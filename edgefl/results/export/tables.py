"""The tables that can be exported, of one run or of several runs."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from edgefl.core.errors import InputError
from edgefl.records.quantities import DECLARED, LOSSES, SUMMARY, costs_of
from edgefl.results.export.exported_runs import ExportedRun, KeyColumn, exported_runs, key_columns
from edgefl.results.export.participations import participations
from edgefl.results.reader import TableRow, header_of, rows_of, tables_by_rows
from edgefl.results.report.shared.describe import at, kind, name
from edgefl.results.report.shared.read import Run, load, reached
from edgefl.results.result_tables import columns_of_files
from edgefl.results.run_folder import DEVICE_ACCURACY_FILE

PHASE_FIGURES = ("start_s", "duration_s", "energy_j", "bytes")
PHASE_COLUMNS = ("session", "round", "device", "phase", *PHASE_FIGURES)
NOT_EXPORTED = ("targets", "sessions", "wall_s", DECLARED)  # of the summary: lists, and times of this machine
_TYPES_OF_EXPORTS = {  # of columns that only exported tables have; the others are numbers
    "run": str,
    "scenario": str,
    "algorithm": str,
    "phase": str,
    "reached": bool,
    "seed": int,
    "bytes": int,
    "last_n": int,
    **{f"{one.within}_{one.name}".strip("_"): one.type for one in SUMMARY},
    f"{LOSSES}_unfinished": int,
}


class ExportTable(NamedTuple):
    """Columns and rows; rows may lack some columns."""

    columns: Sequence[str]
    rows: Iterator[TableRow]  # read during the export, as a table may not fit in memory
    types: Mapping[str, type] = {}  # of columns with swept keys, and of a measure from outside

    def type_of(self, column: str) -> type:
        """Return the type of a column's values."""
        return self.types.get(column) or column_type(column)


def column_type(name: str) -> type:
    """Return the type of an exported column's values; unknown columns hold numbers."""
    if name in _TYPES_OF_EXPORTS:
        return _TYPES_OF_EXPORTS[name]
    for columns in columns_of_files().values():
        for column in columns:  # a name has the same type in all files (tests/results/test_columns.py)
            if column.name == name:
                return column.type
    return float


def export_table(folders: Sequence[Path], kind: str, where: Sequence[str] = ()) -> ExportTable:
    """Return a table of all runs, with None for missing values.

    Of sweeps only the points of `where`, ``KEY=V,V`` each, count. With several runs, the first column, `run`, has their
    folders. Next come the swept keys and seeds of sweeps.
    """
    runs = exported_runs(folders, where)
    tables = [_table(run.folder, kind) for run in runs]
    own = dict.fromkeys(column for table in tables for column in table.columns)
    keys = key_columns(runs, own)
    columns: dict[str, None] = {}
    if len(runs) > 1 or keys:
        columns["run"] = None
    columns |= dict.fromkeys(key.name for key in keys)
    if any(run.values is not None for run in runs):
        columns["seed"] = None
    columns |= own
    types = {name: kind for table in tables for name, kind in table.types.items()}
    types |= {key.name: key.type for key in keys}
    return ExportTable(list(columns), _below_each_other(runs, tables, list(columns), keys), types)


def _table(folder: Path, kind: str) -> ExportTable:
    """Return a table of one run: one of `SOURCES`, or a measure's by its name."""
    if kind in SOURCES:
        return SOURCES[kind](folder)
    header_of(folder, "rounds.csv")  # refuses a folder without results
    tables = {table.name.removesuffix(".csv"): table for table in tables_by_rows(folder)}
    if kind not in tables:
        raise InputError(f"export: --table {kind}: {folder} has none: use {', '.join([*SOURCES, *tables])}")
    table = tables[kind]
    types = {column.name: column.type for column in table.columns}
    if not (folder / table.name).is_file():  # the run has no rows of it
        return ExportTable(list(types), iter(()), types)
    return ExportTable(header_of(folder, table.name), rows_of(folder, table.name), types)


def _below_each_other(
    runs: Sequence[ExportedRun], tables: Sequence[ExportTable], columns: Sequence[str], keys: Sequence[KeyColumn]
) -> Iterator[TableRow]:
    for run, table in zip(runs, tables, strict=True):
        # Only values of existing columns are written.
        of_run = {"run": str(run.folder), "seed": run.seed} | {key.name: key.cell(run) for key in keys}
        for row in table.rows:
            values = of_run | row
            yield {column: values.get(column) for column in columns}


def _file(name: str, folder: Path) -> ExportTable:
    return ExportTable(header_of(folder, name), rows_of(folder, name))


def _device_accuracy(folder: Path) -> ExportTable:
    """Return a row for each device with samples; none without learning or without classes."""
    header_of(folder, "rounds.csv")  # refuses a folder without results
    if not (folder / DEVICE_ACCURACY_FILE).is_file():
        return ExportTable([column.name for column in columns_of_files()[DEVICE_ACCURACY_FILE]], iter(()))
    return _file(DEVICE_ACCURACY_FILE, folder)


def _phases(folder: Path) -> ExportTable:
    header_of(folder, "rounds.csv")  # refuses a folder without results
    return ExportTable(PHASE_COLUMNS, _phase_rows(folder))


def _phase_rows(folder: Path) -> Iterator[TableRow]:
    for participation in participations(folder):
        owner = {key: participation.row[key] for key in ("session", "round", "device")}
        for phase in participation.phases:
            figures = {key: getattr(phase, key) for key in PHASE_FIGURES}
            yield {**owner, "phase": phase.name, **figures}


def _summary(folder: Path) -> ExportTable:
    run = load(folder, details=False)  # devices may be many
    totals = {key: value for key, value in run.summary.items() if key not in NOT_EXPORTED}
    row = {**_identity(run), "status": run.manifest.get("status"), **dict(_flat(totals))}
    return ExportTable(list(row), iter([row]))


def _targets(folder: Path) -> ExportTable:
    """Return a row for each target with its costs, None if it was not reached."""
    run = load(folder, details=False)
    names = {name for target in run.targets for name in target}
    columns = ["accuracy", "relative", *(cost.at_target for cost in costs_of(run.quantities, names))]
    rows = []
    for target in run.targets:
        costs = {key: target.get(key) for key in columns}
        rows.append({**_identity(run), "reached": reached(target), **costs})
    return ExportTable([*_identity(run), "reached", *columns], iter(rows))


def _identity(run: Run) -> TableRow:
    return {"scenario": name(run), "algorithm": kind(run.scenario, "algorithm"), "seed": at(run.scenario, "seed")}


def _flat(value: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Yield nested figures under joined names, such as `last_mean_accuracy`."""
    for key, inner in value.items():
        if not isinstance(inner, Mapping):
            yield key, inner
            continue
        for inner_key, figure in _flat(inner):
            yield f"{key}_{inner_key}", figure


SOURCES: dict[str, Callable[[Path], ExportTable]] = {
    "rounds": partial(_file, "rounds.csv"),
    "devices": partial(_file, "devices.csv"),
    "phases": _phases,
    "device_accuracy": _device_accuracy,
    "summary": _summary,
    "targets": _targets,
}
