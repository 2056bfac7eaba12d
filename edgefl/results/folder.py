"""Result folders: written atomically, read back as DataFrames."""

from __future__ import annotations

import csv
import hashlib
import io
import json
import os
import platform
import subprocess
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from edgefl.core.errors import InputError
from edgefl.core.files import write_atomically
from edgefl.server.ledger import Columns, Ledger

if TYPE_CHECKING:
    import pandas as pd

FILES = (
    "manifest.json",
    "scenario.yaml",
    "labels.csv",
    "rounds.csv",
    "devices.csv",
    "contributions.csv",
    "tracks.csv",
    "events.parquet",
    "summary.json",
    "parameters.npy",
    "report.html",
)
CHECKPOINTS = "checkpoints"
DIGESTED = (
    *("scenario.yaml", "labels.csv", "rounds.csv", "devices.csv", "contributions.csv"),
    *("tracks.csv", "parameters.npy"),
)
PACKAGES = ("edgefl", "torch", "numpy", "scipy", "simpy")


@dataclass
class Result:
    """A run's results, in memory."""

    scenario: dict[str, Any]
    summary: dict[str, Any]
    parameters: npt.NDArray[np.float32] | None  # [d] the final global model; None without learning
    status: str  # finished | interrupted | failed
    ledger: Ledger | None = field(repr=False)  # None where it was read from a folder
    error: str | None = None
    folder: Path | None = None

    @cached_property
    def rounds(self) -> pd.DataFrame:
        """One row a global round."""
        return self._frame("rounds.csv", Ledger.round_columns)

    @cached_property
    def devices(self) -> pd.DataFrame:
        """One row a participant and round."""
        return self._frame("devices.csv", Ledger.device_columns)

    @cached_property
    def contributions(self) -> pd.DataFrame:
        """What each participant of a round has added to the model's value, where the scenario asks for it."""
        return self._frame("contributions.csv", Ledger.contribution_columns)

    @cached_property
    def events(self) -> pd.DataFrame:
        """The event log."""
        return self._frame("events.parquet", Ledger.event_columns)

    def _frame(self, name: str, columns: Callable[[Ledger], Columns]) -> pd.DataFrame:
        """Columns of the ledger, or of the file."""
        import pandas as pd

        if self.ledger is not None:
            items = columns(self.ledger).items()
            return pd.DataFrame({key: pd.Series(one, dtype=None if one else "float64") for key, one in items})
        path = (self.folder or Path()) / name
        if not path.exists():
            return pd.DataFrame()
        return pd.read_parquet(path) if path.suffix == ".parquet" else pd.read_csv(path)


def read(folder: Path) -> Result:
    """The results of a folder; its tables are read when they are asked for.

    Raises:
        InputError: it is not a run's, or files are missing.
    """
    import yaml

    try:
        manifest = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
        finished = manifest["status"] == "finished"
        summary = json.loads((folder / "summary.json").read_text(encoding="utf-8")) if finished else {}
        scenario = yaml.safe_load((folder / "scenario.yaml").read_text(encoding="utf-8"))
        path = folder / "parameters.npy"
        parameters = np.load(path, allow_pickle=False) if path.exists() else None
        return Result(scenario, summary, parameters, manifest["status"], None, manifest["error"], folder)
    except (OSError, ValueError, KeyError, yaml.YAMLError) as error:
        raise InputError(f"{folder}: its files are not those of a run ({error!r})") from None


def check_folder(folder: Path, *, overwrite: bool) -> None:
    """Whether results can be written to a folder, before anything is run.

    Raises:
        InputError: it holds files already and `overwrite` is off, or it cannot be written.
    """
    try:
        _check_folder(folder, overwrite)
    except OSError as error:  # such as a name that is too long
        raise InputError(f"{folder}: cannot be written: {error.strerror}; choose another folder with -o") from None


def _check_folder(folder: Path, overwrite: bool) -> None:  # noqa: FBT001
    if folder.exists() and not folder.is_dir():
        raise InputError(f"{folder}: is a file, the results need a folder; choose another with -o")
    if folder.is_dir() and any(folder.iterdir()) and not overwrite:
        raise InputError(f"{folder}: is not empty; choose another folder with -o, or replace it with --overwrite")
    existing = next(path for path in (folder, *folder.absolute().parents) if path.exists())
    if not existing.is_dir() or not os.access(existing, os.W_OK | os.X_OK):
        raise InputError(f"{folder}: cannot be written (no permission in {existing}); choose another folder with -o")


def open_folder(folder: Path) -> None:
    """Make the folder, and remove the results of an earlier run from it.

    Raises:
        InputError: the system does not allow it.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for path in (*(folder / name for name in FILES), *folder.glob(".*.part")):  # half a file is of a killed run
            path.unlink(missing_ok=True)
    except OSError as error:
        raise InputError(f"{folder}: cannot be written: {error.strerror}; choose another folder with -o") from None


def write_labels(folder: Path, holdings: Mapping[str, list[Any]]) -> None:
    """Write how many samples of each label each device holds: columns device, label, samples."""
    write_atomically(folder / "labels.csv", csv_bytes(holdings))


def write_tracks(folder: Path, tracks: Columns) -> None:
    """Write where devices have gone: columns device, time_s, x_m, y_m."""
    write_atomically(folder / "tracks.csv", csv_bytes(tracks))


def write_ledger(folder: Path, ledger: Ledger, parameters: npt.NDArray[np.float32] | None) -> None:
    """Write rounds, devices, events and the model."""
    write_atomically(folder / "rounds.csv", csv_bytes(ledger.round_columns()))
    write_atomically(folder / "devices.csv", csv_bytes(ledger.device_columns()))
    contributions = ledger.contribution_columns()
    if contributions["device"]:
        write_atomically(folder / "contributions.csv", csv_bytes(contributions))
    write_atomically(folder / "events.parquet", _parquet_bytes(ledger.event_columns()))
    if parameters is not None:
        stream = io.BytesIO()
        np.save(stream, parameters)
        write_atomically(folder / "parameters.npy", stream.getvalue())


def write_json(path: Path, value: Any) -> None:
    """Indented JSON; NaN and infinity are refused, as JSON has none."""
    write_atomically(path, (json.dumps(value, indent=2, allow_nan=False) + "\n").encode())


def csv_bytes(columns: Mapping[str, list[Any]]) -> bytes:
    """CSV with a header; numbers to 12 significant digits, an empty cell for None."""
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(zip(*([csv_cell(value) for value in values] for values in columns.values()), strict=True))
    return stream.getvalue().encode()


def csv_cell(value: Any) -> str:
    """A value as it stands in a CSV file."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    return format(value, ".12g") if isinstance(value, float) else str(value)


def _parquet_bytes(columns: Columns) -> bytes:
    import pyarrow as pa
    import pyarrow.parquet as pq

    types = (pa.float64(), pa.string(), pa.int64(), pa.int64(), pa.string())
    schema = pa.schema(list(zip(columns, types, strict=True)))
    sink = pa.BufferOutputStream()
    pq.write_table(pa.table(columns, schema=schema), sink)
    return bytes(sink.getvalue())


def digests(folder: Path) -> dict[str, str]:
    """SHA-256 of the files that the same scenario gives again, byte by byte."""
    present = [name for name in DIGESTED if (folder / name).exists()]
    return {name: hashlib.sha256((folder / name).read_bytes()).hexdigest() for name in present}


def environment() -> dict[str, Any]:
    """What the run ran on: package versions, platform, git revision of the working directory if there is one."""
    versions = {}
    for package in PACKAGES:
        try:
            versions[package] = version(package)
        except PackageNotFoundError:
            versions[package] = "unknown"
    return {**versions, "python": platform.python_version(), "platform": platform.platform(), "git": _git_revision()}


def _git_revision() -> str | None:
    try:
        command = ["git", "rev-parse", "HEAD"]
        done = subprocess.run(command, capture_output=True, text=True, timeout=5, check=False)  # noqa: S603
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout.strip() or None if done.returncode == 0 else None
