"""The exported runs: named result folders, the finished runs of sweeps with their values, and groups of runs."""

import json
from collections.abc import Container, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from edgefl.core.errors import InputError
from edgefl.records.quantities import index_column, key_column
from edgefl.results.report.comparison.seed_groups import SeedGroup, grouped
from edgefl.results.report.shared.read import load_all
from edgefl.results.report.sweep import is_sweep
from edgefl.results.report.sweep.selection import StudyChoice, selected
from edgefl.results.report.sweep.study import Study, load, swept_values


class ExportedRun(NamedTuple):
    """A result folder; a run of a sweep also has its seed, and the values of the swept keys."""

    folder: Path
    seed: int | None = None
    values: Mapping[str, Any] | None = None  # by dotted key; None for a named folder


class KeyColumn(NamedTuple):
    """A column with the values of a swept key, all of one type."""

    key: str
    name: str
    type: type

    def cell(self, run: ExportedRun) -> Any:
        """Return the value of a run; None without one."""
        value = (run.values or {}).get(self.key)
        if value is None:
            return None
        if self.type is not str:
            return self.type(value)
        if isinstance(value, str):
            return value
        return json.dumps(value)  # a mapping, such as an algorithm with its keys


def exported_runs(folders: Sequence[Path], where: Sequence[str] = ()) -> list[ExportedRun]:
    """Return the runs of result folders; the folder of a sweep stands for its finished runs at the points of `where`.

    Raises:
        InputError: the files of a sweep cannot be read, or none of its runs has finished.
    """
    runs = []
    for folder in folders:
        if is_sweep(folder):
            runs += _runs_of_sweep(folder, where)
        elif where:
            raise InputError(f"export: --where {' '.join(where)}: {folder} is the folder of one run: leave it out")
        else:
            runs.append(ExportedRun(folder))
    return runs


def exported_folders(folders: Sequence[Path]) -> list[Path]:
    """Return the result folders of `exported_runs`."""
    return [run.folder for run in exported_runs(folders)]


def sweep_alone(folders: Sequence[Path]) -> Study | None:
    """Return the sweep if the only folder is a sweep's, else None.

    Raises:
        InputError: its files cannot be read, or none of its runs has finished.
    """
    if len(folders) != 1 or not is_sweep(folders[0]):
        return None
    study = load(folders[0])
    if not any(study.finished_rows):
        raise InputError(f"{study.folder}: no run of this sweep has finished")
    return study


def groups_of(folders: Sequence[Path], where: Sequence[str] = ()) -> list[SeedGroup]:
    """Return the groups of the runs in result folders; the groups of a single sweep are its points.

    Raises:
        InputError: a folder cannot be read, or no run of a sweep has finished.
    """
    study = sweep_alone(folders)
    if study is None:
        return grouped(load_all(exported_folders(folders), details=False))
    return list(groups_of_points(selected(study, where)).values())


def groups_of_points(study: Study) -> dict[int, SeedGroup]:
    """Return the finished runs of each point of a sweep, by its number; points without any are left out.

    Raises:
        InputError: a run cannot be read.
    """
    groups = {}
    for number, rows in enumerate(study.finished_rows):
        if rows:
            runs = [study.question.of(run) for run in load_all(map(study.run_folder, rows), details=False)]
            groups[number] = SeedGroup(study.point_text(number) or study.name, runs)
    return groups


def check_options(choice: StudyChoice, allowed: Container[str], remedy: str) -> None:
    """Refuse choices of a user that have no effect on an export.

    Raises:
        InputError: a choice that is not allowed was made.
    """
    for option, value in vars(choice).items():
        if value and option not in allowed:
            text = value
            if not isinstance(value, str):
                text = " ".join(value)
            raise InputError(f"export: --{option} {text}: only with {remedy}: leave it out")


def _runs_of_sweep(folder: Path, where: Sequence[str]) -> list[ExportedRun]:
    study = sweep_alone([folder])
    assert study is not None  # noqa: S101 - the folder is a sweep's
    values = swept_values(folder)
    runs = []
    for row in sorted(selected(study, where).every_finished_row):
        name = study.texts["folder"][row]
        if name not in values:
            raise InputError(f"{folder}/sweep.yaml: lists no point with the folder {name!r}")
        runs.append(ExportedRun(study.run_folder(row), int(study.numbers["seed"][row]), values[name]))
    return runs


def key_columns(runs: Sequence[ExportedRun], others: Container[str]) -> list[KeyColumn]:
    """Return a column for each swept key of the runs, given the names of the table's other columns."""
    keys = dict.fromkeys(key for run in runs for key in run.values or ())
    columns = []
    for key in keys:
        values = [run.values[key] for run in runs if run.values and key in run.values]
        name = index_column(key)
        if name == key:
            name = key_column(key, others)
        columns.append(KeyColumn(key, name, _common_type(values)))
    return columns


def _common_type(values: Sequence[Any]) -> type:
    types = {type(value) for value in values if value is not None}
    for common, allowed in ((bool, {bool}), (int, {int}), (float, {int, float})):
        if types and types <= allowed:
            return common
    return str
