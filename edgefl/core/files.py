"""Reading of plain files only, writing of files that are either whole or absent, and locks of folders."""

import errno
import os
import re
import secrets
import stat
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from io import BufferedReader, TextIOWrapper
from pathlib import Path
from typing import BinaryIO, Self
from weakref import WeakSet

from edgefl.core.errors import InputError, Taken

MOST_NAME_BYTES = 200  # of the part of a file's name that the user has chosen; file systems allow 255 in all
MOST_LINE_BYTES = 2**20
HALF_WRITTEN = ".part"  # suffix of the name that a file has while it is written; the name begins with a dot
TOKEN_BYTES = 6  # of the random part of that name
LOCK_TRIES = 3  # as another process may hold a lock for an instant, to see whether it is free
LOCK_PAUSE_S = 0.01  # between two of them
# Other programs use .part, too, but not with twelve hexadecimal digits before it.
_TEMPORARY = re.compile(rf"\..*\.[0-9a-f]{{{2 * TOKEN_BYTES}}}\.part", re.DOTALL)


def check_plain(path: Path) -> None:
    """Check that a path leads to a file or a folder.

    Raises:
        OSError: it leads nowhere, or to a pipe or a device, which might never end.
    """
    # Checked before opening: opening a pipe waits until another process writes to it.
    mode = path.stat().st_mode
    if not stat.S_ISREG(mode) and not stat.S_ISDIR(mode):  # opening a folder raises another error
        raise OSError(errno.EINVAL, "is a pipe or a device, not a file", str(path))


def opened(path: Path) -> BufferedReader:
    """Open a file of data for reading bytes.

    Raises:
        OSError: it cannot be read, or is a pipe or a device.
    """
    check_plain(path)
    return path.open("rb")


def opened_text(path: Path) -> TextIOWrapper:
    """Open a file of data for reading text, with its line ends unchanged; see `opened`."""
    return TextIOWrapper(opened(path), encoding="utf-8", newline="")


def read_bytes(path: Path) -> bytes:
    """Return the content of a file of data; see `opened`."""
    with opened(path) as stream:
        return stream.read()


def read_text(path: Path) -> str:
    """Return the content of a text file in UTF-8; see `opened`."""
    return read_bytes(path).decode()


def lines(stream: BufferedReader) -> Iterator[bytes]:
    """Yield the lines of a stream.

    Raises:
        OSError: a line is longer than any line of data, and might fill the memory.
    """
    while line := stream.readline(MOST_LINE_BYTES + 1):
        _check_length(line)
        yield line


def text_lines(stream: BufferedReader) -> Iterator[str]:
    r"""Yield the lines of a text in UTF-8, which end with `\n`, `\r\n` or `\r`, without its byte order mark.

    Bytes that are not UTF-8 come as surrogates. The stream is closed at its end.

    Raises:
        OSError: see `lines`.
    """
    with TextIOWrapper(stream, encoding="utf-8-sig", errors="surrogateescape", newline="") as text:
        while line := text.readline(MOST_LINE_BYTES + 1):
            _check_length(line)
            yield line


def _check_length(line: str | bytes) -> None:
    if len(line) > MOST_LINE_BYTES:
        raise OSError(errno.EFBIG, f"has a line of more than {MOST_LINE_BYTES // 2**20} MiB")


class FileGroup:
    """Files of a folder that are written one by one and appear together, each of them whole.

    They appear at the end of a `with` block, in the order of writing; none of them does if the block ends with an
    error. A disk takes hardly longer for several files together than for a single one.

    Args:
        folder: where they lie.
        durable: wait until the disk has them, so that they are whole even if the power fails.
    """

    def __init__(self, folder: Path, *, durable: bool = True) -> None:
        self.folder = folder
        self._durable = durable
        self._parts: list[_Part] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *raised: object) -> None:
        try:
            if kind is None:
                self._appear()
        finally:
            for part in self._parts:
                part.discard()

    @contextmanager
    def open(self, name: str) -> Iterator[BinaryIO]:
        """Open a file of the folder for writing; missing folders are made.

        Raises:
            OSError: the system does not allow it, or the disk is full; an old file stays unchanged.
        """
        part = _Part(self.folder / name)
        try:
            with part.named_in_errors():
                yield part.stream
                part.stream.flush()
        except BaseException:
            part.discard()
            raise
        self._parts.append(part)

    def write(self, name: str, content: bytes) -> None:
        """Write a file of the folder; see `open`."""
        with self.open(name) as stream:
            stream.write(content)

    def _appear(self) -> None:
        if self._durable and self._parts:  # the content must be on disk before the name points to it
            from concurrent.futures import ThreadPoolExecutor  # late: many commands write no file

            with ThreadPoolExecutor(len(self._parts)) as threads:
                list(threads.map(_Part.to_disk, self._parts))
        for part in self._parts:
            part.rename()


class _Part:
    """A file that is being written under a temporary name.

    Args:
        path: the name that it will get.
    """

    def __init__(self, path: Path) -> None:
        if path.is_dir():
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
        if not path.parent.is_dir():  # one that is removed right now must not come back with only this file
            path.parent.mkdir(parents=True, exist_ok=True)
        self._path = path
        # The temporary file lies in the same folder: a rename is atomic only within one file system.
        name = f".{cut_to_bytes(path.name, MOST_NAME_BYTES)}.{secrets.token_hex(TOKEN_BYTES)}{HALF_WRITTEN}"
        self._temporary = path.with_name(name)
        # Not by `tempfile`, whose mode 0600 would keep results from being shared.
        self.stream: BinaryIO = self._temporary.open("xb")

    def to_disk(self) -> None:
        """Wait until the content is on the disk."""
        with self.named_in_errors():
            os.fsync(self.stream.fileno())

    def rename(self) -> None:
        """Give the file its name."""
        with self.named_in_errors():
            self.stream.close()
            self._temporary.replace(self._path)

    def discard(self) -> None:
        """Close the file; remove it if it has not been renamed."""
        with suppress(OSError):  # a full disk refuses the rest
            self.stream.close()
        with suppress(OSError):  # a read-only disk keeps the temporary file
            self._temporary.unlink(missing_ok=True)

    @contextmanager
    def named_in_errors(self) -> Iterator[None]:
        """Let errors of the system name the file by its final name."""
        try:
            yield
        except OSError as error:
            if error.errno is None or error.filename not in {None, str(self._temporary)}:
                raise
            # A full disk names no file, and a failed rename the temporary one.
            raise OSError(error.errno, error.strerror, str(self._path)) from None


def is_half_written(path: Path) -> bool:
    """Return whether a file has the temporary name of a file that edgefl is writing."""
    return _TEMPORARY.fullmatch(path.name) is not None


@contextmanager
def atomically(path: Path, *, durable: bool = True) -> Iterator[BinaryIO]:
    """Open a temporary file that replaces `path` at the end, so that `path` is always whole; see `FileGroup`."""
    with FileGroup(path.parent, durable=durable) as files, files.open(path.name) as stream:
        yield stream


def cut_to_bytes(text: str, most: int) -> str:
    """Return the beginning of a text that fits into `most` bytes."""
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


def write_together(folder: Path, contents: Mapping[str, bytes]) -> list[Path]:
    """Write files of a folder that appear together, by their names, and return them.

    Raises:
        InputError: they cannot be written there.
    """
    try:
        with FileGroup(folder) as files:
            for name, content in contents.items():
                files.write(name, content)
    except OSError as error:
        raise InputError(f"{folder}: cannot be written: {error.strerror}") from None
    return [folder / name for name in contents]


@contextmanager
def new_folder(names: Iterable[Path]) -> Iterator[Path]:
    """Make the first folder that does not exist yet, also while other processes do the same.

    It is removed if the block raises an error and leaves it empty.

    Args:
        names: the folders, in the order of trying them.
    """
    made = next(path for path in names if _makes(path))
    try:
        yield made
    except BaseException:
        with suppress(OSError):  # something is in it, or it could not be made
            made.rmdir()
        raise


def _makes(folder: Path) -> bool:
    """Return whether this call made a folder, or failed as it would for any other folder: writing then says why."""
    try:
        folder.mkdir(parents=True)
    except FileExistsError:
        # The existing file may be its parent.
        return not os.path.lexists(folder)
    except OSError:
        return True
    return True


# Flags of opening; no system has all of them.
_NO_LINK = getattr(os, "O_NOFOLLOW", 0)  # a link might lead to a user's file
_NO_WAIT = getattr(os, "O_NONBLOCK", 0)  # for a pipe that lies instead of a lock
_BINARY = getattr(os, "O_BINARY", 0)  # Windows would write line ends in its own way
# Files that this process has locked. The lock belongs to the open file, which forked processes share.
_locked_files: WeakSet[BinaryIO] = WeakSet()


def locked(path: Path, *, make: bool = True) -> BinaryIO:
    """Open a file for reading and appending, and lock it for this process.

    The operating system releases the lock when the process ends, and forked processes do not keep it.

    Args:
        path: the file.
        make: make it if it does not exist.

    Raises:
        Taken: another process has locked it.
        InputError: it cannot be written.
    """
    flags = os.O_RDWR | os.O_APPEND | _NO_LINK | _BINARY
    if make:
        flags |= os.O_CREAT
    try:
        if make:
            path.parent.mkdir(parents=True, exist_ok=True)
        file: BinaryIO = os.fdopen(os.open(path, flags, 0o666), "a+b")
    except OSError as error:
        raise InputError(f"{path.parent}: cannot be written: {error.strerror}; choose another folder with -o") from None
    try:
        # Its last holder may have removed it since it was opened: then it locks nothing.
        held = _lock(file.fileno()) and os.path.samestat(os.fstat(file.fileno()), path.stat())
    except OSError:
        held = False
    if not held:
        file.close()
        raise taken(path)
    _locked_files.add(file)
    return file


def taken(path: Path) -> Taken:
    """Return the refusal to work in a folder whose lock, one folder below, another process holds."""
    text = "another process is running there; wait for it, or choose another folder with -o"
    return Taken(f"{path.parent.parent}: {text}")


def is_locked(path: Path) -> bool:
    """Return whether a process holds the lock of a file, or may hold it, as the file cannot be opened."""
    try:
        # NFS locks only what is open for writing; the results of others may be open for reading only.
        access = os.O_RDWR if os.access(path, os.W_OK) else os.O_RDONLY
        handle = os.open(path, access | _NO_LINK | _NO_WAIT)
    except FileNotFoundError:
        return False
    except OSError:
        return True
    try:
        return not _lock(handle)
    finally:
        os.close(handle)  # which releases the lock


def _lock(handle: int) -> bool:
    """Lock an open file until it is closed; return False if it is locked elsewhere, or its disk has no locks."""
    from filelock import lock_descriptor  # late: many commands lock nothing

    with suppress(OSError):
        for _ in range(LOCK_TRIES):
            if lock_descriptor(handle, blocking=False):
                return True
            time.sleep(LOCK_PAUSE_S)
    return False


def _release_inherited() -> None:
    """Release the parent's locks in a forked process, which may outlive it."""
    for file in _locked_files:
        if not file.closed:
            # Not by `close`, which would write the parent's buffer.
            nowhere = os.open(os.devnull, os.O_RDWR)
            os.dup2(nowhere, file.fileno(), inheritable=False)
            os.close(nowhere)


if hasattr(os, "register_at_fork"):  # not on Windows, where nothing forks
    os.register_at_fork(after_in_child=_release_inherited)
