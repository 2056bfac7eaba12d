"""Formats of trace files, a file for each: a function that yields samples in the order of the file.

To add a format: a file in this folder with such a function, its name in `FormatName`, and a line in `FORMATS`.
"""

from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Literal, NamedTuple

from edgefl.core.file_lists import natural, stem_of, suffix_of
from edgefl.world.mobility.formats.bonnmotion import read_bonnmotion
from edgefl.world.mobility.formats.csv import read_csv
from edgefl.world.mobility.formats.fcd import read_fcd
from edgefl.world.mobility.formats.gpx import read_gpx
from edgefl.world.mobility.formats.ns2 import read_ns2
from edgefl.world.mobility.formats.obsmat import read_obsmat
from edgefl.world.mobility.formats.sample import EmptyStep, Sample

FormatName = Literal["csv", "obsmat", "fcd", "gpx", "bonnmotion", "ns2", "drive_test", "g_nettrack"]


class Format(NamedTuple):
    """A format of trace files, and how it is read."""

    read: Callable[..., Iterator[Sample] | Iterator[Sample | EmptyStep]]  # of a file, perhaps with names of columns
    suffixes: tuple[str, ...]  # of names of such files; the first format with a suffix has it by default
    places: Literal["metres", "degrees", "by_names", "by_speeds"]
    """What x and y are: metres, or longitude and latitude; `by_names`: degrees where the names of the columns say so;
    `by_speeds`: degrees where the samples' speeds say so. The key `coordinates` may say degrees of the last two."""
    tells_absence: bool = False  # every time step lists the devices that are there, also after a device's last sample


FORMATS: dict[str, Format] = {
    "csv": Format(read_csv, (".csv",), "by_names"),
    "obsmat": Format(read_obsmat, (".txt",), "metres"),
    "fcd": Format(read_fcd, (".xml",), "by_speeds", tells_absence=True),
    "gpx": Format(read_gpx, (".gpx",), "degrees"),
    "bonnmotion": Format(read_bonnmotion, (".movements",), "metres"),
    "ns2": Format(read_ns2, (".tcl", ".ns_movements"), "metres"),
    "drive_test": Format(partial(read_csv, is_log=True), (".csv",), "by_names"),
    "g_nettrack": Format(partial(read_csv, is_log=True), (".csv",), "by_names"),  # its earlier name
}


def format_of(path: Path) -> str | None:
    """Return the format that the name of a file says, or that of a folder's first file; None if it says none."""
    if path.is_dir():
        files: list[Path] = []
        with suppress(OSError):  # reading says so
            files = sorted(path.iterdir(), key=lambda file: natural(stem_of(file)))
        return next(filter(None, map(_format_of_name, files)), None)
    return _format_of_name(path)


def _format_of_name(file: Path) -> str | None:
    for name, known in FORMATS.items():
        if suffix_of(file) in known.suffixes:
            return name
    return None


def known_suffixes() -> str:
    """Return the suffixes of the known formats, for messages."""
    return ", ".join(dict.fromkeys(suffix for known in FORMATS.values() for suffix in known.suffixes))
