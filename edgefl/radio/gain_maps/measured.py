"""Measurements of received power or path loss at any places, as a CSV file."""

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np

from edgefl.core.arrays import Bools, Floats, Ids
from edgefl.core.data_files import NotReadable, csv_rows, number_in
from edgefl.core.errors import InputError
from edgefl.core.sample_times import warn_once
from edgefl.core.section import nearest, shown
from edgefl.radio.gain_maps.gain_map import GainMap
from edgefl.radio.gain_maps.options import ImportOptions
from edgefl.world.mobility.placed import LEAST_EXTENT_M, projected_m

PLACE = ("x_m", "y_m")
RSRP = "rsrp_dbm"
LOSS = "path_loss_db"
COLUMNS = (*PLACE, RSRP, LOSS, "site", "los")
FARTHEST_STEPS = 2.0  # from a grid point to the measurement that it takes
MOST_POINTS = 4_000_000  # of a grid
TRUE_TEXTS = frozenset({"1", "true", "yes"})
MOST_DEGREES = (180.0, 90.0)  # of longitude and latitude
MAJORITY = 0.5  # of a grid point's measurements in line of sight
FALSE_TEXTS = frozenset({"0", "false", "no"})


class Measurement(NamedTuple):
    """A row of the file."""

    x: float  # metres, or degrees
    y: float
    gain_db: float
    site: str
    los: bool | None
    in_degrees: bool


def read_measured(path: Path, options: ImportOptions) -> GainMap:
    """Return the map of a CSV file with x_m, y_m and rsrp_dbm or path_loss_db; site and los may be there, too.

    Columns may have names as drive tests have them, such as longitude and latitude, which are projected to metres.
    Rows without a place or a value are left out.

    A grid point has the mean in dB of the measurements that are nearer to it than to any other point. One without any
    takes those of the nearest grid point that has some, within two steps; beyond that it is unknown.
    """
    if options.step_m is None:
        raise NotReadable("measurements lie on no grid: add --step-m, such as 5")
    rows = list(_measurements(path, options))
    if not rows:
        raise NotReadable("has no rows below its header")
    points_m = np.array([[row.x, row.y] for row in rows])
    origin_deg = None
    if rows[0].in_degrees:
        points_m, origin_deg = projected_m(points_m, options.origin)
    _check_extent(points_m)
    steps = np.round(points_m / options.step_m).astype(np.int64)
    first = steps.min(axis=0)
    columns, lines = (steps.max(axis=0) - first + 1).tolist()
    if columns * lines > MOST_POINTS or columns < 2 or lines < 2:
        text = f"makes a grid of {columns} x {lines} points, must be 2 x 2 to {MOST_POINTS:g} in all"
        raise NotReadable(f"--step-m {options.step_m:g} {text}")
    column, line = (steps - first).T
    gains = np.array([row.gain_db for row in rows])
    sights = np.array([bool(row.los) for row in rows])
    names = list(dict.fromkeys(row.site for row in rows))
    gains_db = np.empty((len(names), lines, columns))
    los = np.empty(gains_db.shape, dtype=bool)
    for site, name in enumerate(names):
        here = np.array([row.site == name for row in rows])
        place = (line[here], column[here])
        gains_db[site] = _on_grid(gains[here], place, (lines, columns))
        los[site] = _on_grid(sights[here].astype(float), place, (lines, columns)) >= MAJORITY
    return GainMap(
        x_m=(first[0] + np.arange(columns)) * options.step_m,
        y_m=(first[1] + np.arange(lines)) * options.step_m,
        path_gain_db=gains_db,
        los=los if all(row.los is not None for row in rows) else None,
        origin_deg=origin_deg,
    )


def _check_extent(points_m: Floats) -> None:
    """Refuse points [n, 2] that lie as close together as longitudes and latitudes of a cell do."""
    extent_m = float(np.ptp(points_m, axis=0).max())
    if extent_m < LEAST_EXTENT_M:
        text = f"its points lie within {extent_m:.3g} m in all: if they are longitude and latitude, name the columns so"
        raise NotReadable(text)


def _on_grid(values: Floats, place: tuple[Ids, Ids], shape: tuple[int, int]) -> Floats:
    """Return the means [ny, nx] of values [n] by grid point, whose row and column `place` has; NaN: unknown."""
    counts = np.zeros(shape)
    np.add.at(counts, place, 1.0)
    totals = np.zeros(shape)
    np.add.at(totals, place, values)
    means = np.divide(totals, counts, out=np.full(shape, np.nan), where=counts > 0)
    return _filled(means, counts > 0)


def _filled(values: Floats, known: Bools) -> Floats:
    """Return values [ny, nx] whose unknown points have that of the nearest known one, within `FARTHEST_STEPS`."""
    from scipy.ndimage import distance_transform_edt  # late: only this format needs it

    steps, (rows, columns) = distance_transform_edt(~known, return_indices=True)
    return np.where(steps <= FARTHEST_STEPS, values[rows, columns], np.nan)


def _measurements(path: Path, options: ImportOptions) -> Iterator[Measurement]:
    for name in options.columns:
        if name not in COLUMNS:
            raise InputError(f"--columns {name}: must be one of {', '.join(COLUMNS)}{nearest(name, COLUMNS)}")
    left_out: list[int] = []
    for row in csv_rows(path, PLACE, COLUMNS[2:], options.columns):
        given = [name for name in (RSRP, LOSS) if name in row.cells]
        if len(given) != 1:
            found = ", ".join(map(shown, given or [name for name in row.cells if name not in COLUMNS]))
            raise NotReadable(f"needs one of the columns {RSRP} and {LOSS}, has {found}: name it with --columns")
        if not row.is_measured((*PLACE, *given)):
            left_out.append(row.line)
            continue
        value = number_in(row, given[0])
        if given[0] == RSRP:
            if options.power_dbm is None:
                text = "RSRP is received power: add --power-dbm, the power of one resource element of the cell's"
                raise NotReadable(f"{text} reference signal, such as 18 for 46 dBm over 600 subcarriers")
            value -= options.power_dbm
        else:
            value = -value
        in_degrees = row.are_in_degrees(PLACE)
        limits = MOST_DEGREES if in_degrees else (np.inf, np.inf)
        x, y = (number_in(row, name, least=-most, most=most) for name, most in zip(PLACE, limits, strict=True))
        sight = _sight(row.cells.get("los"), row.line)
        yield Measurement(x, y, value, row.cells.get("site", ""), sight, in_degrees)
    if left_out:
        warn_once(f"{path}:{left_out[0]}: {len(left_out)} row(s) without a place or {given[0]}, left out")


def _sight(cell: str | None, line: int) -> bool | None:
    if cell is None:
        return None
    if cell.lower() in TRUE_TEXTS:
        return True
    if cell.lower() in FALSE_TEXTS:
        return False
    raise NotReadable(f"los: must be 0 or 1, got {shown(cell)}", line)
