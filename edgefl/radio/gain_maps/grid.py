"""Points that lie on a grid, in any order."""

import numpy as np

from edgefl.core.arrays import Floats, Ids
from edgefl.core.data_files import NotReadable

ROUNDING_M = 1e-3  # coordinates closer than this are one: ray tracers write them with 32 bits
MOST_POINTS = 100  # grid points for each point given: more of them were never on a grid


def grid_of(points_m: Floats) -> tuple[Floats, Floats, Ids, Ids]:
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
