"""Path loss of the Urban Macro cell, outdoors (3GPP TR 38.901, clause 7.4, scenario UMa)."""

import math

import numpy as np
from numpy.typing import ArrayLike

from channel._arrays import Floats
from channel._checks import BORDER, boolean, require, within
from channel.geometry import distance_3d_m
from channel.tr38901 import Statistics, Validity
from channel.units import SPEED_OF_LIGHT_MPS

VALIDITY = Validity(
    distance_m=(10.0, 5_000.0),
    carrier_hz=(0.5e9, 100e9),
    bs_height_m=(22.5, math.inf),  # the TR: 25 m; no lower than the highest terminal, so above any h_E
    ut_height_m=(1.5, 22.5),
)
"""Ranges of Table 7.4.1-1 and its notes."""

STATISTICS = Statistics(
    shadowing_db=(4.0, 6.0, 7.0),
    decorrelation_m=(37.0, 50.0, 7.0),
    los_decorrelation_m=50.0,
    k_mean_db=9.0,
    k_std_db=3.5,
    k_decorrelation_m=12.0,
)
"""Tables 7.4.1-1 (shadowing), 7.5-6 (O2I, decorrelation, K) and 7.6.3.1-2 (LoS state)."""


def environment_height_m(distance_2d_m: ArrayLike, ut_height_m: ArrayLike, u: ArrayLike | None = None) -> Floats:
    """Return the effective environment height `h_E` (TR 38.901, Table 7.4.1-1, note 1).

    1 m with probability `1 / (1 + C(d_2D, h_UT))`, else one of 12, 15, ..., h_UT - 1.5 m with equal probabilities;
    drawn by link. C is 0 for a terminal below 13 m or nearer than 18 m.

    Args:
        distance_2d_m: ground distance [m], 10 m to 5 km.
        ut_height_m: antenna height of the terminal [m], 1.5 to 22.5 m.
        u: draws of the uniform distribution on [0, 1]; needed where a terminal is at 13 m or above.

    Returns:
        h_E [m], the broadcast shape of the arguments.
    """
    distance = VALIDITY.distances(distance_2d_m)
    ut_height = within("ut_height_m", ut_height_m, *VALIDITY.ut_height_m, BORDER)
    # Below 13 m the height is 1 m whatever the draw, which may then be left out.
    if u is None:
        require(ut_height < 13.0, ut_height, "ut_height_m", "below 13 m where no draw for h_E is given")
        u = 0.0
    draw = within("u", u, 0.0, 1.0)
    low = 1.0 / (1.0 + _height_gain(ut_height) * _distance_gain(distance))  # probability of 1 m
    count = np.maximum(np.floor((ut_height - 1.5 - 12.0) / 3.0 + BORDER) + 1.0, 1.0)  # of 12, 15, ..., h_UT - 1.5
    # One draw serves both choices: above `low`, its excess is again uniform and picks the height.
    share = (draw - low) / np.maximum(1.0 - low, np.finfo(np.float64).tiny)
    step = np.clip(np.floor(share * count), 0.0, count - 1.0)
    return np.where((draw < low) | (low == 1.0), 1.0, 12.0 + 3.0 * step)


def breakpoint_m(
    carrier_hz: ArrayLike,
    bs_height_m: ArrayLike = 25.0,
    ut_height_m: ArrayLike = 1.5,
    environment_m: ArrayLike = 1.0,
) -> Floats:
    """Return the break-point distance `4 h'_BS h'_UT f_c / c`, `h' = h - h_E` (TR 38.901, Table 7.4.1-1, note 1).

    It is the ground distance [m] where the LoS slope changes, of the broadcast shape of the arguments, which are those
    of `path_loss_db`; `environment_m` is h_E [m], from `environment_height_m`, below the terminal.
    """
    carrier, bs_height, ut_height = VALIDITY.link(carrier_hz, bs_height_m, ut_height_m)
    # An environment as high as the terminal would put the break point at 0.
    environment, ut_height = np.broadcast_arrays(np.asarray(environment_m, dtype=np.float64), ut_height)
    require(
        (environment >= 0.0) & (environment < ut_height), environment, "environment_m", "from 0 to below ut_height_m"
    )
    return np.asarray(4.0 * (bs_height - environment) * (ut_height - environment) * carrier / SPEED_OF_LIGHT_MPS)


def path_loss_db(
    distance_2d_m: ArrayLike,
    carrier_hz: ArrayLike,
    los: ArrayLike,
    bs_height_m: ArrayLike = 25.0,
    ut_height_m: ArrayLike = 1.5,
    u: ArrayLike | None = None,
) -> Floats:
    """Return the median path loss, without shadowing (TR 38.901, Table 7.4.1-1, UMa).

    In line of sight `PL1 = 28 + 22 log10(d_3D) + 20 log10(f)` up to the break point, f in GHz, and
    `PL2 = 28 + 40 log10(d_3D) + 20 log10(f) - 9 log10(d'_BP^2 + (h_BS - h_UT)^2)` beyond; without, at least that and
    `13.54 + 39.08 log10(d_3D) + 20 log10(f) - 0.6 (h_UT - 1.5)`.

    Args:
        distance_2d_m: ground distance [m], 10 m to 5 km.
        carrier_hz: carrier frequency [Hz], 0.5 to 100 GHz.
        los: whether the terminal sees the base station, bool.
        bs_height_m: antenna height of the base station [m], at least 22.5 m (the TR: 25 m).
        ut_height_m: antenna height of the terminal [m], 1.5 to 22.5 m.
        u: draws of the uniform distribution on [0, 1] for h_E, see `environment_height_m`; needed where a terminal is
            at 13 m or above.

    Returns:
        Path loss [dB], the broadcast shape of the arguments.

    Example:
        >>> path_loss_db(100.0, 3.5e9, [True, False]).round(2)
        array([ 83.14, 103.04])
    """
    seen = boolean("los", los)
    distance = VALIDITY.distances(distance_2d_m)
    carrier, bs_height, ut_height = VALIDITY.link(carrier_hz, bs_height_m, ut_height_m)
    breakpoint_ = breakpoint_m(carrier, bs_height, ut_height, environment_height_m(distance, ut_height, u))
    log_d = np.log10(distance_3d_m(distance, bs_height, ut_height))
    log_f = np.log10(carrier / 1e9)  # the formulas take GHz
    near = 28.0 + 22.0 * log_d + 20.0 * log_f
    far = 28.0 + 40.0 * log_d + 20.0 * log_f - 9.0 * np.log10(breakpoint_**2 + (bs_height - ut_height) ** 2)
    line_of_sight = np.where(distance <= breakpoint_, near, far)  # PL1 and PL2, which meet at the break point
    blocked = 13.54 + 39.08 * log_d + 20.0 * log_f - 0.6 * (ut_height - 1.5)
    # By the table, a blocked path never has a lower loss than one in line of sight.
    return np.where(seen, line_of_sight, np.maximum(line_of_sight, blocked))


def los_probability(distance_2d_m: ArrayLike, ut_height_m: ArrayLike = 1.5) -> Floats:
    """Return the probability of line of sight (TR 38.901, Table 7.4.2-1, UMa).

    Args:
        distance_2d_m: outdoor part of the ground distance [m], 0 to 5 km.
        ut_height_m: antenna height of the terminal [m], 1.5 to 22.5 m; counts from 13 m on.

    Returns:
        1 up to 18 m, then `[18/d + exp(-d/63) (1 - 18/d)] [1 + C' (5/4) (d/100)^3 exp(-d/150)]` with
        `C' = ((h_UT - 13)/10)^1.5` above 13 m, else 0; the broadcast shape of the arguments.
    """
    # At 18 m the formula gives 1, so nearer distances count as 18 m.
    distance = np.maximum(within("distance_2d_m", distance_2d_m, 0.0, VALIDITY.distance_m[1], BORDER), 18.0)
    ut_height = within("ut_height_m", ut_height_m, *VALIDITY.ut_height_m, BORDER)
    street = 18.0 / distance + np.exp(-distance / 63.0) * (1.0 - 18.0 / distance)
    return np.asarray(street * (1.0 + _height_gain(ut_height) * _distance_gain(distance)))


def _height_gain(ut_height_m: Floats) -> Floats:
    """Return `((h_UT - 13)/10)^1.5` above 13 m, else 0."""
    return np.asarray((np.maximum(ut_height_m - 13.0, 0.0) / 10.0) ** 1.5)


def _distance_gain(distance_2d_m: Floats) -> Floats:
    """Return `g(d_2D) = (5/4) (d/100)^3 exp(-d/150)` beyond 18 m, else 0."""
    gain = 1.25 * (distance_2d_m / 100.0) ** 3 * np.exp(-distance_2d_m / 150.0)
    return np.where(distance_2d_m > 18.0, gain, 0.0)
