"""Files that are whole or absent."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from edgefl.errors import InputError


def write_atomically(path: Path, content: bytes) -> None:
    """Write through a temporary file beside `path`: nobody ever sees half a file. Missing folders are made.

    Raises:
        OSError: the system does not allow it, or the disk is full; the old file, if any, is as it was.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.", suffix=".part")
    part = Path(name)
    try:
        with os.fdopen(handle, "wb") as stream:
            stream.write(content)
            stream.flush()
            os.fsync(stream.fileno())
        part.chmod(0o644)  # mkstemp's 0600 would keep results from being shared
        part.replace(path)
    except BaseException:
        part.unlink(missing_ok=True)
        raise


def write_for_user(path: Path, content: bytes) -> None:
    """`write_atomically` to a place that the user named.

    Raises:
        InputError: it cannot be written there.
    """
    try:
        write_atomically(path, content)
    except OSError as error:
        raise InputError(f"{path}: cannot be written: {error.strerror}") from None
