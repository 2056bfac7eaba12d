"""The states that clients keep between their participations."""

import errno
import shutil
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Literal

import numpy as np
import torch
from torch import Tensor

from edgefl.core.arrays import Ids, Ints
from edgefl.core.errors import RunError
from edgefl.learning.learner.memory import budget

File = IO[bytes]
Home = Literal["auto", "device", "host", "disk"]

HOST = torch.device("cpu")
BLOCK_BYTES = 2**24  # memory of a block of rows; a larger row gets a separate block
NO_SLOT = -1  # the slot of a client that has never taken part
PINNED_BLOCK_BYTES = 2**30  # torch rounds page-locked memory up to a power of two: large blocks waste little of it


class StateStore:
    """Keeps vectors per client from one participation to the next.

    Home "auto" is chosen once, by what the whole population would need (`clients` times the bytes of one client): the
    device if that fits into its budget, else the host, else the disk. So a run cannot outgrow its home half-way. On a
    CPU, "device" and "host" are the same memory.

    Args:
        initial: the vectors [size] of a client that has never taken part, all on the training device.
        clients: size of the population; ids are 0 .. clients - 1.
        home: the place where states are kept.
        folder: of the file of the home "disk", on a real disk; None: the system's temporary folder. The file has no
            name, so nothing is left behind, however the process ends.
        device_bytes: the budget of the home "device"; None: half of the free memory.
        host_bytes: the same for "host".

    Raises:
        ValueError: `initial` has no vectors, or they are not one-dimensional and on one device.
        RunError: the file of the home "disk" cannot be created.
    """

    def __init__(
        self,
        *,
        initial: Mapping[str, Tensor],
        clients: int,
        home: Home = "auto",
        folder: Path | None = None,
        device_bytes: int | None = None,
        host_bytes: int | None = None,
    ) -> None:
        self._initial = {name: vector.detach().clone() for name, vector in initial.items()}
        devices = {vector.device for vector in self._initial.values()}
        if len(devices) != 1 or any(vector.ndim != 1 for vector in self._initial.values()):
            raise ValueError("a client's state must be one vector or more, one-dimensional, all on one device")
        (device,) = devices
        self.home = home
        # By the population, not by the clients that have taken part: a home that fills up half-way would end the run.
        if home == "auto":
            total_bytes = clients * sum(vector.nbytes for vector in self._initial.values())
            self.home = _choose_home(total_bytes, device, device_bytes, host_bytes)
        self._slots = np.full(clients, NO_SLOT, dtype=np.int64)  # the row of each client in all tables
        self._count = 0  # clients with a row
        self._tables: dict[str, _MemoryTable | _DiskTable] = {}
        for name, vector in self._initial.items():
            if self.home == "disk":
                self._tables[name] = _DiskTable(vector, folder or Path(tempfile.gettempdir()))
            else:
                place = HOST
                if self.home == "device":
                    place = device
                self._tables[name] = _MemoryTable(vector, clients, place)

    @property
    def bytes(self) -> int:
        """Bytes of memory or disk that are taken so far."""
        return sum(table.bytes for table in self._tables.values())

    @property
    def names(self) -> list[str]:
        """Names of the vectors."""
        return list(self._initial)

    def ids(self) -> Ids:
        """Return the clients that have taken part, ascending."""
        return np.flatnonzero(self._slots != NO_SLOT)

    def gather(self, ids: Ids) -> dict[str, Tensor]:
        """Return copies of the states of C clients, [C, size] each, on the training device."""
        slots = self._slots_of(ids).tolist()
        states = {}
        for name, initial in self._initial.items():
            states[name] = initial.new_empty(len(slots), len(initial))
            # row by row, straight to its place: each home copies in its own way
            for slot, into in zip(slots, states[name].unbind(), strict=True):
                if slot == NO_SLOT:
                    into.copy_(initial)
                else:
                    self._tables[name].read(slot, into)
        return states

    def mean(self, name: str, ids: Ids, counts: Ints | None = None) -> Tensor:
        """Return the mean of one vector [size] over clients `ids` [n]; each counts `counts` [n] times, or once.

        Clients that never took part count with their initial vector.
        """
        if counts is None:
            counts = np.ones(len(ids), dtype=np.int64)
        slots = self._slots_of(ids)
        initial = self._initial[name]
        table = self._tables[name]
        is_new = slots == NO_SLOT
        total = int(counts[is_new].sum()) * initial
        row = torch.empty_like(initial)  # one at a time: all of them might not fit into the memory
        for slot, count in zip(slots[~is_new].tolist(), counts[~is_new].tolist(), strict=True):
            table.read(slot, row)
            total.add_(row, alpha=count)
        return total / int(counts.sum())

    def scatter(self, ids: Ids, states: Mapping[str, Tensor]) -> None:
        """Replace the states of C clients by [C, size] each.

        Raises:
            IndexError: an id is outside the population.
            ValueError: an id occurs twice, or `states` do not have the names, sizes and types of `initial`.
            RunError: the disk is full.
        """
        slots = self._slots_of(ids)
        if len(np.unique(ids)) < len(ids):
            raise ValueError("a client's id is given twice: give each id once")
        wanted = {name: ((len(ids), len(vector)), vector.dtype) for name, vector in self._initial.items()}
        got = {name: (tuple(value.shape), value.dtype) for name, value in states.items()}
        if got != wanted:
            raise ValueError(f"states must be {wanted}, got {got}")
        new = slots == NO_SLOT
        count = self._count + int(new.sum())
        slots[new] = np.arange(self._count, count)
        for name, table in self._tables.items():
            table.grow(count)
            for slot, value in zip(slots.tolist(), states[name].detach().unbind(), strict=True):
                table.write(slot, value)
        # only now: after a failed write no client has a row that holds something else
        self._slots[ids] = slots
        self._count = count

    def forget(self, names: Iterable[str], ids: Ids | None = None) -> None:
        """Reset some vectors of the clients `ids`, or of all if None, to their initial state.

        Raises:
            IndexError: an id is outside the population.
            RunError: the file cannot be written.
        """
        forgotten = set(names)
        if ids is None and forgotten >= set(self._initial):
            # everything of all clients: no row is written, all are free again
            self._slots[:] = NO_SLOT
            self._count = 0
            return
        slots = self._slots
        if ids is not None:
            slots = self._slots_of(ids)
        for name in forgotten:
            for slot in slots[slots != NO_SLOT].tolist():
                self._tables[name].write(slot, self._initial[name])

    def dump(self, file: File) -> None:
        """Write the clients that have taken part, and their states one after another, so that memory holds only one."""
        ids = self.ids()
        np.save(file, ids, allow_pickle=False)
        for slot in self._slots[ids].tolist():
            for name, initial in self._initial.items():
                row = torch.empty_like(initial, device=HOST)
                self._tables[name].read(slot, row)
                file.write(row.view(torch.uint8).numpy().data)

    def restore(self, file: File) -> None:
        """Read what `dump` has written, into a store without clients."""
        for client in np.load(file, allow_pickle=False).tolist():
            state = {}
            for name, initial in self._initial.items():
                # in a bytearray, as torch warns of tensors on read-only bytes
                row = torch.frombuffer(bytearray(file.read(initial.nbytes)), dtype=initial.dtype)
                state[name] = row.to(initial.device)[None]
            self.scatter(np.array([client]), state)

    def close(self) -> None:
        """Release memory and files; the store cannot be used afterwards."""
        for table in self._tables.values():
            table.close()

    def _slots_of(self, ids: Ids) -> Ids:
        if len(ids) and not 0 <= ids.min() <= ids.max() < len(self._slots):
            raise IndexError(f"clients are 0 .. {len(self._slots) - 1}, got {ids.min()} .. {ids.max()}")
        return self._slots[ids]


class _MemoryTable:
    """A growing table of vectors like `example` in blocks on one device: growing copies nothing."""

    def __init__(self, example: Tensor, limit: int, device: torch.device) -> None:
        self._example = example
        self._limit = limit  # rows at most
        self._device = device
        self._pinned = example.is_cuda and device.type == "cpu"
        block_bytes = BLOCK_BYTES
        if self._pinned:
            block_bytes = PINNED_BLOCK_BYTES
        self._block = max(1, block_bytes // max(1, example.nbytes))  # rows
        self._views: list[Tensor] = []
        self.bytes = 0

    def grow(self, count: int) -> None:
        while len(self._views) < count:
            rows = min(self._block, self._limit - len(self._views))
            shape = (rows, len(self._example))
            block = torch.empty(shape, dtype=self._example.dtype, device=self._device, pin_memory=self._pinned)
            self._views.extend(block.unbind())
            self.bytes += block.nbytes

    def read(self, row: int, into: Tensor) -> None:
        into.copy_(self._views[row])

    def write(self, row: int, value: Tensor) -> None:
        self._views[row].copy_(value)

    def close(self) -> None:
        self._views.clear()


class _DiskTable:
    """A table of vectors in a file without a name.

    It uses plain reads and writes, not a memory map, whose pages would count as this process's memory.
    """

    def __init__(self, example: Tensor, folder: Path) -> None:
        self._row_bytes = example.nbytes
        self._folder = folder
        self.bytes = 0
        with self._explained():
            self._file = tempfile.TemporaryFile("w+b", buffering=0, dir=folder)  # noqa: SIM115 - `close` closes it

    def grow(self, count: int) -> None:
        """Check that there is room for `count` rows in all; the file itself grows as rows are written."""
        more_bytes = count * self._row_bytes - self.bytes
        if more_bytes <= 0:
            return
        free_bytes = shutil.disk_usage(self._folder).free
        if more_bytes > free_bytes:
            sizes = f"{more_bytes / 1e9:.3g} GB more are needed, {free_bytes / 1e9:.3g} GB are free"
            raise RunError(f"the states of the clients do not fit in {self._folder}: {sizes}")
        self.bytes += more_bytes

    def read(self, row: int, into: Tensor) -> None:
        host = into
        if into.device.type != "cpu":
            host = torch.empty_like(into, device="cpu")
        self._move(self._file.readinto, row, host)
        if host is not into:
            into.copy_(host)

    def write(self, row: int, value: Tensor) -> None:
        self._move(self._file.write, row, value.cpu().contiguous())

    def close(self) -> None:
        self._file.close()

    def _move(self, step: Callable[[memoryview], int | None], row: int, host: Tensor) -> None:
        """Read or write a row's bytes; the system may do it in several steps."""
        remaining: memoryview = host.view(torch.uint8).numpy().data
        with self._explained():
            self._file.seek(row * self._row_bytes)
            while remaining:
                done = step(remaining)
                if not done:
                    raise OSError(errno.EIO, "the file ends early")
                remaining = remaining[done:]

    @contextmanager
    def _explained(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise RunError(f"the states of the clients cannot be kept in {self._folder}: {error.strerror}") from error


def _choose_home(total_bytes: int, device: torch.device, device_bytes: int | None, host_bytes: int | None) -> Home:
    """Return the first home in whose budget all states fit."""
    if device_bytes is None:
        device_bytes = budget(device)
    if total_bytes <= device_bytes:
        return "device"
    if host_bytes is None:
        host_bytes = budget(HOST)
    return "host" if total_bytes <= host_bytes else "disk"
