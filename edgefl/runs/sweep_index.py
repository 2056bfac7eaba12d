"""The index of a sweep: a row for each run, with its values, status and totals."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from time import monotonic
from typing import Any

from edgefl.core.files import write_atomically
from edgefl.records.columns import index_column
from edgefl.results.csv_format import csv_bytes
from edgefl.results.participation import LOSS_CAUSES
from edgefl.results.what_if_table import BS_ENERGY, OF_TARGET, value_cell
from edgefl.runs.sweep_run import SweepRun

INDEX = "index.csv"
CARBON = ("carbon_g", "bs_carbon_g")
LIFETIME = "lifetime_s"
TIME_SHARE = 0.02  # share of the wall-clock time that writing may take while runs are under way

INDEX_TOTALS = (  # entries of a run's summary that become columns
    "rounds", "time_s", "energy_j", "final_accuracy", "best_accuracy", "bytes_down", "bytes_up", "wasted_j",
    "jain_index", "mean_age_rounds", "received", "received_share",
)  # fmt: skip


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
    totals = [*INDEX_TOTALS, *LOSS_CAUSES]
    of_target = list(OF_TARGET)
    if any(BS_ENERGY in (run.summary or {}) for run in runs):
        totals.append(BS_ENERGY)
        of_target.append(BS_ENERGY)
    totals += [name for name in (*CARBON, LIFETIME) if any(name in (run.summary or {}) for run in runs)]
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
        summary = {**(run.summary or {}).get("drops", {}), **(run.summary or {})}
        for name in totals:
            columns[name].append(summary.get(name))
        for target in targets:
            for name in of_target:
                columns[f"target_{target}_{name}"].append(of_run.get(target, {}).get(name))
    return csv_bytes(columns)


def _targets(run: SweepRun) -> dict[str, Mapping[str, Any]]:
    targets = (run.summary or {}).get("targets", ())
    return {f"{target['accuracy']:.6g}": target for target in targets if target["accuracy"] is not None}
