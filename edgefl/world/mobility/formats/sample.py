"""Samples of a trace file, which every reader yields."""

import math
from typing import NamedTuple

from edgefl.core.data_files import NotReadable
from edgefl.core.section import shown


class Sample(NamedTuple):
    """The position of a device at a time; x and y are the file's: metres, or longitude and latitude."""

    line: int  # of the file, for messages
    time_s: float  # the file's own
    device: str  # its name in the file
    x: float
    y: float
    speed_mps: float = math.nan  # nan: unknown
    time: str | None = None  # as in the file, for messages; None: time_s
    group: str = ""  # of names: a vehicle and a person may have one name, and are two devices
    after_absence: bool = False  # the file says that the device was away since its last sample
    is_known: bool = True  # False: the file says that the position is unknown
    in_degrees: bool = False  # the file's names of columns say so


class EmptyStep(NamedTuple):
    """A time step of a file that lists no devices."""

    line: int  # of the file, for messages
    time_s: float  # the file's own


def number(text: str, line: int) -> float:
    """Return the number that a text holds.

    Raises:
        NotReadable: it holds none.
    """
    try:
        return float(text)
    except ValueError:
        raise NotReadable(f"must be a number, got {shown(text)}", line) from None
