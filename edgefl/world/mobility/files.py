"""Readers of trace files: each yields samples in the order of the file.

To add a format: a function that yields the samples of a file, and a line in `READERS`; see also `Trace.format`.
"""

import math
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple
from xml.parsers import expat

from edgefl.core.data_files import EXAMPLE, NotReadable, timed_rows, timestamp
from edgefl.core.files import MOST_LINE_BYTES, lines
from edgefl.core.packed_files import unpacked
from edgefl.core.section import shown

CHUNK_BYTES = 2**20  # of XML at a time: a file is never held as a whole
CSV_COLUMNS = ("time_s", "device", "x_m", "y_m")
OBSMAT_COLUMNS = 8  # frame, person, x, height, y, and the three of the velocity
FRAMES_PER_S = 25.0  # of the videos in which the pedestrians were marked


class Sample(NamedTuple):
    """The position of a device at a time; x and y are the file's: metres, or longitude and latitude."""

    line: int  # of the file, for messages
    time_s: float  # the file's own
    device: str  # its name in the file
    x: float
    y: float
    speed_mps: float = math.nan  # nan: unknown


def read_csv(path: Path) -> Iterator[Sample]:
    """Yield the samples of a CSV file whose header has `time_s,device,x_m,y_m`, in any order, among other columns.

    Times may be timestamps, such as 2024-05-01T12:00:00Z.
    """
    for line, cells in timed_rows(path, ("time_s",), CSV_COLUMNS):
        time_s = _number(cells["time_s"], line)
        yield Sample(line, time_s, cells["device"], _number(cells["x_m"], line), _number(cells["y_m"], line))


def read_obsmat(path: Path) -> Iterator[Sample]:
    """Yield the samples of pedestrians (UCY, Lerner et al. 2007; ETH), 25 frames a second.

    The columns are frame, person, x, height, y, and the velocity's three.
    """
    with unpacked(path) as stream:
        for line, text in enumerate(lines(stream), 1):
            cells = text.decode().split()
            if not cells:
                continue
            if len(cells) != OBSMAT_COLUMNS:
                raise NotReadable(f"has {len(cells)} columns, an obsmat file has {OBSMAT_COLUMNS}", line)
            frame, person, x, _, y = (_number(cell, line) for cell in cells[:5])
            yield Sample(line, frame / FRAMES_PER_S, f"{person:.15g}", x, y)


def read_fcd(path: Path) -> Iterator[Sample]:
    """Yield the samples of SUMO's floating car data.

    Each `timestep` has `time`, and in it each `vehicle` or `person` has `id`, `x`, `y` (metres, or degrees with SUMO's
    option `--fcd-output.geo`) and perhaps `speed` (m/s).
    """
    time_s = float("nan")  # a vehicle outside any timestep is refused as a sample without time
    for line, tag, attributes, _ in elements(path):
        if tag == "timestep":
            time_s = _attribute(line, tag, attributes, "time")
        elif tag in {"vehicle", "person"}:
            x = _attribute(line, tag, attributes, "x")
            y = _attribute(line, tag, attributes, "y")
            speed_mps = math.nan
            if "speed" in attributes:
                speed_mps = _attribute(line, tag, attributes, "speed")
            yield Sample(line, time_s, attributes.get("id", ""), x, y, speed_mps)


def read_gpx(path: Path) -> Iterator[Sample]:
    """Yield the samples of a GPX 1.1 file.

    Each `trk` is a device; each `trkpt` has `lat` and `lon`, and in it `time`, in UTC unless it names a zone.
    """
    track = -1
    point_line = 0
    longitude = latitude = 0.0
    time = ""
    for line, tag, attributes, text in elements(path):
        if tag == "trk":
            track += 1
        elif tag == "trkpt":
            point_line = line
            longitude = _attribute(line, tag, attributes, "lon")
            latitude = _attribute(line, tag, attributes, "lat")
            time = ""
        elif tag == "/time":
            time = text.strip()
        elif tag == "/trkpt":
            # At the end of the point, since its time is an element within it.
            yield Sample(point_line, _seconds(point_line, time), str(track), longitude, latitude)


def elements(path: Path) -> Iterator[tuple[int, str, dict[str, str], str]]:
    """Yield the beginnings and ends of an XML file's elements.

    A beginning is (line, "tag", attributes, ""), an end is (line, "/tag", {}, text); tags come without namespaces.

    Raises:
        NotReadable: it is not well-formed, or has a document type, whose entities could fill the memory.
    """
    found: list[tuple[int, str, dict[str, str], str]] = []
    text: list[str] = []
    text_length = 0
    parser = expat.ParserCreate()

    def begin(tag: str, attributes: dict[str, str]) -> None:
        nonlocal text_length
        text.clear()
        text_length = 0
        found.append((parser.CurrentLineNumber, tag.rpartition(":")[2], attributes, ""))

    def end(tag: str) -> None:
        nonlocal text_length
        found.append((parser.CurrentLineNumber, f"/{tag.rpartition(':')[2]}", {}, "".join(text)))
        text.clear()
        text_length = 0

    def add(piece: str) -> None:  # expat gives a text in pieces
        nonlocal text_length
        text.append(piece)
        text_length += len(piece)
        if text_length > MOST_LINE_BYTES:
            raise NotReadable("holds a text that is longer than any of a trace", parser.CurrentLineNumber)

    def refuse(*_: object) -> None:
        reason = "has a document type (<!DOCTYPE ...>), which is refused: leave it out"
        raise NotReadable(reason, parser.CurrentLineNumber)

    parser.StartElementHandler = begin
    parser.EndElementHandler = end
    parser.CharacterDataHandler = add
    parser.StartDoctypeDeclHandler = refuse
    with unpacked(path) as stream:
        try:
            fed_bytes = 0
            while chunk := stream.read(CHUNK_BYTES):
                parser.Parse(chunk, False)
                fed_bytes += len(chunk)
                # Expat keeps unfinished input, such as a tag that does not end.
                if fed_bytes - parser.CurrentByteIndex > len(chunk) + MOST_LINE_BYTES:
                    raise NotReadable("holds a tag that is longer than any of a trace", parser.CurrentLineNumber)
                yield from found
                found.clear()
            parser.Parse(b"", True)
        except expat.ExpatError as error:
            raise NotReadable(f"is not well-formed XML: {expat.ErrorString(error.code)}", error.lineno) from None


READERS: dict[str, Callable[[Path], Iterator[Sample]]] = {
    "csv": read_csv,
    "obsmat": read_obsmat,
    "fcd": read_fcd,
    "gpx": read_gpx,
}


def _number(text: str, line: int) -> float:
    try:
        return float(text)
    except ValueError:
        raise NotReadable(f"must be a number, got {shown(text)}", line) from None


def _attribute(line: int, tag: str, attributes: dict[str, str], name: str) -> float:
    if name not in attributes:
        raise NotReadable(f"<{tag}> has no {name}", line)
    return _number(attributes[name], line)


def _seconds(line: int, text: str) -> float:
    """Return the seconds since 1970 of a time such as 2024-05-01T12:00:00Z."""
    time = timestamp(text)
    if time is None:
        raise NotReadable(f"<trkpt> needs a time such as {EXAMPLE}, got {shown(text)}", line)
    return time.timestamp()
