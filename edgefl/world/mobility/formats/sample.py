"""What every reader of traces yields."""

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


def number(text: str, line: int) -> float:
    """Return the number that a text holds.

    Raises:
        NotReadable: it holds none.
    """
    try:
        return float(text)
    except ValueError:
        raise NotReadable(f"must be a number, got {shown(text)}", line) from None
