"""The ledger: what happened and what it cost, row by row; the one round_key where results pile up."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from edgefl.server.columns import (
    CONTRIBUTION_COLUMNS,
    DEVICE_COLUMNS,
    EVENT_COLUMNS,
    ROUND_COLUMNS,
    check_known,
    fixed_names,
)

RoundRow = dict[str, Any]
Columns = dict[str, list[Any]]


class Ledger:
    """Finished rounds only: a round is entered whole, when it ends."""

    def __init__(self) -> None:
        self.rounds: list[RoundRow] = []
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

    def close_round(self, row: RoundRow, devices: Mapping[str, npt.NDArray[Any]], traced: Iterable[str] = ()) -> None:
        """Enter a round, its participants (a column [n] each, in order of their ids) and its events.

        Args:
            row: the round's columns.
            devices: the participants' columns [n].
            traced: which columns of the row an algorithm has traced; algorithms from outside may choose any name.

        Raises:
            KeyError: a column stands in no table (edgefl.server.columns).
        """
        check_known(row.keys() - set(traced), ROUND_COLUMNS)
        self.rounds.append(row)
        self.add(devices)

    def add(self, devices: Mapping[str, npt.NDArray[Any]]) -> None:
        """Enter participants, and the events so far, below those of the last round.

        Raises:
            KeyError: a column stands in no table (edgefl.server.columns).
        """
        check_known(devices, DEVICE_COLUMNS)
        self._devices.append(devices)
        self._events += sorted(self._pending)  # by time, kind and device: simultaneous events have one order
        self._pending.clear()

    def contribute(self, session: int, number: int, values: Iterable[tuple[int, float]]) -> None:
        """Note what each device has contributed to a round."""
        self._contributions += [(session, number, device, value) for device, value in values]

    def round_columns(self) -> Columns:
        """Return the rounds as columns; those that not every run has come last."""
        names = dict.fromkeys(fixed_names(ROUND_COLUMNS))  # a dict keeps the order and drops what comes twice
        for row in self.rounds:
            names |= dict.fromkeys(row)
        return {name: [row.get(name) for row in self.rounds] for name in names}

    def device_columns(self) -> Columns:
        """Return the participants as columns, round after round."""
        names = dict.fromkeys(fixed_names(DEVICE_COLUMNS))
        if not self._devices:
            return {name: [] for name in names}
        names |= dict.fromkeys(self._devices[0])
        return {name: np.concatenate([part[name] for part in self._devices]).tolist() for name in names}

    def contribution_columns(self) -> Columns:
        """Return the contributions as columns, round after round."""
        return _columns(self._contributions, fixed_names(CONTRIBUTION_COLUMNS))

    def event_columns(self) -> Columns:
        """Return the events as columns, in order of time."""
        return _columns(self._events, fixed_names(EVENT_COLUMNS))


def _columns(rows: Sequence[tuple[Any, ...]], names: Sequence[str]) -> Columns:
    """Return rows of values as one column for each name."""
    return {name: [row[place] for row in rows] for place, name in enumerate(names)}
