"""A result folder as the report, comparisons and exports see it: documents, and tables as arrays."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from edgefl.core.arrays import Bools, Floats
from edgefl.core.errors import InputError
from edgefl.core.units import as_number
from edgefl.records.columns import ResultColumn
from edgefl.records.quantities import QUANTITIES, Quantity, declared_terms, quantities_of
from edgefl.records.result_files import CELL_LOAD
from edgefl.records.statuses import EVALUATIONS, REPORTED
from edgefl.results.metrics import AccuracyCurve, accuracy_curve, numbers
from edgefl.results.participation import Updates, updates_of
from edgefl.results.progress import is_under_way, is_unfinished
from edgefl.results.reader import (
    EVENTS_FILE,
    FINISHED_STATUS,
    ColumnArrays,
    Documents,
    arrays_from,
    arrays_of,
    json_of,
    read_documents,
    times_of_events,
)
from edgefl.results.result_tables import columns_of_files
from edgefl.results.run_folder import PROGRESS
from edgefl.results.scenario_tree import at
from edgefl.results.what_if_table import WhatIfRow, read_table

# Returns the times [events] of the events of a kind; none without an event log.
TimesOfEvents = Callable[[str], Floats]
NO_EVENTS: Mapping[str, Sequence[Any]] = {"kind": (), "time_s": ()}
READ_AGAIN = 3  # times, if files change while they are read
ACCURACIES = {"final_accuracy": "final", "best_accuracy": "best"}  # of a curve
LEARNED_COLUMNS = ("test_accuracy", "test_loss", "train_loss", "distance_to_optimum")


OPTIONAL_TABLES = {"labels": "labels.csv", "tracks": "tracks.csv", "cell_load": CELL_LOAD.name}  # by field of `Run`
SETUP_COLUMNS = ("setup_s", "setup_energy_j")  # of devices.csv, in some runs


@dataclass(frozen=True)
class Run:
    """One result folder. ``devices["row"]`` is the row of ``rounds`` that a device row belongs to."""

    folder: Path
    scenario: Mapping[str, Any]
    scenario_text: str
    manifest: Mapping[str, Any]
    summary: Mapping[str, Any]
    rounds: ColumnArrays
    devices: ColumnArrays
    times_of_events: TimesOfEvents  # reads the event log, which few pages need
    labels: ColumnArrays | None = None  # samples by device and label, if the data have labels
    tracks: ColumnArrays | None = None  # positions of some devices over time, if any moves
    cell_load: ColumnArrays | None = None  # by cell and round, of several cells
    what_if: Sequence[WhatIfRow] = ()  # costs with other values of some keys, after those of the run itself
    under_way: bool = False  # a process runs in the folder; the tables have the rows so far

    @property
    def learned(self) -> bool:
        """True if any round has a learning result; a run with ``--no-train`` has none."""
        return any(self.last(name) is not None for name in LEARNED_COLUMNS)

    @property
    def on_batteries(self) -> bool:
        """True if any device has a battery."""
        return bool(np.isfinite(self.rounds["battery"]).any())

    @cached_property
    def participations(self) -> ColumnArrays:
        """The rows of ``devices`` whose devices took part or were polled, without reports on channels."""
        return self._only(~np.isin(self.devices["status"], (REPORTED, *EVALUATIONS)))

    @cached_property
    def evaluations(self) -> ColumnArrays:
        """The rows of ``devices`` whose devices evaluated a new model."""
        return self._only(np.isin(self.devices["status"], EVALUATIONS))

    def _only(self, which: Bools) -> ColumnArrays:
        return {name: values[which] for name, values in self.devices.items()}

    @property
    def length(self) -> int:
        """Number of rounds that ended."""
        return len(self.rounds["round"])

    @cached_property
    def curve(self) -> AccuracyCurve:
        """Its accuracies, with their times and energies."""
        return accuracy_curve(self.rounds)

    @property
    def stopped_before(self) -> int | None:
        """Number of rounds that the run would have had, if one of its conditions `stop` ended it earlier."""
        stop = self.scenario.get("stop")
        planned = self.scenario.get("rounds")
        if not isinstance(stop, Mapping) or not any(stop.values()) or not isinstance(planned, int):
            return None
        if self.manifest.get("status") != FINISHED_STATUS or self.length >= planned:
            return None
        return planned

    @cached_property
    def updates(self) -> Updates:
        """The updates that were received and lost."""
        return updates_of(lambda column: float(np.nansum(self.rounds[column])))

    @cached_property
    def data_changes_s(self) -> Floats:
        """The times [changes] at which data of devices changed (`data.drift`)."""
        if at(self.scenario, "data.drift") is None:
            return np.empty(0)
        return self.times_of_events("data_change")

    @property
    def final_accuracy(self) -> float | None:
        """Accuracy after the last round that was tested; None where none was."""
        known = as_number(self.summary.get("final_accuracy"))
        if known is None:  # a run that was cut short has no summary
            return self.last("test_accuracy")
        return known

    @property
    def targets(self) -> list[Mapping[str, Any]]:
        """The accuracy targets; none where no accuracy was measured to compare them with."""
        if self.final_accuracy is None:
            return []
        targets = self.summary.get("targets") or []
        # The accuracy of a relative target is null where its reference lacks the session.
        return [target for target in targets if isinstance(target.get("accuracy"), int | float)]

    def last(self, column: str) -> float | None:
        """Return the last known value of a column of ``rounds.csv``."""
        values = self.rounds[column]
        known = values[np.isfinite(values)]
        if not known.size:
            return None
        return float(known[-1])

    def has(self, column: str) -> bool:
        """Return whether a column of ``rounds.csv`` holds anything but empty cells and zeros."""
        return bool(np.any(np.nan_to_num(self.rounds[column])))

    def sum(self, column: str) -> float | None:
        """Return the sum of a column of ``rounds.csv``; None where the run does not have it."""
        values = self.rounds[column]
        if not np.isfinite(values).any():
            return None
        return float(np.nansum(values))  # empty cells count as nothing

    @cached_property
    def quantities(self) -> Sequence[Quantity]:
        """The quantities that the run may have, those of members from outside included."""
        return quantities_of(self.summary)

    def value(self, of: Quantity) -> float | None:
        """Return a quantity of the run; of a run without a summary, what its rounds say."""
        known = of.of(self.summary)
        if known is not None:
            return known
        if of.sums:
            terms = [self.sum(name) for name in of.sums]
            return None if None in terms else sum(term or 0.0 for term in terms)
        if of.name == "rounds":
            return float(self.length)
        if of.name in ACCURACIES:
            return as_number(getattr(self.curve, ACCURACIES[of.name]))
        if hasattr(self.updates, of.name):
            return as_number(getattr(self.updates, of.name))
        return self.last(of.name) if of.name in self.rounds else None

    def total(self, name: str) -> float | None:
        """Return a quantity of edgefl by its name; see `value`."""
        return self.value(QUANTITIES[name])


def energy_of(runs: Sequence[Run]) -> str:
    """Return the name of the energy of these runs: batteries also lose what devices draw anyway."""
    if any(run.on_batteries for run in runs):
        return "energy of learning"
    return "energy of all devices"


def reached(target: Mapping[str, Any]) -> bool:
    """Return whether the run reached a target of its summary."""
    return as_number(target.get("round")) is not None


def load_all(folders: Iterable[Path], *, details: bool = True, so_far: bool = False) -> list[Run]:
    """Read result folders; of runs without results, with ``so_far``, the rows that are final.

    Raises:
        InputError: one line for every folder that cannot be read.
    """
    faults: list[str] = []
    runs = []
    for folder in folders:
        try:
            if so_far and is_unfinished(folder):
                runs.append(load_so_far(folder))
            else:
                runs.append(load(folder, details=details))
        except InputError as error:
            faults.extend(error.faults)
    if faults:
        raise InputError(*faults)
    return runs


def load(folder: Path, *, details: bool = True) -> Run:
    """Read one result folder; without ``details`` neither devices nor labels nor tracks.

    Raises:
        InputError: something is missing or unreadable, in one line.
    """
    if is_unfinished(folder) and not (folder / "rounds.csv").is_file():
        text = "its run has not ended: `edgefl report` shows its rounds so far, `edgefl run --resume` continues it"
        raise InputError(f"{folder}: {text}")
    documents = read_documents(folder)
    rounds = load_rounds(folder, declared_terms(documents.summary))
    devices: ColumnArrays = {}
    more: dict[str, Any] = {}
    if details:
        devices = _finished_devices(arrays_of(folder, "devices.csv"), rounds)
        more = {name: _optional_table(folder, file) for name, file in OPTIONAL_TABLES.items()}
        _check_counts(folder, more["labels"])
        more["what_if"] = read_table(folder)
    events = partial(times_of_events, folder)
    return Run(folder=folder, **documents._asdict(), rounds=rounds, devices=devices, times_of_events=events, **more)


def first_rounds(run: Run, rounds: int) -> Run:
    """Return a run with its first rounds only; its summary is still that of the whole run."""
    devices = {name: column[run.devices["row"] < rounds] for name, column in run.devices.items()}
    return replace(run, rounds={name: column[:rounds] for name, column in run.rounds.items()}, devices=devices)


def with_devices(run: Run) -> Run:
    """Return a run that was read without ``details``, with the devices of its folder if they were recorded.

    Raises:
        InputError: the table is damaged.
    """
    if not (run.folder / "devices.csv").is_file():
        return run
    return replace(run, devices=_finished_devices(arrays_of(run.folder, "devices.csv"), run.rounds))


def load_so_far(folder: Path) -> Run:
    """Read the folder of a run that has written no results, because it is under way or was killed.

    Raises:
        InputError: something is missing or unreadable, in one line.
    """
    for _ in range(READ_AGAIN):
        try:
            return _load_rows_so_far(folder)
        except InputError:
            # The run may have replaced files while they were read, or removed them at its end.
            if not is_unfinished(folder):
                return load(folder)
    return _load_rows_so_far(folder)


def _load_rows_so_far(folder: Path) -> Run:
    under_way = is_under_way(folder)
    documents = read_documents(folder)
    rows = folder / PROGRESS
    if not (rows / "rounds.csv").is_file():
        rows = folder  # the run is about to end, and writes its results there
    if (rows / "rounds.csv").is_file():
        # Rounds come first, as they are written last: participants of later rounds do not count.
        rounds = load_rounds(rows)
        devices = arrays_of(rows, "devices.csv")
    else:
        rounds = _without_rows("rounds.csv")
        rounds |= {"number": numbers(rounds["round"])}
        devices = _without_rows("devices.csv")
    summary = json_of(rows, "summary.json") if (rows / "summary.json").is_file() else {}
    return Run(
        folder=folder,
        **documents._replace(summary=summary)._asdict(),
        rounds=rounds,
        devices=_finished_devices(devices, rounds),
        times_of_events=partial(_times_in_memory, NO_EVENTS),
        labels=_optional_table(folder, "labels.csv"),
        tracks=_optional_table(rows, "tracks.csv"),
        under_way=under_way,
    )


def _without_rows(name: str) -> ColumnArrays:
    return arrays_from({column.name: [] for column in columns_of_files()[name]}, name)


def from_memory(documents: Documents, tables: Mapping[str, Mapping[str, Sequence[Any]]]) -> Run:
    """Return a run that has written no folder, with the numbers that its files would hold.

    The `tables` are keyed by the name of the file; rounds.csv and devices.csv are among them.
    """
    events = tables.get(EVENTS_FILE, NO_EVENTS)
    arrays = {name: arrays_from(columns, name) for name, columns in tables.items() if name != EVENTS_FILE}
    rounds = arrays_from(tables["rounds.csv"], "rounds.csv", declared_terms(documents.summary))
    rounds |= {"number": numbers(rounds["round"])}
    devices = _finished_devices(arrays["devices.csv"], rounds)
    more: dict[str, Any] = {name: arrays.get(file) for name, file in OPTIONAL_TABLES.items()}
    times = partial(_times_in_memory, events)
    return Run(folder=Path(), **documents._asdict(), rounds=rounds, devices=devices, times_of_events=times, **more)


def _times_in_memory(events: Mapping[str, Sequence[Any]], kind: str) -> Floats:
    rows = zip(events["kind"], events["time_s"], strict=True)
    return np.array([time_s for kind_of_row, time_s in rows if kind_of_row == kind], dtype=np.float64)


def load_rounds(folder: Path, more: Sequence[ResultColumn] = ()) -> ColumnArrays:
    """Return the columns of ``rounds.csv``, and ``number``, which grows over the whole run.

    Columns of members from outside are among them if they are named.

    Raises:
        InputError: it is missing or damaged, in one line.
    """
    rounds = arrays_of(folder, "rounds.csv", more)
    return rounds | {"number": numbers(rounds["round"])}


def _optional_table(folder: Path, name: str) -> ColumnArrays | None:
    if not (folder / name).is_file():
        return None
    return arrays_of(folder, name)


def _check_counts(folder: Path, labels: ColumnArrays | None) -> None:
    if labels is None:
        return
    for name in ("device", "samples"):
        column = labels[name]
        wrong = np.flatnonzero((column < 0) | (column != np.floor(column)) | ~np.isfinite(column))
        if wrong.size:
            raise InputError(f"{folder}/labels.csv:{wrong[0] + 2}: {name}: must be a count, got {column[wrong[0]]:g}")


def _finished_devices(devices: ColumnArrays, rounds: ColumnArrays) -> ColumnArrays:
    """Return the participants of finished rounds, each with the row of its round."""
    rows = _round_rows(rounds, devices)
    finished = rows >= 0
    # Where no device sets up, the columns are missing, and their values are 0.
    known = {name: np.nan_to_num(devices[name]) for name in SETUP_COLUMNS}
    return {name: column[finished] for name, column in (devices | known | {"row": rows}).items()}


def _round_rows(rounds: ColumnArrays, devices: ColumnArrays) -> npt.NDArray[np.intp]:
    """Return the row of ``rounds`` for each device row; -1 where the round never ended."""
    round_keys = zip(rounds["session"], rounds["round"], strict=True)
    row_of = {key: row for row, key in enumerate(round_keys)}  # a run that was cut short has devices of later rounds
    device_keys = zip(devices["session"], devices["round"], strict=True)
    return np.array([row_of.get(key, -1) for key in device_keys], dtype=np.intp)
