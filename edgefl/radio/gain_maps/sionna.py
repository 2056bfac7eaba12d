"""Radio maps of Sionna RT (`PlanarRadioMap`), saved by NumPy."""

import math
from pathlib import Path

import numpy as np

from edgefl.core.data_files import NotReadable
from edgefl.radio.gain_maps.gain_map import NO_PATH_DB, GainMap, read_arrays
from edgefl.radio.gain_maps.options import ImportOptions

DIMENSIONS = 3
TOLERANCE_M = 1e-3
SAVE = "np.savez(file, path_gain=rm.path_gain, cell_centers=rm.cell_centers, tx_positions=..., frequency=...)"


def read_sionna(path: Path, options: ImportOptions) -> GainMap:
    """Return the map of an .npz file with the arrays of a PlanarRadioMap, under the names of its properties.

    `path_gain` is [tx, y, x], linear, and `cell_centers` [y, x, 3] in metres; `tx_positions` [tx, 3], `frequency` in Hz
    and `los` [tx, y, x] may be there. A gain is the mean over a bin, and counts at the centre of the bin; it is 0 where
    no path leads.
    """
    arrays = read_arrays(path, ("path_gain", "cell_centers"), f"save them by {SAVE}")
    gains = np.asarray(arrays["path_gain"], dtype=np.float64)
    centres = np.asarray(arrays["cell_centers"], dtype=np.float64)
    if gains.ndim != DIMENSIONS or centres.shape != (*gains.shape[1:], DIMENSIONS):
        text = f"path_gain {gains.shape} and cell_centers {centres.shape} must be [tx, y, x] and [y, x, 3]"
        raise NotReadable(f"{text}: a map on a mesh has no grid")
    if not (gains >= 0).all():
        raise NotReadable("path_gain must be linear, from 0: it is negative or NaN somewhere")
    x_m = centres[0, :, 0]
    y_m = centres[:, 0, 1]
    is_level = np.allclose(centres[..., 0], x_m, atol=TOLERANCE_M)
    if not (is_level and np.allclose(centres[..., 1], y_m[:, None], atol=TOLERANCE_M)):
        raise NotReadable("cell_centers are turned: trace the map with the orientation (0, 0, 0)")
    gains_db = np.full(gains.shape, NO_PATH_DB)
    np.log10(gains, out=gains_db, where=gains > 0)
    gains_db[gains > 0] *= 10.0
    sites_m = arrays.get("tx_positions")
    if sites_m is not None:
        sites_m = np.asarray(sites_m, dtype=np.float64).reshape(len(gains), -1)[:, :2]
    los = arrays.get("los")
    if los is not None:
        los = los.astype(bool).reshape(gains.shape)
    return GainMap(
        x_m=x_m,
        y_m=y_m,
        path_gain_db=np.maximum(gains_db, NO_PATH_DB),
        los=los,
        sites_m=sites_m,
        carrier_hz=float(np.asarray(arrays.get("frequency", math.nan)).reshape(-1)[0]),
    )
