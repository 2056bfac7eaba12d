"""The ledger: what happened in a run and what it cost, row by row."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
import numpy.typing as npt

from edgefl.core.row_store import Block, RowStore
from edgefl.records.columns import (
    DEVICE_COLUMNS,
    EVENT_COLUMNS,
    ROUND_COLUMNS,
    ResultColumn,
    check_known,
    fixed_names,
)
from edgefl.records.result_files import ResultFile

RoundRow = Mapping[str, Any]
Columns = dict[str, list[Any]]
Event = tuple[float, str, int, int, str]

MOST_LOOSE_EVENTS = 4096  # before they become columns, which take a fifth of the memory


class Ledger:
    """Records finished rounds; its entries never change.

    A round is entered when it ends, and its row is final. Later facts are entries of their own, which are merged when
    rows are read: evaluations of models, which run in the background; devices that arrive or leave between rounds; the
    cost of participations that the end of the run cuts off.

    Args:
        folder: where a file without a name takes participants and events once they need much memory; None: memory
            holds all of them.
        added: columns that members of the run add to those of `columns.csv`, see `added_columns.py`.
    """

    def __init__(self, folder: Path | None = None, added: Iterable[ResultColumn] = ()) -> None:
        self._added = tuple(added)
        self._closed: list[RoundRow] = []
        self._evaluations: dict[int, RoundRow] = {}  # by row number
        self._additions: defaultdict[int, list[Mapping[str, float]]] = defaultdict(list)  # by row number
        self._participants = RowStore(folder)
        self._events = RowStore(folder)
        self._loose: list[Event] = []  # the last events in order, not in `_events` yet
        self._pending: list[Event] = []  # events since the last round ended, in any order
        self._rows: dict[ResultFile, list[tuple[Any, ...]]] = {}  # of the tables kept by rows

    @property
    def rounds(self) -> list[RoundRow]:
        """All rows, merged with later entries; read-only."""
        return [self.row(number) for number in range(len(self._closed))]

    def row(self, number: int) -> RoundRow:
        """Return a row by its number, from 0, merged with later entries; read-only."""
        merged = dict(self._closed[number])
        for addition in self._additions.get(number, ()):
            for name, more in addition.items():
                merged[name] = merged[name] + more
        merged.update(self._evaluations.get(number, {}))
        return MappingProxyType(merged)

    @property
    def finished(self) -> int:
        """The number of finished rounds."""
        return len(self._closed)

    @property
    def last_row(self) -> RoundRow | None:
        """The row of the last finished round; None before the first one."""
        return self.row(self.finished - 1) if self._closed else None

    @property
    def time_s(self) -> float:
        """Virtual time at the end of the last finished round [s]."""
        last_row = self.last_row
        return 0.0 if last_row is None else float(last_row["time_s"])

    @property
    def energy_j(self) -> float:
        """Energy that all devices have spent in the finished rounds [J]."""
        last_row = self.last_row
        return 0.0 if last_row is None else float(last_row["energy_j"])

    @property
    def participants(self) -> npt.NDArray[np.int64]:
        """Ids [n] of the devices that took part in any finished round, ascending."""
        found = np.empty(0, dtype=np.int64)
        for block in self._participants.blocks(["device"]):
            found = np.union1d(found, block.columns["device"])
        return found

    def participant_blocks(self, names: Sequence[str]) -> Iterator[Block]:
        """Yield columns of all participants; an entry is a round, or the rest cut off by the end of the run."""
        return self._participants.blocks(names)

    def event(self, time_s: float, kind: str, device: int = -1, cell: int = 0, detail: str = "") -> None:
        """Record an event; device -1 is the server."""
        self._pending.append((time_s, kind, device, cell, detail))

    def close_round(self, row: RoundRow, devices: Mapping[str, npt.NDArray[Any]], traced: Iterable[str] = ()) -> int:
        """Enter a round, its participants (a column [n] each, in order of their ids) and its events.

        Args:
            row: the round's columns.
            devices: the participants' columns [n].
            traced: the columns that the algorithm adds; one from outside the package may choose any name.

        Returns:
            The number of the row, from 0.

        Raises:
            KeyError: a column is unknown (edgefl.records.columns).
            RunError: the file of participants and events cannot be written.
        """
        check_known(row.keys() - set(traced), (*ROUND_COLUMNS, *self._added))
        self._closed.append(MappingProxyType(dict(row)))
        self.enter_participants(devices)
        return len(self._closed) - 1

    def enter_participants(self, devices: Mapping[str, npt.NDArray[Any]]) -> None:
        """Enter participants and the events so far, below those of the last round.

        Raises:
            KeyError: a column is unknown (edgefl.records.columns).
            RunError: the file of participants and events cannot be written; they stay in memory.
        """
        check_known(devices, (*DEVICE_COLUMNS, *self._added))
        self._participants.append(devices)
        # Sorted by time, kind and device: the event loop's order of simultaneous events leaves no trace.
        self._loose += sorted(self._pending)
        self._pending.clear()
        if len(self._loose) >= MOST_LOOSE_EVENTS:
            self._store_events()
        # Last, as the disk may be full.
        self._participants.make_room()
        self._events.make_room()

    def _store_events(self) -> None:
        columns = _columns(self._loose, fixed_names(EVENT_COLUMNS))
        self._events.append({column.name: np.array(columns[column.name], column.type) for column in EVENT_COLUMNS})
        self._loose.clear()

    def add_to_last_round(self, numbers: Mapping[str, float]) -> None:
        """Add numbers to columns of the last round, which has ended."""
        self._additions[len(self._closed) - 1].append(MappingProxyType(dict(numbers)))

    def enter_evaluation(self, number: int, columns: RoundRow) -> None:
        """Enter the results of evaluating a round's model; `number` is that of the round's row."""
        self._evaluations[number] = MappingProxyType({**self._evaluations.get(number, {}), **columns})

    def enter_rows(self, table: ResultFile, session: int, number: int, rows: Iterable[tuple[Any, ...]]) -> None:
        """Record rows of a round, the columns after session and round, in a table that the ledger keeps by rows."""
        entered = [(session, number, *row) for row in rows]
        if entered:
            self._rows.setdefault(table, []).extend(entered)

    def round_columns(self) -> Columns:
        """Return the rounds as columns; optional columns come last."""
        rows = self.rounds
        names = dict.fromkeys([*fixed_names(ROUND_COLUMNS), *(name for row in rows for name in row)])  # in order
        return {name: [row.get(name) for row in rows] for name in names}

    @property
    def device_names(self) -> tuple[str, ...]:
        """The names of the participants' columns; optional ones come last."""
        return tuple(dict.fromkeys([*fixed_names(DEVICE_COLUMNS), *self._participants.names]))

    def device_blocks(self) -> Iterator[Columns]:
        """Yield the participants as columns, some rounds at a time."""
        return map(_lists, self._participants.blocks(self.device_names))

    def device_columns(self) -> Columns:
        """Return the participants as columns, round after round."""
        return _appended(self.device_names, self.device_blocks())

    @property
    def tables(self) -> tuple[ResultFile, ...]:
        """The tables that are kept by rows and have any."""
        return tuple(self._rows)

    def columns_by_rows(self, table: ResultFile) -> Columns:
        """Return a table that is kept by rows as columns, round after round."""
        return _columns(self._rows.get(table, ()), [column.name for column in table.columns])

    def event_blocks(self) -> Iterator[Columns]:
        """Yield the events as columns in order of time, some thousands at a time."""
        yield from map(_lists, self._events.blocks())
        if self._loose:
            yield _columns(self._loose, fixed_names(EVENT_COLUMNS))

    def event_columns(self) -> Columns:
        """Return the events as columns, in order of time."""
        return _appended(fixed_names(EVENT_COLUMNS), self.event_blocks())


def _lists(block: Block) -> Columns:
    return {name: values.tolist() for name, values in block.columns.items()}


def _appended(names: Sequence[str], blocks: Iterable[Columns]) -> Columns:
    whole: Columns = {name: [] for name in names}
    for block in blocks:
        for name in names:
            whole[name] += block[name]
    return whole


def _columns(rows: Sequence[tuple[Any, ...]], names: Sequence[str]) -> Columns:
    return {name: [row[place] for row in rows] for place, name in enumerate(names)}
