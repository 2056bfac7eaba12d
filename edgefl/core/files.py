"""Read plain files only, write files that are either whole or absent, and lock a folder for one process."""

from __future__ import annotations

import errno
import fcntl
import os
import secrets
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO
from weakref import WeakSet

from edgefl.core.errors import InputError, Taken

MOST_NAME_BYTES = 200  # of the part of a file's name that somebody has chosen; file systems take 255 in all


def check_plain(path: Path) -> None:
    """Check that a path leads to a file or a folder.

    Raises:
        OSError: there is nothing, or a pipe or a device, which might never end.
    """
    # Asked before opening: opening a pipe waits until somebody writes to it.
    mode = path.stat().st_mode
    if not stat.S_ISREG(mode) and not stat.S_ISDIR(mode):  # a folder has an error of its own
        raise OSError(errno.EINVAL, "is a pipe or a device, not a file", str(path))


def opened(path: Path) -> BinaryIO:
    """Open a file of data for reading bytes.

    Raises:
        OSError: it cannot be read, or is a pipe or a device.
    """
    check_plain(path)
    return path.open("rb")


def read_bytes(path: Path) -> bytes:
    """Return the content of a file of data; see `opened`."""
    with opened(path) as stream:
        return stream.read()


@contextmanager
def atomically(path: Path, *, durable: bool = True) -> Iterator[BinaryIO]:
    """Open a temporary file that replaces `path` at the end, so that nobody ever reads half a file.

    Missing folders are made.

    Args:
        path: the file.
        durable: wait until the disk has it, so that it is whole even if the power fails.

    Raises:
        OSError: the system does not allow it, or the disk is full; an old file stays as it was.
    """
    if path.is_dir():
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
    path.parent.mkdir(parents=True, exist_ok=True)
    # The temporary file lies in the same folder: a rename is atomic only within one file system.
    part = path.with_name(f".{cut_to_bytes(path.name, MOST_NAME_BYTES)}.{secrets.token_hex(6)}.part")
    # `tempfile` would keep results from being shared: its files have 0600, these what the user's umask leaves.
    handle = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o666)
    try:
        with os.fdopen(handle, "wb") as stream:
            yield stream
            stream.flush()
            if durable:
                os.fsync(stream.fileno())  # the content must be on disk before the name points to it
        part.replace(path)
    except OSError as error:
        with suppress(OSError):  # a disk that cannot be written any more keeps the temporary file
            part.unlink(missing_ok=True)
        if error.errno is None or error.filename not in {None, str(part)}:
            raise
        # A full disk names no file, and a failed rename the temporary one.
        raise OSError(error.errno, error.strerror, str(path)) from None
    except BaseException:
        part.unlink(missing_ok=True)
        raise


def cut_to_bytes(text: str, most: int) -> str:
    """Return as much of a text as fits into `most` bytes, as file systems count the length of names."""
    return text.encode()[:most].decode(errors="ignore")


def write_atomically(path: Path, content: bytes, *, durable: bool = True) -> None:
    """Write a file that is whole or absent; see `atomically`."""
    with atomically(path, durable=durable) as stream:
        stream.write(content)


def write_for_user(path: Path, content: bytes) -> None:
    """Write a file atomically to a place that the user named.

    Raises:
        InputError: it cannot be written there.
    """
    try:
        write_atomically(path, content)
    except OSError as error:
        raise InputError(f"{path}: cannot be written: {error.strerror}") from None


# Files that are locked in this process. The lock belongs to whatever holds the open file, so also to a forked process.
_locked_files: WeakSet[BinaryIO] = WeakSet()


def locked(path: Path, *, make: bool = True) -> BinaryIO:
    """Open a file for reading and appending, and lock it for this process.

    The operating system releases the lock when the process ends, however it ends, and forked processes do not keep it.

    Args:
        path: the file.
        make: make it if it does not exist.

    Raises:
        Taken: another process has locked it.
        InputError: it cannot be written.
    """
    flags = os.O_RDWR | os.O_APPEND | os.O_NOFOLLOW  # a link might lead to a file that is not ours
    if make:
        flags |= os.O_CREAT
    try:
        if make:
            path.parent.mkdir(parents=True, exist_ok=True)
        file: BinaryIO = os.fdopen(os.open(path, flags, 0o666), "a+b")
    except OSError as error:
        raise InputError(f"{path.parent}: cannot be written: {error.strerror}; choose another folder with -o") from None
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        # Whoever had it locked may have removed it since we opened it: then it locks nothing.
        held = os.path.samestat(os.fstat(file.fileno()), path.stat())
    except OSError:
        held = False
    if not held:
        file.close()
        text = "another process is running there; wait for it, or choose another folder with -o"
        raise Taken(f"{path.parent.parent}: {text}")
    _locked_files.add(file)
    return file


def is_locked(path: Path) -> bool:
    """Return whether a process holds the lock of a file; True also where the system does not let us ask."""
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except FileNotFoundError:
        return False
    except OSError:
        return True
    try:
        # Shared: two who ask at the same time do not take each other for the holder.
        fcntl.flock(handle, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except OSError:
        return True
    finally:
        os.close(handle)  # which releases what has been locked here
    return False


def _release_inherited() -> None:
    """Let go of the parent's locks in a forked process, which may outlive it."""
    for file in _locked_files:
        if not file.closed:
            # Not `close`, which would write what the parent has not yet flushed.
            nowhere = os.open(os.devnull, os.O_RDWR)
            os.dup2(nowhere, file.fileno(), inheritable=False)
            os.close(nowhere)


os.register_at_fork(after_in_child=_release_inherited)
