"""A file without a name: room on the disk for what a process need not hold in memory."""

from __future__ import annotations

import os
import secrets
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from weakref import finalize

from edgefl.core.errors import RunError
from edgefl.core.files import HALF_WRITTEN, TOKEN_BYTES


class UnnamedFile:
    """Bytes on a disk that nobody else sees, and that are gone when the process ends, however it ends.

    Args:
        folder: where the file lies; it is made if it does not exist.
        what: what the file holds, for messages.

    Raises:
        RunError: the system does not allow it.
    """

    def __init__(self, folder: Path, what: str) -> None:
        self._place = f"{folder}: {what}"
        with self._in_one_line("written"):
            folder.mkdir(parents=True, exist_ok=True)
            # Where a file system has no files without names, it has one for a moment: that of a half-written file.
            suffix = f".{secrets.token_hex(TOKEN_BYTES)}{HALF_WRITTEN}"
            self._file = tempfile.TemporaryFile(dir=folder, prefix=".rows.", suffix=suffix, buffering=0)  # noqa: SIM115
        finalize(self, self._file.close)
        self._end = 0

    def append(self, content: bytes) -> int:
        """Write bytes, and return where they begin.

        Raises:
            RunError: they cannot be written; what was written before stays.
        """
        rest = memoryview(content)
        place = self._end
        with self._in_one_line("written"):
            while rest:
                # Not at the position of the open file, which forked processes share.
                written = os.pwrite(self._file.fileno(), rest, place)
                place += written
                rest = rest[written:]
        begin = self._end
        self._end = place
        return begin

    def read(self, place: int, size: int) -> bytes:
        """Return bytes that were written.

        Raises:
            RunError: they cannot be read.
        """
        content = bytearray()
        with self._in_one_line("read"):
            while len(content) < size:
                part = os.pread(self._file.fileno(), size - len(content), place + len(content))
                if not part:
                    raise RunError(f"{self._place} cannot be read: the file has been cut off")
                content += part
        return bytes(content)

    @contextmanager
    def _in_one_line(self, verb: str) -> Iterator[None]:
        """Turn an error of the system into a line for the user."""
        try:
            yield
        except OSError as error:
            raise RunError(f"{self._place} cannot be {verb}: {error.strerror}") from None
