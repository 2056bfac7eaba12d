"""The only module that deletes in users' folders: files that edgefl has written there, and folders that are empty then.

`checkpoints/`, `runs/` and `labels.csv` are common names, also of files that took weeks to make. So a name is never
enough: each file of edgefl's has a mark, the way in which it begins, and what has another one stays. A folder is never
removed with what is in it.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from pathlib import Path

from edgefl.core.errors import InputError
from edgefl.core.files import is_half_written, is_locked, locked, opened, taken

HEAD_BYTES = 2**16  # of a file, which its mark may look at

Mark = Callable[[bytes], bool]
"""Says of the beginning of a file whether edgefl has written it."""


def begins_with(*beginnings: bytes) -> Mark:
    """Return the mark of files that begin with one of some texts."""
    return lambda head: head.startswith(beginnings)


def first_line_has(*columns: str) -> Mark:
    """Return the mark of CSV files whose header has some columns, in this order and without others between them."""
    wanted = f",{','.join(columns)},".encode()
    return lambda head: wanted in b"," + head.partition(b"\n")[0] + b","


def is_own(path: Path, mark: Mark) -> bool:
    """Return whether a path is a file, no link, and has a mark of edgefl's."""
    try:
        if not stat.S_ISREG(path.lstat().st_mode):
            return False
        with opened(path) as file:
            return mark(file.read(HEAD_BYTES))
    except OSError:
        return False


def is_foreign(path: Path, mark: Mark) -> bool:
    """Return whether there is something at a path that edgefl has not written."""
    return os.path.lexists(path) and not is_own(path, mark)


def check_replaceable(folder: Path, marks: Mapping[str, Mark]) -> None:
    """Check that edgefl has written all files of a folder that have some names.

    Args:
        folder: where they are; it need not exist.
        marks: by their names.

    Raises:
        InputError: there is another one, which must not be replaced.
    """
    for name, mark in marks.items():
        if is_foreign(folder / name, mark):
            raise foreign_file(folder / name)


def foreign_file(path: Path) -> InputError:
    """Return the refusal to replace a file that edgefl has not written."""
    text = "edgefl has not written this file, or it is damaged, and it would be replaced"
    return InputError(f"{path}: {text}: move it away, or choose another place with -o")


def remove(path: Path, mark: Mark) -> None:
    """Delete a file if edgefl has written it.

    Raises:
        OSError: the system does not allow it.
    """
    if is_own(path, mark):
        path.unlink(missing_ok=True)


def remove_named(paths: Iterable[Path], form: str) -> None:
    """Delete files whose name has a form that edgefl alone gives, such as that of its states.

    Args:
        paths: files of a folder that is edgefl's for certain; those with other names stay.
        form: of a whole name, a regular expression.

    Raises:
        OSError: the system does not allow it.
    """
    for path in paths:
        if re.fullmatch(form, path.name) and (path.is_symlink() or not path.is_dir()):
            path.unlink(missing_ok=True)


def remove_half_written(folder: Path) -> None:
    """Delete what a killed process has left of files that it was writing into a folder that is edgefl's.

    Raises:
        OSError: the system does not allow it.
    """
    for path in folder.iterdir():
        if is_half_written(path) and not path.is_dir():
            path.unlink(missing_ok=True)


def remove_empty(folder: Path) -> None:
    """Remove a folder if nothing is in it."""
    with suppress(OSError):  # a user's files are there, or another process has just begun there
        folder.rmdir()


def is_empty_file(path: Path) -> bool:
    """Return whether a path is a file with nothing in it, as locks are."""
    return is_own(path, lambda head: not head)


def check_lock(lock: Path) -> None:
    """Check that the place of a lock is free, or has an empty file, which a killed process may have left.

    Raises:
        Taken: another process holds the lock, and has written into its file.
        InputError: there is something of the user's.
    """
    if os.path.lexists(lock) and not is_empty_file(lock):
        if is_locked(lock):
            raise taken(lock)
        raise foreign_file(lock)


@contextmanager
def alone(lock: Path) -> Iterator[None]:
    """Keep other processes out of a folder; at the end the lock is removed, and what was made for it if that is empty.

    Args:
        lock: the file that is locked: an empty one, in a folder of its own in the folder that is worked in.

    Raises:
        Taken: another process works there.
        InputError: there is a file of the user's in place of the lock, or it cannot be written.
    """
    check_lock(lock)
    made = [folder for folder in lock.parents if not folder.exists()]  # from the inside
    with closing(locked(lock)):
        try:
            yield
        finally:
            # While it is locked: afterwards it might be another process's.
            remove(lock, lambda head: not head)
            for folder in dict.fromkeys((lock.parent, *made)):
                remove_empty(folder)
