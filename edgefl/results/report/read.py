"""A result folder as columns: the only module here that opens its files."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import yaml
from numpy.typing import NDArray

from edgefl.core.errors import InputError
from edgefl.core.units import as_number
from edgefl.results.metrics import numbers

Table = dict[str, NDArray[Any]]

ROUND_COLUMNS = (
    *("session", "round", "time_s", "duration_s", "energy_j", "round_energy_j", "selected", "received"),
    *("late", "departed", "bytes_down", "bytes_up", "train_loss", "test_loss", "test_accuracy"),
)
WORLD_COLUMNS = (  # some lack them
    *("wasted_j", "present", "arrivals", "departures", "handovers", "depleted", "battery"),
    *("charged_j", "drained_j", "history_bytes"),
)
TOY_COLUMNS = ("parameter", "distance_to_optimum")
RANKING_COLUMNS = ("test_auc", "hr_5", "ndcg_5", "hr_10", "ndcg_10")
MODEL_COLUMNS = ("sel_accuracy", "all_accuracy")  # of the round's mean local model, and of all devices'
DEVICE_COLUMNS = (
    *("session", "round", "device", "cell", "distance_m", "los", "pathloss_db"),
    *("download_s", "compute_s", "upload_s", "wait_s", "rx_energy_j", "cpu_energy_j", "tx_energy_j"),
    *("status", "x_m", "y_m"),
)
LABEL_COLUMNS = ("device", "label", "samples")
TRACK_COLUMNS = ("device", "time_s", "x_m", "y_m")
LATER_DEVICE_COLUMNS = (
    "idle_energy_j",
    "start_s",
    "battery_j",
    "battery_capacity_j",
)  # earlier versions, or runs without batteries, lack them
TEXT_COLUMNS = frozenset({"los", "status"})
CHUNK = 20_000  # rows held as text at a time: a million rows of strings would not fit
_LOADER: type[yaml.SafeLoader] = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


@dataclass(frozen=True)
class Run:
    """One result folder. ``devices["row"]`` is the row of ``rounds`` that a device row belongs to."""

    folder: Path
    scenario: Mapping[str, Any]
    scenario_text: str
    manifest: Mapping[str, Any]
    summary: Mapping[str, Any]
    rounds: Table
    devices: Table
    labels: Table | None  # who holds how many samples of which label; folders of earlier versions lack it
    tracks: Table | None  # where some devices have gone, where any moves

    @property
    def learned(self) -> bool:
        """Whether any round has a learning result; a run with ``--no-train`` has none."""
        names = ("test_accuracy", "test_loss", "train_loss", "distance_to_optimum")
        return any(self.last(name) is not None for name in names)

    @property
    def on_batteries(self) -> bool:
        """Whether any device has a battery."""
        return bool(np.isfinite(self.rounds["battery"]).any())

    @property
    def length(self) -> int:
        """How many rounds ended."""
        return len(self.rounds["round"])

    @property
    def final_accuracy(self) -> float | None:
        """The accuracy after the last round that was tested."""
        known = as_number(self.summary.get("final_accuracy"))
        return self.last("test_accuracy") if known is None else known

    @property
    def targets(self) -> list[Mapping[str, Any]]:
        """The accuracy targets, none where no accuracy was measured to compare them with."""
        every = self.summary.get("targets") or []
        known = [target for target in every if isinstance(target.get("accuracy"), int | float)]
        return known if self.final_accuracy is not None else []

    def last(self, column: str) -> float | None:
        """The last known value of a column of ``rounds.csv``."""
        values = self.rounds[column]
        known = values[np.isfinite(values)]
        return float(known[-1]) if known.size else None

    def has(self, column: str) -> bool:
        """Whether a column of ``rounds.csv`` holds anything but nothing and zeros."""
        return bool(np.any(np.nan_to_num(self.rounds[column])))

    def sum(self, column: str) -> float | None:
        """The sum of a column of ``rounds.csv``; None where the run has none."""
        values = self.rounds[column]
        return float(np.nansum(values)) if np.isfinite(values).any() else None

    def total(self, name: str) -> float | None:
        """A figure of the summary, or the last of its column where a run that stopped early has no summary."""
        known = as_number(self.summary.get(name))
        return self.last(name) if known is None else known


def energy_of(runs: Sequence[Run]) -> str:
    """What the energy in the books of these runs is called: batteries also lose some while devices take no part."""
    return "energy of learning" if any(run.on_batteries for run in runs) else "energy of all devices"


def reached(target: Mapping[str, Any]) -> bool:
    """Whether the run got to the target."""
    return as_number(target.get("round")) is not None


def load_all(folders: Sequence[Path], *, details: bool = True) -> list[Run]:
    """Read result folders.

    Raises:
        InputError: one line for every folder that cannot be read.
    """
    faults: list[str] = []
    runs = []
    for folder in folders:
        try:
            runs.append(load(folder, details=details))
        except InputError as error:
            faults.extend(error.faults)
    if faults:
        raise InputError(*faults)
    return runs


def load(folder: Path, *, details: bool = True) -> Run:
    """Read one result folder, without ``details`` neither devices nor labels nor tracks.

    Raises:
        InputError: something is missing or unreadable, in one line.
    """
    text = text_of(folder, "scenario.yaml")
    manifest = _json(folder, "manifest.json")
    rounds = rounds_of(folder)
    return Run(
        folder=folder,
        scenario=yaml_of(folder, "scenario.yaml", text),
        scenario_text=text,
        manifest=manifest,
        summary=_summary(folder, manifest),
        rounds=rounds,
        devices=_devices(folder, rounds) if details else {},
        labels=_if_there(folder, "labels.csv", LABEL_COLUMNS) if details else None,
        tracks=_if_there(folder, "tracks.csv", TRACK_COLUMNS) if details else None,
    )


def rounds_of(folder: Path) -> Table:
    """The columns of ``rounds.csv``, and ``number``, which grows over the whole run.

    Raises:
        InputError: it is missing or damaged, in one line.
    """
    rounds = _table(folder, "rounds.csv", ROUND_COLUMNS, WORLD_COLUMNS + TOY_COLUMNS + RANKING_COLUMNS + MODEL_COLUMNS)
    return rounds | {"number": numbers(rounds["round"])}


def _if_there(folder: Path, name: str, columns: Sequence[str]) -> Table | None:
    """A table that not every folder has."""
    return _table(folder, name, columns) if (folder / name).is_file() else None


def _devices(folder: Path, rounds: Table) -> Table:
    """The devices of finished rounds, each with the row of its round."""
    devices = _table(folder, "devices.csv", DEVICE_COLUMNS, LATER_DEVICE_COLUMNS)
    row = _rows(rounds, devices)
    return {name: column[row >= 0] for name, column in (devices | {"row": row}).items()}


def _summary(folder: Path, manifest: Mapping[str, Any]) -> Mapping[str, Any]:
    """The summary, which a run that did not finish may lack."""
    if manifest.get("status") != "finished" and not (folder / "summary.json").is_file():
        return {}
    return _json(folder, "summary.json")


def text_of(folder: Path, name: str) -> str:
    """The text of a file.

    Raises:
        InputError: it is not there, or cannot be read.
    """
    if not folder.is_dir():
        raise InputError(f"{folder}: not a result folder: no such folder")
    try:
        return (folder / name).read_text(encoding="utf-8")
    except FileNotFoundError:
        raise InputError(f"{folder}: not a result folder: {name} is missing") from None
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{folder}/{name}: cannot be read: {error}") from None


def _json(folder: Path, name: str) -> Mapping[str, Any]:
    try:
        value = json.loads(text_of(folder, name))
    except ValueError as error:
        raise InputError(f"{folder}/{name}: not JSON: {error}") from None
    return _mapping(folder, name, value)


def yaml_of(folder: Path, name: str, text: str) -> Mapping[str, Any]:
    """The mapping that a YAML file holds.

    Raises:
        InputError: it holds something else.
    """
    try:
        value = yaml.load(text, Loader=_LOADER)  # noqa: S506  # both loaders are safe ones
    except yaml.YAMLError as error:
        reason = " ".join(str(error).split())
        raise InputError(f"{folder}/{name}: not YAML: {reason}") from None
    return _mapping(folder, name, value)


def _mapping(folder: Path, name: str, value: Any) -> Mapping[str, Any]:
    if not isinstance(value, dict):
        raise InputError(f"{folder}/{name}: expected a mapping, got {type(value).__name__}")
    return value


def _table(folder: Path, name: str, needed: Sequence[str], optional: Sequence[str] = ()) -> Table:
    """The columns of a CSV file; an empty cell, like a column that may be absent, is NaN."""
    lines = csv.reader(text_of(folder, name).splitlines())
    header = next(lines, [])
    if missing := [column for column in needed if column not in header]:
        raise InputError(f"{folder}/{name}: column {missing[0]} is missing")
    place = {column: header.index(column) for column in (*needed, *optional) if column in header}
    try:
        parts = list(_chunks(lines, place))
    except (ValueError, IndexError, csv.Error) as error:
        raise InputError(f"{folder}/{name}: near line {lines.line_num}: {error}") from None
    table = {column: np.concatenate([part[column] for part in parts]) for column in place}
    nothing = np.full(len(table[needed[0]]), np.nan)
    return dict.fromkeys(optional, nothing) | table


def _chunks(lines: Iterator[list[str]], place: Mapping[str, int]) -> Iterator[Table]:
    """The columns of a few thousand lines at a time, at least once."""
    while True:
        rows = [row for row in islice(lines, CHUNK) if row]
        yield {column: _column(column, [row[at] for row in rows]) for column, at in place.items()}
        if not rows:
            return


def _column(name: str, cells: list[str]) -> NDArray[Any]:
    if name in TEXT_COLUMNS:
        return np.array(cells, dtype=np.str_)
    return np.array([float(cell) if cell else np.nan for cell in cells], dtype=np.float64)


def _rows(rounds: Table, devices: Table) -> NDArray[np.intp]:
    """The row of ``rounds`` for each device row; -1 where the round never ended."""
    place = {key: row for row, key in enumerate(zip(rounds["session"], rounds["round"], strict=True))}
    keys = zip(devices["session"], devices["round"], strict=True)
    return np.array([place.get(key, -1) for key in keys], dtype=np.intp)
