"""Append-only rows: columns in blocks, in memory while they are few, then in a file without a name."""

import os
import secrets
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any, BinaryIO, NamedTuple
from weakref import finalize

import numpy as np
import numpy.typing as npt

from edgefl.core.arrays import Ints
from edgefl.core.errors import RunError
from edgefl.core.files import HALF_WRITTEN, TOKEN_BYTES

BLOCK_ROWS = 8192  # in a block
BLOCK_ENTRIES = 1024  # in a block, as each small array has an overhead
MOST_HELD_BYTES = 2**25  # of blocks in memory, where rows can move to a file
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


class _StoredColumn(NamedTuple):
    """A column of a block in as few bytes as its values need."""

    values_type: np.dtype[Any]
    packed_type: np.dtype[Any]
    packed: Column | None  # None: in the file
    place: int = 0  # in the file
    size: int = 0  # in the file, in bytes


@dataclass
class _StoredBlock:
    """A block whose columns are in memory or in the file."""

    first: int
    lengths: Ints
    columns: Mapping[str, _StoredColumn]


class RowStore:
    """Rows in the order of their addition; those of an entry are added together.

    Args:
        folder: where a file without a name takes the rows once they need much memory; None: memory holds all of them.
    """

    def __init__(self, folder: Path | None = None) -> None:
        self._folder = folder
        self._file: BinaryIO | None = None
        self._file_end = 0
        self.names: tuple[str, ...] = ()  # the columns of the first entry
        self._entries = 0
        self._blocks: list[_StoredBlock] = []
        self._recent: list[Entry] = []  # entries that are in no block yet
        self._recent_rows = 0
        self._held: list[_StoredBlock] = []  # the blocks in memory
        self._held_bytes = 0

    def append(self, entry: Entry) -> None:
        """Add rows, in memory; `make_room` moves them on."""
        if self._entries == 0:
            self.names = tuple(entry)
        if self._recent and entry.keys() != self._recent[0].keys():
            self._make_block()
        self._recent.append(MappingProxyType(dict(entry)))
        self._recent_rows += _length(entry)
        self._entries += 1
        if self._recent_rows >= BLOCK_ROWS or len(self._recent) >= BLOCK_ENTRIES:
            self._make_block()

    def make_room(self) -> None:
        """Move the rows to the file if they need much memory.

        Raises:
            RunError: the file cannot be written; the rows stay where they are.
        """
        if self._folder is None or self._held_bytes <= MOST_HELD_BYTES:
            return
        with self._in_one_line("written"):
            if self._file is None:
                self._file = _unnamed_file(self._folder)
                finalize(self, self._file.close)
            while self._held:
                block = self._held[-1]
                block.columns = {name: self._filed(self._file, column) for name, column in block.columns.items()}
                self._held.pop()
        self._held_bytes = 0

    def blocks(self, names: Sequence[str] | None = None) -> Iterator[Block]:
        """Yield all rows, block by block.

        Args:
            names: the columns that are read; None: all.

        Raises:
            RunError: the file cannot be read.
            KeyError: an entry lacks one of the columns.
        """
        for stored in self._blocks:
            yield Block(stored.first, stored.lengths, self._read(stored, names))
        if self._recent:
            yield Block(self._first_recent, _lengths(self._recent), _joined(self._recent, names))

    @property
    def _first_recent(self) -> int:
        return self._entries - len(self._recent)

    def _make_block(self) -> None:
        columns = {}
        for name, values in _joined(self._recent, None).items():
            packed = _packed(values)
            columns[name] = _StoredColumn(values.dtype, packed.dtype, packed)
            self._held_bytes += packed.nbytes
        block = _StoredBlock(self._first_recent, _lengths(self._recent), columns)
        self._blocks.append(block)
        self._held.append(block)
        self._recent = []
        self._recent_rows = 0

    def _filed(self, file: BinaryIO, column: _StoredColumn) -> _StoredColumn:
        """Write a column to the end of the file, and return it without its values."""
        if column.packed is None:
            return column
        content = column.packed.tobytes()
        rest = memoryview(content)
        place = self._file_end
        while rest:
            # Not at the position of the open file, which forked processes share.
            written = os.pwrite(file.fileno(), rest, place)
            place += written
            rest = rest[written:]
        begin = self._file_end
        self._file_end = place
        return column._replace(packed=None, place=begin, size=len(content))

    def _read(self, block: _StoredBlock, names: Sequence[str] | None) -> Entry:
        """Return columns of all rows of a block; None: all columns."""
        if names is None:
            names = tuple(block.columns)
        return {name: self._values(block.columns[name]) for name in names}

    def _values(self, column: _StoredColumn) -> Column:
        packed = column.packed
        if packed is None:
            assert self._file is not None  # noqa: S101 - the column was written to it
            with self._in_one_line("read"):
                content = os.pread(self._file.fileno(), column.size, column.place)
            packed = np.frombuffer(content, dtype=column.packed_type)
        return _unpacked(packed, column.values_type)

    @contextmanager
    def _in_one_line(self, verb: str) -> Iterator[None]:
        """Turn an error of the system into a line for the user."""
        try:
            yield
        except OSError as error:
            raise RunError(f"{self._folder}: the rows of the run cannot be {verb}: {error.strerror}") from None


def _unnamed_file(folder: Path) -> BinaryIO:
    """Open a file that disappears when the process ends, however it ends."""
    folder.mkdir(parents=True, exist_ok=True)
    # Some file systems give it a name for a moment: that of a half-written file.
    suffix = f".{secrets.token_hex(TOKEN_BYTES)}{HALF_WRITTEN}"
    file: BinaryIO = tempfile.TemporaryFile(dir=folder, prefix=".rows.", suffix=suffix, buffering=0)  # noqa: SIM115
    return file


def _length(entry: Entry) -> int:
    return next((len(values) for values in entry.values()), 0)


def _lengths(entries: Sequence[Entry]) -> Ints:
    return np.array([_length(entry) for entry in entries], dtype=np.int64)


def _joined(entries: Sequence[Entry], names: Sequence[str] | None) -> Entry:
    """Return columns of all rows of entries that have the same columns; None: all columns."""
    if names is None:
        names = tuple(entries[0])
    return {name: np.concatenate([entry[name] for entry in entries]) for name in names}


def _packed(values: Column) -> Column:
    """Return values in as few bytes as they need: ASCII as bytes, whole numbers by the smallest type that has them."""
    if values.dtype.kind == "U":
        characters = values.view(np.uint32)
        if characters.max(initial=0) > LAST_ASCII:
            return values
        # `astype` would convert text by text, which takes 200 times as long.
        return characters.astype(np.uint8).view(f"S{values.dtype.itemsize // CHARACTER_BYTES}")
    if values.dtype.kind == "i" and values.size:
        least, most = values.min(), values.max()
        for kind in SMALLER_INTEGERS:
            limits = np.iinfo(kind)
            if limits.min <= least and most <= limits.max:
                return values.astype(kind)
    return values


def _unpacked(packed: Column, values_type: np.dtype[Any]) -> Column:
    if packed.dtype.kind == "S":
        return packed.view(np.uint8).astype(np.uint32).view(values_type)
    return packed.astype(values_type, copy=False)
