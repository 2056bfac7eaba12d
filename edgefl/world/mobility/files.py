"""Files of traces: each reader gives samples in the order of the file."""

from __future__ import annotations

import csv
import gzip
import zlib
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from io import BufferedIOBase
from pathlib import Path
from typing import NamedTuple, TypeVar
from xml.parsers import expat

T = TypeVar("T")

CHUNK_BYTES = 2**20
COLUMNS = ("time_s", "device", "x_m", "y_m")
OBSMAT_COLUMNS = 8  # frame, person, x, height, y, and the three of the velocity
FRAMES_PER_S = 25.0


class Sample(NamedTuple):
    """Where a device is at a time; x and y are longitude and latitude in degrees in GPX, else metres."""

    line: int
    time_s: float
    device: str
    x: float
    y: float


class NotReadable(Exception):  # noqa: N818 - the name says what happened
    """What is wrong with a file, and in which line."""

    def __init__(self, text: str, line: int | None = None) -> None:
        super().__init__(text)
        self.line = line


class NotThere(NotReadable):
    """The file is not on this machine."""


def opened(path: Path) -> BufferedIOBase:
    """The file's bytes, unpacked where its name ends in .gz.

    Raises:
        OSError: it is not there.
    """
    return gzip.open(path) if path.suffix == ".gz" else path.open("rb")


def read_csv(path: Path) -> Iterator[Sample]:
    """`time_s,device,x_m,y_m` with a header, in any order, among other columns."""
    with opened(path) as stream:
        rows = csv.reader(text.decode("utf-8-sig") for text in stream)
        header = [name.strip() for name in next(rows, [])]
        if missing := [name for name in COLUMNS if name not in header]:
            raise NotReadable(f"has no column {missing[0]}; must have {', '.join(COLUMNS)}", 1)
        time, device, x, y = (header.index(name) for name in COLUMNS)
        for row in filter(None, rows):
            if len(row) != len(header):
                raise NotReadable(f"has {len(row)} cells, the header has {len(header)}", rows.line_num)
            number = _numbers(rows.line_num)
            yield Sample(rows.line_num, number(row[time]), row[device].strip(), number(row[x]), number(row[y]))


def read_obsmat(path: Path) -> Iterator[Sample]:
    """Pedestrians (UCY, Lerner et al. 2007; ETH): frame, person, x, -, y, vx, -, vy; 25 frames a second."""
    with opened(path) as stream:
        for line, text in enumerate(stream, 1):
            cells = text.decode().split()
            if not cells:
                continue
            if len(cells) != OBSMAT_COLUMNS:
                raise NotReadable(f"has {len(cells)} columns, an obsmat file has {OBSMAT_COLUMNS}", line)
            frame, person, x, _, y = map(_numbers(line), cells[:5])
            yield Sample(line, frame / FRAMES_PER_S, f"{person:.15g}", x, y)


def read_fcd(path: Path) -> Iterator[Sample]:
    """SUMO's floating car data: `timestep` with `time`, in it `vehicle` or `person` with `id`, `x` and `y` (metres)."""
    time_s = float("nan")
    for line, tag, attributes, _ in elements(path):
        if tag == "timestep":
            time_s = _attribute(line, tag, attributes, "time")
        elif tag in {"vehicle", "person"}:
            x, y = (_attribute(line, tag, attributes, name) for name in ("x", "y"))
            yield Sample(line, time_s, attributes.get("id", ""), x, y)


def read_gpx(path: Path) -> Iterator[Sample]:
    """GPX 1.1: each `trk` is a device; `trkpt` with `lat`, `lon` and in it `time`, in UTC where nothing is said."""
    track, point, time = -1, (0, 0.0, 0.0), ""
    for line, tag, attributes, text in elements(path):
        if tag == "trk":
            track += 1
        elif tag == "trkpt":
            lon, lat = (_attribute(line, tag, attributes, name) for name in ("lon", "lat"))
            point, time = (line, lon, lat), ""
        elif tag == "/time":
            time = text.strip()
        elif tag == "/trkpt":
            yield Sample(point[0], _seconds(point[0], time), str(track), *point[1:])


def elements(path: Path) -> Iterator[tuple[int, str, dict[str, str], str]]:
    """Beginnings and ends of an XML file's elements: (line, "tag", attributes, "") and (line, "/tag", {}, text).

    Raises:
        NotReadable: it is not well-formed, or has a document type, which could declare entities.
    """
    found: list[tuple[int, str, dict[str, str], str]] = []
    text: list[str] = []
    parser = expat.ParserCreate()

    def begin(tag: str, attributes: dict[str, str]) -> None:
        text.clear()
        found.append((parser.CurrentLineNumber, tag.rpartition(":")[2], attributes, ""))

    def end(tag: str) -> None:
        found.append((parser.CurrentLineNumber, f"/{tag.rpartition(':')[2]}", {}, "".join(text)))

    def refuse(*_: object) -> None:
        raise NotReadable(
            "has a document type (<!DOCTYPE ...>), which is refused: leave it out", parser.CurrentLineNumber
        )

    parser.StartElementHandler, parser.EndElementHandler = begin, end
    parser.CharacterDataHandler, parser.StartDoctypeDeclHandler = text.append, refuse
    with opened(path) as stream:
        try:
            while chunk := stream.read(CHUNK_BYTES):
                parser.Parse(chunk, False)
                yield from found
                found.clear()
            parser.Parse(b"", True)
        except expat.ExpatError as error:
            raise NotReadable(f"is no XML: {expat.ErrorString(error.code)}", error.lineno) from None


READERS: dict[str, Callable[[Path], Iterator[Sample]]] = {
    "csv": read_csv,
    "obsmat": read_obsmat,
    "fcd": read_fcd,
    "gpx": read_gpx,
}


def _numbers(line: int) -> Callable[[str], float]:
    """Reads the numbers of one line."""

    def number(text: str) -> float:
        try:
            return float(text)
        except ValueError:
            raise NotReadable(f'"{text[:40]}" is no number', line) from None

    return number


def _attribute(line: int, tag: str, attributes: dict[str, str], name: str) -> float:
    """A number of an element."""
    if name not in attributes:
        raise NotReadable(f"<{tag}> has no {name}", line)
    return _numbers(line)(attributes[name])


def _seconds(line: int, text: str) -> float:
    """Seconds since 1970 of a time such as 2024-05-01T12:00:00Z."""
    try:
        time = datetime.fromisoformat(text)
    except ValueError:
        raise NotReadable(f'<trkpt> needs a time such as 2024-05-01T12:00:00Z, got "{text[:40]}"', line) from None
    return (time if time.tzinfo else time.replace(tzinfo=UTC)).timestamp()


def read(path: Path, reader: Callable[[Path], Iterator[T]]) -> list[T]:
    """All that a reader gives.

    Raises:
        NotReadable: whatever is wrong with the file.
    """
    try:
        return list(reader(path))
    except (EOFError, zlib.error, gzip.BadGzipFile):
        raise NotReadable("is no whole gzip file") from None
    except FileNotFoundError:
        raise NotThere("not found there, nor in the folder that EDGEFL_DATA names, nor in ~/.cache/edgefl") from None
    except OSError as error:
        raise NotReadable(f"cannot be read: {error.strerror}") from None
    except (UnicodeDecodeError, csv.Error):
        raise NotReadable("is no text in UTF-8") from None
