"""Scenarios of DeepMIMO, version 4: a folder with an .npz file for each quantity, transmitter and set of receivers."""

import json
import math
import re
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from edgefl.core.arrays import Floats, Ids
from edgefl.core.data_files import NotReadable
from edgefl.core.files import read_text
from edgefl.radio.gain_maps.gain_map import NO_PATH_DB, GainMap, read_arrays
from edgefl.radio.gain_maps.options import ImportOptions

POWER_FILE = re.compile(r"power_(t\d+_tx\d+)_r(\d+)\.npz")
LINE_OF_SIGHT = 0  # the code of a path without interactions, in `inter`
ROUNDING_M = 1e-3  # coordinates closer than this are one: ray tracers write them with 32 bits
MOST_POINTS = 100  # grid points for each point given: more of them were never on a grid


def read_deepmimo(folder: Path, options: ImportOptions) -> GainMap:
    """Return the map of a scenario's folder, from all transmitters to one set of receivers on a grid.

    The gain is the sum of the paths' powers [dB of 0 dB sent], without their phases: fading is a model's. A receiver
    without a path has no signal; grid points without a receiver are unknown. Paths are sorted by nothing, so a receiver
    is in line of sight if any of its paths has no interaction.
    """
    files = [match for path in sorted(folder.iterdir()) if (match := POWER_FILE.fullmatch(path.name))]
    if not files:
        raise NotReadable("holds no power_t..._tx..._r....npz, as a scenario of DeepMIMO 4 does: download it again")
    sets = sorted({int(match[2]) for match in files})
    chosen = sets[0] if options.receivers is None else options.receivers
    if chosen not in sets:
        raise NotReadable(
            f"has the sets of receivers {', '.join(map(str, sets))}: --receivers {chosen} is none of them"
        )
    names = [f"{match[1]}_r{match[2]}" for match in files if int(match[2]) == chosen]
    points_m = _array(folder, "rx_pos", names[0])[:, :2]
    x_m, y_m, columns, rows = _grid_of(points_m)
    gains_db = np.full((len(names), len(y_m), len(x_m)), np.nan)
    los = np.zeros(gains_db.shape, dtype=bool)
    sites_m = np.zeros((len(names), 2))
    for site, name in enumerate(names):
        powers = 10.0 ** (_array(folder, "power", name) / 10.0)
        total = np.nansum(powers, axis=1)
        found_db = np.full(len(total), NO_PATH_DB)
        found_db[total > 0] = 10.0 * np.log10(total[total > 0])
        gains_db[site, rows, columns] = np.maximum(found_db, NO_PATH_DB)
        los[site, rows, columns] = (_array(folder, "inter", name) == LINE_OF_SIGHT).any(axis=1)
        sites_m[site] = _array(folder, "tx_pos", name).reshape(-1)[:2]
    return GainMap(x_m, y_m, gains_db, los, sites_m, _carrier_hz(folder))


def _grid_of(points_m: Floats) -> tuple[Floats, Floats, Ids, Ids]:
    """Return the axes [nx] and [ny] of the grid on which points [n, 2] lie, and the column and row [n] of each.

    Raises:
        NotReadable: the points lie on no grid parallel to the axes.
    """
    x_m, columns = _axis(points_m[:, 0])
    y_m, rows = _axis(points_m[:, 1])
    if len(x_m) < 2 or len(y_m) < 2 or len(x_m) * len(y_m) > MOST_POINTS * len(points_m):
        text = f"its {len(points_m)} points have {len(x_m)} different x and {len(y_m)} different y"
        raise NotReadable(f"{text}: they are on no grid that is parallel to the axes")
    return x_m, y_m, columns, rows


def _axis(values: Floats) -> tuple[Floats, Ids]:
    """Return the different coordinates, ascending, and the index of each value among them."""
    ordered = np.sort(values)
    is_new = np.r_[True, np.diff(ordered) > ROUNDING_M]
    coordinates = ordered[is_new]
    index = np.searchsorted(coordinates, values + ROUNDING_M, side="right") - 1
    return coordinates, np.maximum(index, 0)


def _array(folder: Path, key: str, name: str) -> npt.NDArray[Any]:
    path = folder / f"{key}_{name}.npz"
    if not path.exists():
        raise NotReadable(f"lacks {path.name}")
    arrays = read_arrays(path, (key,), f"download {path.name} again")
    return np.asarray(arrays[key], dtype=np.float64)


def _carrier_hz(folder: Path) -> float:
    """Return the carrier that `params.json` names; NaN if it names none."""
    try:
        return float(json.loads(read_text(folder / "params.json"))["rt_params"]["frequency"])
    except (OSError, ValueError, KeyError, TypeError):
        return math.nan
