"""Reading of files that may be packed by gzip, within bounds: a few packed bytes may become gigabytes."""

import errno
import gzip
import io
import zlib
from pathlib import Path
from typing import Any, BinaryIO

from edgefl.core.files import opened

MOST_RATIO = 50  # of unpacked to packed bytes; traces, images and texts have 2 to 20
LEAST_BOUND_BYTES = 2**24  # to which any file may unpack
BUFFER_BYTES = 2**18


def unpacked(path: Path) -> io.BufferedReader:
    """Open a file of data for reading bytes, unpacked if its name ends in .gz.

    Raises:
        OSError: it cannot be read, or is a pipe or a device. Reading raises it, too, if the file is not a whole gzip
            file, or unpacks to more than `MOST_RATIO` times its size.
    """
    packed = opened(path)
    if path.suffix != ".gz":
        return packed
    return io.BufferedReader(_Unpacking(packed), BUFFER_BYTES)


def read_unpacked(path: Path) -> bytes:
    """Return the content of a file of data; see `unpacked`."""
    with unpacked(path) as stream:
        return stream.read()


class _Unpacking(io.RawIOBase):
    """The content of a gzip file, as long as it is not much longer than the bytes read of the file."""

    def __init__(self, packed: BinaryIO) -> None:
        self._packed = packed
        self._content = gzip.GzipFile(fileobj=packed, mode="rb")
        self._unpacked_bytes = 0

    def readable(self) -> bool:
        """Return True: it can be read."""
        return True

    def readinto(self, buffer: Any) -> int:
        """Read into a buffer, and return the number of bytes."""
        try:
            content = self._content.read(len(buffer))
        except (EOFError, zlib.error, gzip.BadGzipFile):
            raise OSError(errno.EINVAL, "is not a whole gzip file") from None
        self._unpacked_bytes += len(content)
        if self._unpacked_bytes > max(MOST_RATIO * self._packed.tell(), LEAST_BOUND_BYTES):
            text = f"unpacks to more than {MOST_RATIO} times its size: if that is right, unpack it with gunzip first"
            raise OSError(errno.EFBIG, text)
        buffer[: len(content)] = content
        return len(content)

    def close(self) -> None:
        """Close the file."""
        self._content.close()
        self._packed.close()
        super().close()
