"""The file of a gain map: a NumPy .npz file, which `edgefl import-map` writes."""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from io import BytesIO
from pathlib import Path
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from channel import free_space, gain_map
from edgefl.core.arrays import Bools, Floats
from edgefl.core.data_files import NotReadable, faults_in
from edgefl.core.files import opened

NO_PATH_DB = -200.0
"""The gain where a ray tracer found no path: far below any receiver's noise."""

LARGEST_DB = 300.0
NEEDED = ("x_m", "y_m", "path_gain_db")


@dataclass(frozen=True)
class GainMap:
    """Path gains between isotropic antennas, from each base station to the points of a grid."""

    x_m: Floats  # [nx] of its columns, ascending
    y_m: Floats  # [ny] of its rows, ascending
    path_gain_db: Floats  # [sites, ny, nx]; NaN: unknown
    los: Bools | None = None  # [sites, ny, nx]; None: unknown
    sites_m: Floats | None = None  # [sites, 2] of the base stations; None: unknown
    carrier_hz: float = math.nan  # NaN: unknown
    origin_deg: tuple[float, float] | None = None  # latitude and longitude of (0, 0), of places in degrees

    @property
    def sites(self) -> int:
        """Return the number of base stations."""
        return len(self.path_gain_db)

    def moved(self, origin_m: tuple[float, float]) -> Self:
        """Return the map with a point [m] of it at (0, 0)."""
        sites_m = None if self.sites_m is None else self.sites_m - np.array(origin_m)
        return replace(self, x_m=self.x_m - origin_m[0], y_m=self.y_m - origin_m[1], sites_m=sites_m)

    @property
    def step_m(self) -> float:
        """Return the longest distance between neighbouring points of the grid along an axis."""
        return float(max(np.diff(self.x_m).max(), np.diff(self.y_m).max()))

    def spans(self) -> str:
        """Return the extent of the grid, in words."""
        x = f"x from {self.x_m[0]:g} to {self.x_m[-1]:g} m"
        return f"{x} and y from {self.y_m[0]:g} to {self.y_m[-1]:g} m"

    def place(self, index: Iterable[Any]) -> str:
        """Return the point of an index (site, row, column) of the gains, in words."""
        _, row, column = index
        return f"({self.x_m[column]:g}, {self.y_m[row]:g})"

    def free_space_gain_db(self) -> Floats:
        """Return the gains [sites, ny, nx] of free space, with all heights alike; 0 dB without stations or carrier."""
        if self.sites_m is None or not np.isfinite(self.sites_m).all() or not 0 < self.carrier_hz < math.inf:
            return np.zeros(self.path_gain_db.shape)
        points_m = np.stack(np.meshgrid(self.x_m, self.y_m), axis=-1)
        distance_m = np.linalg.norm(points_m - self.sites_m[:, None, None], axis=-1)
        in_far_field_m = np.maximum(distance_m, free_space.wavelength_m(self.carrier_hz))
        return -free_space.path_loss_db(in_far_field_m, self.carrier_hz)

    def radius_m(self) -> float:
        """Return the radius of the largest disc around (0, 0) on the grid; 0 if that point is outside."""
        border_m = (-self.x_m[0], self.x_m[-1], -self.y_m[0], self.y_m[-1])
        return max(float(min(border_m)), 0.0)


def map_bytes(made: GainMap) -> bytes:
    """Return the file of a map; gains have 32 bits, which rounds them by less than 1e-5 dB."""
    arrays: dict[str, npt.NDArray[Any]] = {
        "x_m": made.x_m,
        "y_m": made.y_m,
        "path_gain_db": made.path_gain_db.astype(np.float32),
        "carrier_hz": np.array(made.carrier_hz),
    }
    if made.los is not None:
        arrays["los"] = made.los
    if made.sites_m is not None:
        arrays["sites_m"] = made.sites_m
    stream = BytesIO()
    np.savez_compressed(stream, allow_pickle=False, **arrays)
    return stream.getvalue()


def read_map(path: Path) -> GainMap:
    """Return the map of a file; it is read again if it has changed.

    Raises:
        InputError: the file cannot be read, or holds no map.
    """
    with faults_in(path):
        return _read(path, path.stat().st_mtime_ns)


@lru_cache(maxsize=4)
def _read(path: Path, changed_ns: int) -> GainMap:
    arrays = read_arrays(path, NEEDED, "make a map with edgefl import-map")
    try:
        return checked_map(arrays)
    except ValueError as error:
        raise NotReadable(str(error)) from None


def checked_map(arrays: Mapping[str, npt.NDArray[Any]]) -> GainMap:
    """Return the map of the arrays of a file.

    Raises:
        ValueError: an array has another shape, or a value that no map has.
    """
    x_m = gain_map.axis("x_m", arrays["x_m"])
    y_m = gain_map.axis("y_m", arrays["y_m"])
    gains_db = np.asarray(arrays["path_gain_db"], dtype=np.float64)
    shape = (len(gains_db) if gains_db.ndim else 0, len(y_m), len(x_m))
    if gains_db.shape != shape or not shape[0]:
        raise ValueError(f"path_gain_db has the shape {gains_db.shape}, must be [sites, {len(y_m)}, {len(x_m)}]")
    largest_db = np.nanmax(np.abs(gains_db), initial=0.0)
    if not largest_db <= LARGEST_DB:
        raise ValueError(f"path_gain_db must be from {-LARGEST_DB:g} to {LARGEST_DB:g} dB, or NaN, got {largest_db:g}")
    los = arrays.get("los")
    if los is not None and (los.shape != shape or los.dtype != np.bool_):
        raise ValueError(f"los must be booleans of the shape {shape}, got {los.dtype} of {los.shape}")
    sites_m = arrays.get("sites_m")
    if sites_m is not None:
        sites_m = np.asarray(sites_m, dtype=np.float64)
        if sites_m.shape != (shape[0], 2) or not np.isfinite(sites_m).all():
            raise ValueError(f"sites_m must be positions [{shape[0]}, 2], its shape is {sites_m.shape}")
    carrier_hz = float(np.asarray(arrays.get("carrier_hz", math.nan)).reshape(-1)[0])
    return GainMap(x_m, y_m, gains_db, los, sites_m, carrier_hz)


def read_arrays(path: Path, needed: Iterable[str], remedy: str) -> dict[str, npt.NDArray[Any]]:
    """Return the arrays of a NumPy .npz file.

    Raises:
        NotReadable: it is another file, or lacks an array that is needed.
        OSError: it cannot be read.
    """
    try:
        with opened(path) as stream, np.load(stream, allow_pickle=False) as archive:
            arrays = {name: np.asarray(archive[name]) for name in archive.files}
    except OSError:
        raise
    except Exception:  # noqa: BLE001 - a damaged archive can raise anything
        raise NotReadable("is not a .npz file of plain arrays") from None
    missing = [name for name in needed if name not in arrays]
    if missing:
        raise NotReadable(f"lacks {', '.join(missing)}; it has {', '.join(arrays) or 'nothing'}: {remedy}")
    return arrays
