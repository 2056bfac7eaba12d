"""Formats of trace files, a file for each: a function that yields samples in the order of the file.

To add a format: a file in this folder with such a function, its name in `FormatName`, and a line in `FORMATS`.
"""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Literal, NamedTuple

from edgefl.world.mobility.formats.bonnmotion import read_bonnmotion
from edgefl.world.mobility.formats.csv import read_csv
from edgefl.world.mobility.formats.fcd import read_fcd
from edgefl.world.mobility.formats.gpx import read_gpx
from edgefl.world.mobility.formats.ns2 import read_ns2
from edgefl.world.mobility.formats.obsmat import read_obsmat
from edgefl.world.mobility.formats.sample import Sample

FormatName = Literal["csv", "obsmat", "fcd", "gpx", "bonnmotion", "ns2"]


class Format(NamedTuple):
    """How files of one format are read."""

    read: Callable[[Path], Iterator[Sample]]
    suffixes: tuple[str, ...]  # of names of such files; none: `mobility.format` must say it
    places: Literal["metres", "degrees", "as_told", "by_speeds"]
    """What x and y are: metres, or longitude and latitude; `as_told`: metres unless the key `coordinates` says degrees;
    `by_speeds`: degrees where the samples' speeds say so."""


FORMATS: dict[str, Format] = {
    "csv": Format(read_csv, (".csv",), "as_told"),
    "obsmat": Format(read_obsmat, (".txt",), "metres"),
    "fcd": Format(read_fcd, (".xml",), "by_speeds"),
    "gpx": Format(read_gpx, (".gpx",), "degrees"),
    "bonnmotion": Format(read_bonnmotion, (".movements",), "metres"),
    "ns2": Format(read_ns2, (".tcl", ".ns_movements"), "metres"),
}


def format_of(path: Path) -> str | None:
    """Return the format that a file's name says, with or without .gz; None if it says none."""
    suffix = Path(path.name.removesuffix(".gz")).suffix
    for name, known in FORMATS.items():
        if suffix in known.suffixes:
            return name
    return None


def known_suffixes() -> str:
    """Return the suffixes by which formats are known, for messages."""
    return ", ".join(suffix for known in FORMATS.values() for suffix in known.suffixes)
