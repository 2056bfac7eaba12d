"""The times of recorded samples: in order for each device, and the last of several at one time counts."""

import logging
from collections.abc import Hashable, Sequence
from functools import lru_cache
from pathlib import Path

from edgefl.core.data_files import NotReadable

log = logging.getLogger(__name__)


class SampleTimes:
    """The times of the samples of each device in a file, which are read in its order.

    Two samples of one device may be at one time, as receivers and loggers round times to seconds.
    """

    def __init__(self) -> None:
        self._latest: dict[Hashable, tuple[float, str]] = {}
        self._repeated = 0
        self._first_repeated: tuple[str, str, int] | None = None  # name, time and line

    def is_repeated(self, device: Hashable, name: str, time_s: float, written: str, line: int) -> bool:
        """Return whether a sample is at the time of its device's last one, which it replaces.

        Args:
            device: what identifies the device.
            name: of the device, for messages.
            time_s: of the sample.
            written: the time as in the file.
            line: of the file.

        Raises:
            NotReadable: it is earlier.
        """
        before_s, before = self._latest.get(device, (-float("inf"), ""))
        if time_s < before_s:
            text = f"device {name}: times must not fall, got {shown_time(written)} after {shown_time(before)}"
            raise NotReadable(f"{text}: sort the file by time", line)
        if time_s > before_s:
            self._latest[device] = (time_s, written)
            return False
        if self._first_repeated is None:
            self._first_repeated = (name, shown_time(written), line)
        self._repeated += 1
        return True

    def notes(self, place: Path | str) -> list[str]:
        """Return a line for the user if samples were replaced; it begins with the file and the first such line."""
        if self._first_repeated is None:
            return []
        name, time, line = self._first_repeated
        what = "1 sample repeats the time of its device's sample before"
        if self._repeated > 1:
            what = f"{self._repeated} samples repeat the time of their device's sample before"
        return [f"{place}:{line}: {what} (the first: device {name} at {time}): of samples at one time the last counts"]


def of_folder(notes: Sequence[str]) -> list[str]:
    """Return those lines for the user that are about the files of a folder as a single one; none if there are none."""
    if len(notes) <= 1:
        return list(notes)
    others = "1 other file"
    if len(notes) > 2:
        others = f"{len(notes) - 1} other files"
    return [f"{notes[0]}; the same in {others} of the folder"]


def shown_time(written: str) -> str:
    """Return a time as in the file, with the unit where it is a number of seconds."""
    try:
        float(written)
    except ValueError:
        return written
    return f"{written} s"


@lru_cache(maxsize=1000)
def warn_once(text: str) -> None:
    """Log a warning about a file of data; once in a process, however many runs read the file."""
    log.warning("warning: %s", text)
