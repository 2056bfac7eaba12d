"""The index of a sweep: a row for each run, with its values, status and totals."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from time import monotonic
from typing import Any

from edgefl.core.files import write_atomically
from edgefl.records.quantities import index_column, quantities_of
from edgefl.results.csv_format import csv_bytes
from edgefl.results.what_if_table import value_cell
from edgefl.runs.sweep_run import SweepRun

INDEX = "index.csv"
TIME_SHARE = 0.02  # share of the wall-clock time that writing may take while runs are under way


class SweepIndex:
    """Keeps the index in the folder of a sweep up to date.

    It is not written after each of thousands of runs, which could take longer than the runs.
    """

    def __init__(self, folder: Path, keys: Sequence[str], runs: Sequence[SweepRun]) -> None:
        self._path = folder / INDEX
        self._keys = keys
        self._runs = runs
        self._began_s = monotonic()
        self._writing_s = 0.0  # spent on writing so far

    def write(self) -> None:
        """Write the index.

        Raises:
            OSError: the system does not allow it, or the disk is full.
        """
        began_s = monotonic()
        write_atomically(self._path, index_of(self._keys, self._runs))
        self._writing_s += monotonic() - began_s

    def note_end(self) -> None:
        """Write the index after the end of a run, unless that would take too much time.

        Raises:
            OSError: see `write`.
        """
        # The share counts from the beginning, so long runs appear in the index as soon as they end.
        if self._writing_s <= TIME_SHARE * (monotonic() - self._began_s):
            self.write()


def index_of(keys: Sequence[str], runs: Sequence[SweepRun]) -> bytes:
    """Return the index of a sweep as CSV: one row for each run, with its values, status, totals and targets."""
    reached = [_targets(run) for run in runs]
    targets = dict.fromkeys(target for of_run in reached for target in of_run)  # without duplicates, in order
    known = {one.name: one for run in runs for one in quantities_of(run.summary or {})}
    totals = [one for one in known.values() if not one.when or any(one.name in (run.summary or {}) for run in runs)]
    costs = [one.at_target for one in totals if one.at_target]
    columns: dict[str, list[Any]] = defaultdict(list)
    for run, of_run in zip(runs, reached, strict=True):
        columns["point"].append(run.point.label)
        columns["seed"].append(run.point.scenario.seed)
        for key in keys:
            value = run.point.values.get(key)
            columns[index_column(key)].append(None if value is None else value_cell(value))
        columns["status"].append(run.status)
        columns["error"].append(run.error)
        columns["folder"].append(str(run.point.place))
        for one in totals:
            columns[one.name].append(one.of(run.summary or {}))
        for target in targets:
            for name in costs:
                columns[f"target_{target}_{name}"].append(of_run.get(target, {}).get(name))
    return csv_bytes(columns)


def _targets(run: SweepRun) -> dict[str, Mapping[str, Any]]:
    targets = (run.summary or {}).get("targets", ())
    return {f"{target['accuracy']:.6g}": target for target in targets if target["accuracy"] is not None}
