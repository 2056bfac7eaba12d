"""The only module that deletes in users' folders: files that edgefl has written there, and the folders left empty.

`checkpoints/`, `runs/` and `labels.csv` are common names, and such files may have taken weeks to make. So a name is not
enough: each file of edgefl has a mark, its beginning, and files without it stay. Only empty folders are removed.
"""

import os
import re
import stat
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from pathlib import Path

from edgefl.core.errors import InputError
from edgefl.core.files import is_half_written, is_locked, locked, opened, read_bytes, taken, write_atomically

HEAD_BYTES = 2**16  # of a file, among which its mark is

Mark = Callable[[bytes], bool]
"""Returns whether edgefl has written a file, by the file's beginning."""


def begins_with(*beginnings: bytes) -> Mark:
    """Return the mark of files that begin with one of the given texts."""
    return lambda head: head.startswith(beginnings)


def first_line_has(*columns: str) -> Mark:
    """Return the mark of CSV files whose header has these columns side by side."""
    wanted = f",{','.join(columns)},".encode()
    return lambda head: wanted in b"," + head.partition(b"\n")[0] + b","


def is_own(path: Path, mark: Mark) -> bool:
    """Return whether a path is a file, not a link, with a mark of edgefl."""
    try:
        if not stat.S_ISREG(path.lstat().st_mode):
            return False
        with opened(path) as file:
            return mark(file.read(HEAD_BYTES))
    except OSError:
        return False


def is_foreign(path: Path, mark: Mark) -> bool:
    """Return whether something else than a file of edgefl lies at a path."""
    return os.path.lexists(path) and not is_own(path, mark)


def check_replaceable(folder: Path, marks: Mapping[str, Mark]) -> None:
    """Check that edgefl has written all files of a folder that have certain names.

    Args:
        folder: where they lie; it need not exist.
        marks: by name.

    Raises:
        InputError: another program has written one of them, so it must not be replaced.
    """
    for name, mark in marks.items():
        if is_foreign(folder / name, mark):
            raise foreign_file(folder / name)


def check_writable(folder: Path, marks: Mapping[str, Mark], *, overwrite: bool) -> None:
    """Check that files of certain names may be written into a folder.

    Args:
        folder: where they will lie; it need not exist.
        marks: by name.
        overwrite: files of edgefl may be replaced.

    Raises:
        InputError: one of them exists, and must not be replaced.
    """
    for name in marks:
        if (folder / name).exists() and not overwrite:
            raise InputError(f"{folder / name}: exists: choose another folder, or add --overwrite")
    check_replaceable(folder, marks)


def check_not_read(read: Path, written: Path) -> None:
    """Check that a file which a command reads is not the one which it writes.

    Raises:
        InputError: it is.
    """
    if os.path.lexists(written) and read.exists() and read.samefile(written):
        raise InputError(f"{written}: this run reads it, and it would be replaced: choose another place with -o")


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


def unlink_copies(path: Path) -> None:
    """Give a file that is going to grow a content of its own, if backups of hard links have the same.

    Raises:
        OSError: the system does not allow it.
    """
    with suppress(FileNotFoundError):
        if path.lstat().st_nlink > 1:
            write_atomically(path, read_bytes(path))


def remove_named(paths: Iterable[Path], form: str, mark: Mark | None = None) -> None:
    """Delete files whose names have a form that only edgefl uses, such as its states.

    Args:
        paths: files of a folder of edgefl; those with other names stay.
        form: a regular expression for the whole name.
        mark: of their beginnings; None: the name is enough, as these paths are known to be edgefl's.

    Raises:
        OSError: the system does not allow it.
    """
    for path in paths:
        known = mark is None or is_own(path, mark)
        if known and re.fullmatch(form, path.name) and (path.is_symlink() or not path.is_dir()):
            path.unlink(missing_ok=True)


def remove_half_written(folder: Path) -> None:
    """Delete the half-written files that a killed process has left in a folder of edgefl.

    Raises:
        OSError: the system does not allow it.
    """
    for path in folder.iterdir():
        if is_half_written(path) and not path.is_dir():
            path.unlink(missing_ok=True)


def remove_empty(folder: Path) -> None:
    """Remove a folder if it is empty."""
    with suppress(OSError):  # it holds files of the user, or of a process that has just begun there
        folder.rmdir()


def is_empty_file(path: Path) -> bool:
    """Return whether a path is an empty file, as locks are."""
    return is_own(path, lambda head: not head)


def check_lock(lock: Path) -> None:
    """Check that the place of a lock is free, or has an empty file, which a killed process may have left.

    Raises:
        Taken: another process holds the lock, and has written into its file.
        InputError: a file of the user lies there.
    """
    if os.path.lexists(lock) and not is_empty_file(lock):
        if is_locked(lock):
            raise taken(lock)
        raise foreign_file(lock)


@contextmanager
def alone(lock: Path) -> Iterator[None]:
    """Keep other processes out of a folder; at the end remove the lock, and the folders made for it if they are empty.

    Args:
        lock: the file that is locked: an empty file in a folder inside the protected folder.

    Raises:
        Taken: another process works there.
        InputError: a file of the user lies instead of the lock, or the lock cannot be written.
    """
    check_lock(lock)
    made = [folder for folder in lock.parents if not folder.exists()]  # from the inside
    with closing(locked(lock)):
        try:
            yield
        finally:
            # While it is locked: afterwards another process may hold it.
            remove(lock, lambda head: not head)
            for folder in dict.fromkeys((lock.parent, *made)):
                remove_empty(folder)
