"""Where terminals are: distances to the base station at the cell's centre."""

import numpy as np
from numpy.typing import ArrayLike

from channel._checks import Floats, non_negative, require, within


def annulus_distance_m(u: ArrayLike, min_distance_m: float, radius_m: float) -> Floats:
    """Ground distance [m] of terminals spread with uniform areal density over an annulus.

    The inverse CDF of f(d) = 2d / (R^2 - d_min^2), d_min <= d <= R (dynamic-devices paper, eq. 22 and 38).

    Args:
        u: draws of the uniform distribution on [0, 1], any shape.
        min_distance_m: inner radius [m].
        radius_m: outer radius [m].

    Returns:
        Distances [m], the shape of `u`.

    Raises:
        ValueError: `u` is outside [0, 1], or not 0 <= min_distance_m < radius_m < infinity.
    """
    share = within("u", u, 0.0, 1.0)
    radius = np.asarray(radius_m, dtype=np.float64)
    inner = non_negative("min_distance_m", min_distance_m)
    require((radius > inner) & (radius < np.inf), radius, "radius_m", f"finite and above min_distance_m = {inner:g}")
    return np.asarray(np.sqrt(inner**2 + share * (radius**2 - inner**2)))


def distance_3d_m(distance_2d_m: ArrayLike, bs_height_m: ArrayLike, ut_height_m: ArrayLike) -> Floats:
    """Distance [m] between the antennas (3GPP TR 38.901, Figure 7.4.1-1).

    Args:
        distance_2d_m: ground distance [m].
        bs_height_m: antenna height of the base station [m].
        ut_height_m: antenna height of the terminal [m].

    Returns:
        sqrt(d_2D^2 + (h_BS - h_UT)^2) [m], the broadcast shape of the arguments.
    """
    climb_m = np.asarray(bs_height_m, dtype=np.float64) - np.asarray(ut_height_m, dtype=np.float64)
    return np.asarray(np.sqrt(np.asarray(distance_2d_m, dtype=np.float64) ** 2 + climb_m**2))
