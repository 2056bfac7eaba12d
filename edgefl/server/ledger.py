"""The ledger: what happened and what it cost, row by row; the one round_key where results pile up."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

ROUND_COLUMNS = (
    "session",
    "round",
    "time_s",
    "duration_s",
    "energy_j",
    "round_energy_j",
    "selected",
    "received",
    "late",
    "departed",
    "bytes_down",
    "bytes_up",
    "train_loss",
    "test_loss",
    "test_accuracy",
    "failed",
    "wasted_j",
    "present",
    "arrivals",
    "departures",
)
DEVICE_COLUMNS = (
    "session",
    "round",
    "device",
    "cell",
    "distance_m",
    "los",
    "pathloss_db",
    "download_s",
    "compute_s",
    "upload_s",
    "wait_s",
    "rx_energy_j",
    "cpu_energy_j",
    "tx_energy_j",
    "status",
    "bytes_down",
    "bytes_up",
    "x_m",
    "y_m",
    "shadowing_db",
    "idle_energy_j",
    "start_s",
)
ENERGY_COLUMNS = ("rx_energy_j", "cpu_energy_j", "tx_energy_j", "idle_energy_j")  # all that a device spends
CONTRIBUTION_COLUMNS = ("session", "round", "device", "contribution")
EVENT_COLUMNS = ("time_s", "kind", "device", "cell", "detail")

Row = dict[str, Any]
Columns = dict[str, list[Any]]


class Ledger:
    """Finished rounds only: a round is entered whole, when it ends."""

    def __init__(self) -> None:
        self.rounds: list[Row] = []
        self._devices: list[Mapping[str, npt.NDArray[Any]]] = []
        self._events: list[tuple[float, str, int, int, str]] = []
        self._pending: list[tuple[float, str, int, int, str]] = []
        self._contributions: list[tuple[int, int, int, float]] = []

    @property
    def time_s(self) -> float:
        """Virtual time at the end of the last finished round."""
        return float(self.rounds[-1]["time_s"]) if self.rounds else 0.0

    @property
    def energy_j(self) -> float:
        """Energy that all devices have spent in the finished rounds."""
        return float(self.rounds[-1]["energy_j"]) if self.rounds else 0.0

    @property
    def participants(self) -> npt.NDArray[np.int64]:
        """Ids [n] of the devices that have taken part in any finished round, in order."""
        ids = [part["device"] for part in self._devices]
        return np.unique(np.concatenate(ids)) if ids else np.empty(0, dtype=np.int64)

    def event(self, time_s: float, kind: str, device: int = -1, cell: int = 0, detail: str = "") -> None:
        """Note an event; device -1 is the server."""
        self._pending.append((time_s, kind, device, cell, detail))

    def close_round(self, row: Row, devices: Mapping[str, npt.NDArray[Any]]) -> None:
        """Enter a round, its participants (a column [n] each, in order of their ids) and its events."""
        self.rounds.append(row)
        self.add(devices)

    def add(self, devices: Mapping[str, npt.NDArray[Any]]) -> None:
        """Enter participants, and the events so far, below those of the last round."""
        self._devices.append(devices)
        self._events += sorted(self._pending)  # by time, kind and device: simultaneous events have one order
        self._pending.clear()

    def contribute(self, session: int, number: int, values: Iterable[tuple[int, float]]) -> None:
        """Note what each device has contributed to a round."""
        self._contributions += [(session, number, device, value) for device, value in values]

    def round_columns(self) -> Columns:
        """Rounds as columns; keys beyond the fixed ones (the scalar problem's) come last."""
        names = list(dict.fromkeys((*ROUND_COLUMNS, *(key for row in self.rounds for key in row))))
        return {name: [row.get(name) for row in self.rounds] for name in names}

    def device_columns(self) -> Columns:
        """Participants as columns, round after round."""
        if not self._devices:
            return {name: [] for name in DEVICE_COLUMNS}
        names = dict.fromkeys((*DEVICE_COLUMNS, *self._devices[0]))  # the fixed ones first
        return {name: np.concatenate([part[name] for part in self._devices]).tolist() for name in names}

    def contribution_columns(self) -> Columns:
        """Contributions as columns, round after round."""
        columns = zip(*self._contributions, strict=True) if self._contributions else ([] for _ in CONTRIBUTION_COLUMNS)
        return {name: list(column) for name, column in zip(CONTRIBUTION_COLUMNS, columns, strict=True)}

    def event_columns(self) -> Columns:
        """Events as columns, in order of time."""
        columns = zip(*self._events, strict=True) if self._events else ([] for _ in EVENT_COLUMNS)
        return {name: list(column) for name, column in zip(EVENT_COLUMNS, columns, strict=True)}
