"""Sources of gain maps, a file for each: a function that returns the map of a file or folder.

To add a format: a file in this folder with such a function, a line in `FORMATS`, and its name in `cli/import_map.py`.
"""

from collections.abc import Callable
from pathlib import Path

import numpy as np

from edgefl.core.data_files import NotReadable, faults_in
from edgefl.core.errors import InputError
from edgefl.core.sample_times import warn_once
from edgefl.radio.gain_maps.deepmimo import read_deepmimo
from edgefl.radio.gain_maps.gain_map import GainMap
from edgefl.radio.gain_maps.measured import read_measured
from edgefl.radio.gain_maps.options import ImportOptions
from edgefl.radio.gain_maps.sionna import read_sionna

REFLECTED_DB = 6.0  # of a path and a reflection as strong as it, in phase


FORMATS: dict[str, Callable[[Path, ImportOptions], GainMap]] = {
    "sionna": read_sionna,
    "deepmimo": read_deepmimo,
    "csv": read_measured,
}


def import_map(source: Path, kind: str | None, options: ImportOptions) -> GainMap:
    """Return the map of a source; its format is by default that of its name.

    Raises:
        InputError: the source cannot be read, or holds no map.
    """
    with faults_in(source):
        made = FORMATS[kind or format_of(source)](source, options)
        _check_finite(made)
    _warn_of_gains(source, made)
    if made.origin_deg is None:
        made = made.moved(options.origin or (0.0, 0.0))
    return made


def _check_finite(made: GainMap) -> None:
    infinite = np.argwhere(np.isinf(made.path_gain_db))
    if infinite.size:
        text = f"a path gain must be finite, and is infinite at {made.place(infinite[0])}"
        raise NotReadable(f"{text}: trace the map without diffraction, or set infinite gains to 0, which means no path")


def _warn_of_gains(source: Path, made: GainMap) -> None:
    """Warn of gains that no rays add up to."""
    excess_db = made.path_gain_db - made.free_space_gain_db()
    most_db = np.nanmax(excess_db)
    if most_db > REFLECTED_DB:
        worst = np.argwhere(excess_db == most_db)[0]
        text = f"path gains are up to {most_db:.1f} dB above that of free space, at {made.place(worst)}, and a"
        text = f"{text} reflection adds at most {REFLECTED_DB:g} dB"
        warn_once(f"{source}: {text}: unless they contain antennas, trace the map without diffraction")


def format_of(source: Path) -> str:
    """Return the format of a source by its name.

    Raises:
        InputError: the name says none.
    """
    if source.is_dir():
        return "deepmimo"
    if source.suffix == ".npz":
        return "sionna"
    if source.name.removesuffix(".gz").endswith((".csv", ".txt", ".tsv")):
        return "csv"
    raise InputError(f"{source}: its name says no format: add --format {'|'.join(FORMATS)}")
