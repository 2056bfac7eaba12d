"""The standard streams of the program, which callers may have closed or led to a full disk."""

import io
import os
import sys
from contextlib import suppress
from pathlib import Path

LAST_OF_STANDARD = 2  # descriptor of the error stream


class _Lossy(io.RawIOBase):
    """A descriptor of messages: what cannot be written there is lost, and ends nothing."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor

    def writable(self) -> bool:
        """Return True."""
        return True

    def fileno(self) -> int:
        """Return the descriptor."""
        return self._descriptor

    def isatty(self) -> bool:
        """Return whether it is a terminal."""
        return os.isatty(self._descriptor)

    def write(self, content: object) -> int:
        """Write bytes, and return their number, whether they were written or not."""
        view = memoryview(content)  # type: ignore[arg-type]  # as io passes them
        with suppress(OSError):
            os.write(self._descriptor, view)
        return view.nbytes


def guard() -> None:
    """Give closed standard streams to the null device, and let no message end the program.

    Otherwise the first file that is opened would take a closed stream's descriptor, and get what is printed.
    """
    while (descriptor := os.open(os.devnull, os.O_RDWR)) <= LAST_OF_STANDARD:
        pass
    os.close(descriptor)
    if sys.stdout is None:
        sys.stdout = Path(os.devnull).open("w", encoding="utf-8")  # noqa: SIM115 - until the program ends
    encoding = "utf-8"
    if sys.stderr is not None:
        encoding = sys.stderr.encoding
    raw = _Lossy(LAST_OF_STANDARD)
    sys.stderr = io.TextIOWrapper(raw, encoding, "backslashreplace", line_buffering=True, write_through=True)
