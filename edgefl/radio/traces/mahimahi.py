"""Link traces in the format of mahimahi's link emulator."""

from __future__ import annotations

from array import array
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from typing import Annotated

import numpy as np
from pydantic import Field

from channel.link_traces import Opportunities
from edgefl.core.data_files import NotReadable, faults_in, utf8_lines
from edgefl.core.packed_files import unpacked
from edgefl.core.paths import DataFile
from edgefl.core.section import LARGEST_S, Section, shown
from edgefl.radio.traces.base import LinkTrace, Recording

S_PER_MS = 1e-3


class TwoWays(Section):
    """The files of one device's link."""

    downlink: DataFile  # File of the link to the device.
    uplink: DataFile  # File of the link from the device.


class MahimahiTrace(LinkTrace):
    """Files of mahimahi (Netravali et al., USENIX ATC 2015): each line the ms at which 1,500 bytes may pass.

    The last line's time is the trace's length.
    """

    # Files of device 0, 1, ..., or of the pool.
    files: Annotated[tuple[TwoWays, ...], Field(strict=False, min_length=1)]

    def recordings(self) -> list[Recording]:
        """Return the recordings in the order of `files`."""
        return [
            Recording(pair.downlink.name, _opportunities(pair.downlink), _opportunities(pair.uplink))
            for pair in self.files
        ]

    @property
    def source(self) -> str:
        """See LinkTrace."""
        return ", ".join(str(pair.downlink) for pair in self.files)


def _opportunities(path: Path) -> Opportunities:
    """Return the opportunities of a file.

    Raises:
        InputError: the file cannot be read, or is wrong.
    """
    with faults_in(path):
        return _read(path, path.stat().st_mtime_ns)


@lru_cache(maxsize=256)
def _read(path: Path, changed_ns: int) -> Opportunities:
    """Return the opportunities of a file, which is read again if it has changed."""
    # An array of Python holds each time in 8 bytes, a list in 40.
    times_s = np.array(array("q", _times_ms(path)), dtype=np.float64) * S_PER_MS
    if not times_s.size:
        raise NotReadable("holds no times", 1)
    if times_s[-1] == 0:
        raise NotReadable("lasts no time: the last line must be above 0", len(times_s))
    return Opportunities(times_s)


def _times_ms(path: Path) -> Iterator[int]:
    before_ms = 0
    with unpacked(path) as stream:
        for line, raw in enumerate(utf8_lines(stream), 1):
            text = raw.strip()
            if not text:  # as at the end of files
                continue
            if not text.isdecimal() or float(text) * S_PER_MS > LARGEST_S:
                reason = f"must be a whole number of milliseconds, such as 12, got {shown(text)}"
                if len(text.split()) > 1:
                    reason = f"{reason}: for rates over time, write a CSV file and kind: csv"
                raise NotReadable(reason, line)
            time_ms = int(text)
            if time_ms < before_ms:
                raise NotReadable(f"times must not fall, got {time_ms} ms after {before_ms} ms: sort the file", line)
            before_ms = time_ms
            yield time_ms
