"""A cache for arrays that take long to make: .npy files in ~/.cache/edgefl/arrays, mapped into memory from there."""

import hashlib
import logging
import os
import shutil
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path

import numpy as np

from edgefl.core.errors import InputError, Unavailable
from edgefl.core.paths import cache_folder
from edgefl.learning.datasets.base import Array, Arrays

log = logging.getLogger("edgefl")

VERSION = 1  # of how arrays are made; a new number makes all of them again
# A context variable, not an argument, which all datasets would have to pass on to `cached`.
_MAY_READ = ContextVar("may_read", default=True)


@contextmanager
def without_reading() -> Iterator[None]:
    """Let `cached` raise Unavailable in this context instead of making arrays that are not in the cache."""
    token = _MAY_READ.set(False)
    try:
        yield
    finally:
        _MAY_READ.reset(token)


def cached(name: str, options: object, sources: Iterable[Path], make: Callable[[], Mapping[str, Array]]) -> Arrays:
    """Return the arrays that `make` makes of `sources`; later calls map them from the disk.

    All processes share the maps, which are writable (copy on write). If the cache cannot be written, the arrays stay in
    memory.

    Args:
        name: of the dataset.
        options: everything else that the arrays depend on; its `repr` is part of the key.
        sources: the files they are made of; a change of path, size or modification time makes the arrays again.
        make: reads the sources.

    Raises:
        InputError: a source is missing, or `make` raises it.
    """
    # The first half of the name says what is kept, the second one which version of the sources it is from.
    paths = [str(path) for path in sources]
    place = f"{name}-{_digest((VERSION, options, paths))}"
    folder = cache_folder() / "arrays" / f"{place}-{_digest([_stamp(path) for path in paths])}"
    arrays = _mapped(folder)
    if arrays is not None:
        return arrays
    if not _MAY_READ.get():
        raise Unavailable(f"data.dataset: {name} has not been read on this machine yet, which takes a while")
    made = dict(make())
    try:
        _write(folder, made)
    except OSError as error:
        log.info("%s: the arrays of %s are not kept: %s", folder.parent, name, error.strerror)
        return made
    # Arrays of earlier versions of the sources are useless.
    for old in folder.parent.glob(f"{place}-*"):
        if old != folder:
            shutil.rmtree(old, ignore_errors=True)
    return _mapped(folder) or made


def _digest(value: object) -> str:
    return hashlib.blake2b(repr(value).encode(), digest_size=8).hexdigest()


def _stamp(path: str) -> tuple[int, int]:
    """Return the size and the modification time [ns] of a file."""
    try:
        status = os.stat(path)  # noqa: PTH116 - a Path costs too much for tens of thousands of files
    except OSError as error:
        raise InputError(f"data.dataset: {path}: {error.strerror}") from None
    return status.st_size, status.st_mtime_ns


def _mapped(folder: Path) -> dict[str, Array] | None:
    """Map the arrays of a folder; None if it does not exist or is damaged."""
    try:
        names = (folder / "names.txt").read_text().split()
        if not names or set(names) != {path.stem for path in folder.glob("*.npy")}:
            return None
        # Copy on write: nothing that a process does to an array reaches the file.
        return {name: np.load(folder / f"{name}.npy", mmap_mode="c", allow_pickle=False) for name in names}
    except Exception:  # noqa: BLE001 - a damaged file can raise anything
        return None  # it is made again


def _write(folder: Path, arrays: Mapping[str, Array]) -> None:
    """Write a folder that is whole or absent; of two writers at the same time the first one wins."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    # Written under another name and then renamed: a rename is never half done.
    part = Path(tempfile.mkdtemp(dir=folder.parent, prefix=f".{folder.name}."))
    try:
        for name, array in arrays.items():
            np.save(part / f"{name}.npy", array, allow_pickle=False)
        (part / "names.txt").write_text(" ".join(arrays))
        if _mapped(folder) is None:
            shutil.rmtree(folder, ignore_errors=True)  # a damaged one
            part.rename(folder)
    finally:
        shutil.rmtree(part, ignore_errors=True)
