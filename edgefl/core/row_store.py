"""Rows that are only ever added to: columns in blocks, in memory while they are few, then in a file without a name."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
import numpy.typing as npt

from edgefl.core.arrays import Ints
from edgefl.core.unnamed_file import UnnamedFile

BLOCK_ROWS = 8192  # of which a block is made
BLOCK_ENTRIES = 1024  # or of which, as small arrays have an overhead of their own
MOST_HELD_BYTES = 2**25  # of the blocks that a store with a folder keeps in memory
LAST_ASCII = 127
CHARACTER_BYTES = 4  # of NumPy's texts

SMALLER_INTEGERS = (np.int8, np.int16, np.int32)

Column = npt.NDArray[Any]
Entry = Mapping[str, Column]  # rows that are added together, as columns [n]


@dataclass(frozen=True)
class Block:
    """Consecutive entries, put together."""

    first: int  # number of its first entry
    lengths: Ints  # rows of each entry
    columns: Entry  # of all its rows


class RowStore:
    """Rows in the order in which they were added; those of an entry are added together.

    Args:
        folder: where a file without a name takes the rows once they take much memory; None: memory holds all of them.
    """

    def __init__(self, folder: Path | None = None) -> None:
        self._folder = folder
        self._file: UnnamedFile | None = None
        self._names: tuple[str, ...] = ()
        self._entries = 0
        self._blocks: list[_StoredBlock] = []
        self._recent: list[Entry] = []  # entries of which no block has been made yet
        self._recent_rows = 0
        self._held: list[_StoredBlock] = []  # the blocks that are in memory
        self._held_bytes = 0

    @property
    def names(self) -> tuple[str, ...]:
        """The columns of the first entry; none before there is one."""
        return self._names

    def append(self, entry: Entry) -> None:
        """Add rows, in memory; `make_room` moves them on."""
        if self._entries == 0:
            self._names = tuple(entry)
        if self._recent and entry.keys() != self._recent[0].keys():
            self._make_block()
        self._recent.append(MappingProxyType(dict(entry)))
        self._recent_rows += _length(entry)
        self._entries += 1
        if self._recent_rows >= BLOCK_ROWS or len(self._recent) >= BLOCK_ENTRIES:
            self._make_block()

    def make_room(self) -> None:
        """Move the rows to the file if they take much memory.

        Raises:
            RunError: the file cannot be written; the rows stay where they are.
        """
        if self._folder is None or self._held_bytes <= MOST_HELD_BYTES:
            return
        if self._file is None:
            self._file = UnnamedFile(self._folder, "the rows of the run")
        while self._held:
            block = self._held[-1]
            held_bytes = block.held_bytes
            block.move_to(self._file)
            self._held.pop()
            self._held_bytes -= held_bytes

    def blocks(self, names: Sequence[str] | None = None) -> Iterator[Block]:
        """Yield all rows, block by block.

        Args:
            names: the columns that are read; None: all.

        Raises:
            RunError: the file cannot be read.
            KeyError: an entry lacks one of the columns.
        """
        for stored in self._blocks:
            yield Block(stored.first, stored.lengths, stored.read(names))
        if self._recent:
            columns = _joined(self._recent, names)
            yield Block(self._first_recent, _lengths(self._recent), columns)

    def since(self, entered: int) -> list[Entry]:
        """Return the entries later than the first `entered` ones, in order; read-only.

        Raises:
            RunError: the file cannot be read.
        """
        found: list[Entry] = []
        for stored in self._blocks:
            if stored.first + len(stored.lengths) > entered:
                found += stored.entries()[max(entered - stored.first, 0) :]
        return found + self._recent[max(entered - self._first_recent, 0) :]

    @property
    def _first_recent(self) -> int:
        return self._entries - len(self._recent)

    def _make_block(self) -> None:
        """Make a block of the recent entries."""
        columns = {name: _HeldColumn(values) for name, values in _joined(self._recent, None).items()}
        block = _StoredBlock(self._first_recent, _lengths(self._recent), columns)
        self._blocks.append(block)
        self._held.append(block)
        self._held_bytes += block.held_bytes
        self._recent = []
        self._recent_rows = 0


class _StoredBlock:
    """A block whose columns are in memory or in a file."""

    def __init__(self, first: int, lengths: Ints, columns: Mapping[str, _HeldColumn]) -> None:
        self.first = first
        self.lengths = lengths
        self.held_bytes = sum(column.packed.nbytes for column in columns.values())
        self._columns: Mapping[str, _HeldColumn | _FiledColumn] = columns

    def read(self, names: Sequence[str] | None) -> Entry:
        """Return columns of all rows; None: all columns."""
        if names is None:
            names = tuple(self._columns)
        return {name: self._columns[name].read() for name in names}

    def entries(self) -> list[Entry]:
        """Return the entries that the block was made of; read-only."""
        columns = self.read(None)
        ends = np.cumsum(self.lengths).tolist()
        found: list[Entry] = []
        for begin, end in zip([0, *ends[:-1]], ends, strict=True):
            found.append(MappingProxyType({name: values[begin:end] for name, values in columns.items()}))
        return found

    def move_to(self, file: UnnamedFile) -> None:
        """Move the columns from memory to a file."""
        self._columns = {name: column.moved_to(file) for name, column in self._columns.items()}
        self.held_bytes = 0


class _HeldColumn:
    """A column in memory, in as few bytes as its values need."""

    def __init__(self, values: Column) -> None:
        self.packed = _packed(values)
        self._type = values.dtype

    def read(self) -> Column:
        """Return its values."""
        return _unpacked(self.packed, self._type)

    def moved_to(self, file: UnnamedFile) -> _FiledColumn:
        """Return the same column in a file."""
        return _FiledColumn(file, self.packed, self._type)


class _FiledColumn:
    """A column in a file."""

    def __init__(self, file: UnnamedFile, packed: Column, wanted: np.dtype[Any]) -> None:
        self._file = file
        self._place = file.append(packed.tobytes())
        self._size = packed.nbytes
        self._packed_type = packed.dtype
        self._type = wanted

    def read(self) -> Column:
        """Return its values."""
        content = self._file.read(self._place, self._size)
        return _unpacked(np.frombuffer(content, dtype=self._packed_type), self._type)

    def moved_to(self, _file: UnnamedFile) -> _FiledColumn:
        """Return itself: it has been moved."""
        return self


def _length(entry: Entry) -> int:
    """Return how many rows an entry has."""
    for values in entry.values():
        return len(values)
    return 0


def _lengths(entries: Sequence[Entry]) -> Ints:
    """Return how many rows each of the entries has."""
    return np.array([_length(entry) for entry in entries], dtype=np.int64)


def _joined(entries: Sequence[Entry], names: Sequence[str] | None) -> Entry:
    """Return columns of all rows of entries that have the same columns; None: all columns."""
    if names is None:
        names = tuple(entries[0])
    return {name: np.concatenate([entry[name] for entry in entries]) for name in names}


def _packed(values: Column) -> Column:
    """Return values in as few bytes as they need: texts as UTF-8, whole numbers by the smallest type that has them."""
    if values.dtype.kind == "U":
        characters = values.view(np.uint32)
        if characters.max(initial=0) > LAST_ASCII:
            return np.char.encode(values, "utf-8")
        # ASCII's characters are their own UTF-8; to encode them text by text takes many times as long
        return characters.astype(np.uint8).view(f"S{values.dtype.itemsize // CHARACTER_BYTES}")
    if values.dtype.kind == "i" and values.size:
        least, most = values.min(), values.max()
        for kind in SMALLER_INTEGERS:
            limits = np.iinfo(kind)
            if limits.min <= least and most <= limits.max:
                return values.astype(kind)
    return values


def _unpacked(packed: Column, wanted: np.dtype[Any]) -> Column:
    """Return values as they were before they were packed."""
    if wanted.kind == "U":
        characters = packed.view(np.uint8)
        if characters.max(initial=0) > LAST_ASCII:
            return np.char.decode(packed, "utf-8").astype(wanted, copy=False)
        return characters.astype(np.uint32).view(wanted)
    return packed.astype(wanted, copy=False)
