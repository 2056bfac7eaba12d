"""Maps of path gain: values on a rectangular grid, from a ray tracer or from measurements, and what lies between.

**In decibels, not linear.** Path gain is a power law of distance times obstacles that multiply, so in dB it is nearly
affine over a step of the grid, and its shadowing is normal. A mean of linear gains would follow the strongest corner:
halfway between -80 and -120 dB it says -83 dB, where a power law of distance has about -100 dB. The error on points
that were left out of a map is `held_out_errors_db`.
"""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from channel._arrays import Bools, Floats
from channel._checks import finite
from channel.tr38901 import Statistics

STATISTICS = Statistics(shadowing_db=(0.0, 0.0), decorrelation_m=(20.0, 20.0))
"""A map's gains contain its shadowing, so the decorrelation distances [m] have no effect."""


def axis(quantity: str, values: ArrayLike) -> Floats:
    """Return the coordinates [n] of a grid along one axis [m]: at least 2, finite and ascending; steps may differ."""
    array = finite(quantity, values)
    if array.ndim != 1 or len(array) < 2 or not (np.diff(array) > 0).all():
        raise ValueError(f"{quantity} must be at least 2 ascending coordinates, its shape is {array.shape}")
    return array


def is_inside(x_m: ArrayLike, y_m: ArrayLike, position_m: ArrayLike) -> Bools:
    """Return whether positions [n, 2] are on a grid with axes [nx] and [ny], its border included."""
    x = axis("x_m", x_m)
    y = axis("y_m", y_m)
    position = np.asarray(position_m, dtype=np.float64)
    inside_x = (position[..., 0] >= x[0]) & (position[..., 0] <= x[-1])
    inside_y = (position[..., 1] >= y[0]) & (position[..., 1] <= y[-1])
    return np.asarray(inside_x & inside_y)


def clamped_m(x_m: ArrayLike, y_m: ArrayLike, position_m: ArrayLike) -> Floats:
    """Return the points [n, 2] of a grid that are nearest to positions [n, 2]."""
    x = axis("x_m", x_m)
    y = axis("y_m", y_m)
    return np.clip(np.asarray(position_m, dtype=np.float64), [x[0], y[0]], [x[-1], y[-1]])


def bilinear(
    x_m: ArrayLike, y_m: ArrayLike, values: ArrayLike, position_m: ArrayLike, *, nan_outside: bool = False
) -> Floats:
    """Return values at positions by bilinear interpolation: exact on the points of the grid, and for affine values.

    Args:
        x_m: coordinates of the grid's columns [nx] [m], ascending.
        y_m: coordinates of its rows [ny] [m], ascending.
        values: [..., ny, nx], such as path gains in dB; NaN where nothing is known.
        position_m: positions [n, 2] [m].
        nan_outside: return NaN instead of the errors about positions, as for a picture.

    Returns:
        Values [..., n].

    Raises:
        ValueError: a position is outside the grid, or beside a point without a value; the text names it.

    Example:
        >>> bilinear([0.0, 10.0], [0.0, 10.0], [[-80.0, -90.0], [-90.0, -110.0]], [[0.0, 10.0], [5.0, 5.0]])
        array([-90. , -92.5])
    """
    x, y, grid, position = _checked(x_m, y_m, values, position_m)
    inside = is_inside(x, y, position)
    if not nan_outside:
        _check_inside(inside, x, y, position)
    column, right = _cell(x, position[:, 0])
    row, up = _cell(y, position[:, 1])
    total = np.zeros((*grid.shape[:-2], len(position)))
    for rows, weight_y in ((row, 1.0 - up), (row + 1, up)):
        for columns, weight_x in ((column, 1.0 - right), (column + 1, right)):
            weight = weight_y * weight_x
            # A corner without weight may be without a value.
            total += np.where(weight > 0, weight * grid[..., rows, columns], 0.0)
    total[..., ~inside] = np.nan
    unknown = np.isnan(total).reshape(-1, len(position)).any(axis=0)
    if unknown.any() and not nan_outside:
        raise ValueError(f"position_m = {_shown(position[unknown][0])} is beside a point of the map without a value")
    return total


def nearest(x_m: ArrayLike, y_m: ArrayLike, values: ArrayLike, position_m: ArrayLike) -> NDArray[Any]:
    """Return the values [..., n] of the grid's points nearest to positions [n, 2], such as line of sight.

    The arguments and errors are those of `bilinear`; halfway the lower coordinate counts.

    Example:
        >>> nearest([0.0, 10.0], [0.0, 10.0], [[True, True], [False, True]], [[4.0, 6.0]])
        array([False])
    """
    x, y, grid, position = _checked(x_m, y_m, values, position_m)
    _check_inside(is_inside(x, y, position), x, y, position)
    column, right = _cell(x, position[:, 0])
    row, up = _cell(y, position[:, 1])
    return np.asarray(grid[..., row + (up > 0.5), column + (right > 0.5)])


def held_out_errors_db(x_m: ArrayLike, y_m: ArrayLike, gain_db: ArrayLike) -> Floats:
    """Return the errors [m] of a map with half as many rows and columns, on the points that it leaves out [dB].

    They are an upper estimate of the errors between the points of the map itself, whose step is half as long. Points
    without a value, or beside one, do not count.
    """
    x = axis("x_m", x_m)
    y = axis("y_m", y_m)
    gains = np.asarray(gain_db, dtype=np.float64)
    kept_x = x[::2]
    kept_y = y[::2]
    if len(kept_x) < 2 or len(kept_y) < 2:  # no grid would be left
        return np.empty(0)
    points = np.stack(np.meshgrid(x, y), axis=-1)
    left_out = np.ones(points.shape[:2], dtype=bool)
    left_out[::2, ::2] = False
    found = bilinear(kept_x, kept_y, gains[..., ::2, ::2], points[left_out], nan_outside=True)
    errors = found - gains[..., left_out]
    return np.asarray(errors[np.isfinite(errors)])


def _checked(
    x_m: ArrayLike, y_m: ArrayLike, values: ArrayLike, position_m: ArrayLike
) -> tuple[Floats, Floats, NDArray[Any], Floats]:
    """Return both axes, the values [..., ny, nx] and the positions [n, 2]."""
    x = axis("x_m", x_m)
    y = axis("y_m", y_m)
    grid = np.asarray(values)
    if grid.shape[-2:] != (len(y), len(x)):
        raise ValueError(f"values of shape {grid.shape} must have {len(y)} rows and {len(x)} columns")
    position = np.asarray(position_m, dtype=np.float64)
    if position.ndim != 2 or position.shape[1] != 2:
        raise ValueError(f"position_m of shape {position.shape} must be [n, 2]")
    return x, y, grid, position


def _check_inside(inside: Bools, x: Floats, y: Floats, position: Floats) -> None:
    """Raise ValueError with the first of positions [n, 2] that is not inside."""
    if not inside.all():
        spans = f"x from {x[0]:g} to {x[-1]:g} m and y from {y[0]:g} to {y[-1]:g} m"
        raise ValueError(f"position_m = {_shown(position[~inside][0])} is outside the map, which spans {spans}")


def _cell(coordinates: Floats, along: Floats) -> tuple[NDArray[np.int64], Floats]:
    """Return the cells [n] of an axis where coordinates [n] lie, and how far in each: from 0 to 1."""
    index = np.clip(np.searchsorted(coordinates, along, side="right") - 1, 0, len(coordinates) - 2)
    lower = coordinates[index]
    return index, (along - lower) / (coordinates[index + 1] - lower)


def _shown(position: Floats) -> str:
    return f"({position[0]:g}, {position[1]:g})"
