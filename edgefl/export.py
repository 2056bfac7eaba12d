"""Energy/latency tables of a result folder, for other programs."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from edgefl.errors import InputError
from edgefl.results import csv_bytes

PHASES = (
    ("download", "download_s", "rx_energy_j", "bytes_down"),
    ("compute", "compute_s", "cpu_energy_j", None),
    ("upload", "upload_s", "tx_energy_j", "bytes_up"),
    ("wait", "wait_s", "idle_energy_j", None),
)


def export(folder: Path, form: str) -> bytes:
    """The content of an exported file.

    Args:
        folder: a result folder.
        form: csv or json.

    Raises:
        InputError: no result folder, or files that are not a run's.
    """
    try:
        return FORMATS[form](folder)
    except (KeyError, TypeError, ValueError, csv.Error) as error:
        raise InputError(f"{folder}: its files are not those of a finished run ({error!r})") from None


def _csv(folder: Path) -> bytes:
    """One row a device, round and phase: when it began, how long it took, its joules and bytes."""
    began = {(row["session"], row["round"]): _begin(row) for row in _rows(folder / "rounds.csv")}
    names = ("session", "round", "device", "phase", "start_s", "duration_s", "energy_j", "bytes")
    columns: dict[str, list[Any]] = {name: [] for name in names}
    for row in _rows(folder / "devices.csv"):
        start = began[row["session"], row["round"]]
        for phase, duration, energy, count in PHASES:
            spent = float(row.get(energy, 0.0))
            size = int(row[count]) if count else 0
            values = (row["session"], row["round"], row["device"], phase, start, float(row[duration]), spent, size)
            for name, value in zip(names, values, strict=True):
                columns[name].append(value)
            start += float(row[duration])
    return csv_bytes(columns)


def _begin(row: dict[str, str]) -> float:
    return float(row["time_s"]) - float(row["duration_s"])


def _json(folder: Path) -> bytes:
    """Everything: summary, rounds and devices, numbers as numbers."""
    rounds, devices = _rows(folder / "rounds.csv"), _rows(folder / "devices.csv")
    value = {
        "manifest": _read_json(folder / "manifest.json"),
        "summary": _read_json(folder / "summary.json"),
        "rounds": [{key: _value(cell) for key, cell in row.items()} for row in rounds],
        "devices": [{key: _value(cell) for key, cell in row.items()} for row in devices],
    }
    return (json.dumps(value, indent=1, allow_nan=False) + "\n").encode()


def _value(cell: str) -> Any:
    """A CSV cell as JSON would have it."""
    if cell in {"", "true", "false"}:
        return {"": None, "true": True, "false": False}[cell]
    for kind in (int, float):
        try:
            return kind(cell)
        except ValueError:
            continue
    return cell


def _rows(path: Path) -> list[dict[str, str]]:
    return list(csv.DictReader(_text(path).splitlines()))


def _read_json(path: Path) -> Any:
    return json.loads(_text(path))


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except OSError:
        raise InputError(f"{path.parent}: is no finished result folder: {path.name} is missing") from None


FORMATS: dict[str, Callable[[Path], bytes]] = {"csv": _csv, "json": _json}
