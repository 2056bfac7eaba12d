"""Path loss of the Urban Micro street canyon, outdoors (3GPP TR 38.901, clause 7.4, scenario UMi-Street Canyon)."""

import math

import numpy as np
from numpy.typing import ArrayLike

from channel._arrays import Floats
from channel._checks import BORDER, boolean, require, within
from channel.geometry import distance_3d_m
from channel.tr38901 import Statistics, Validity
from channel.units import SPEED_OF_LIGHT_MPS

ENVIRONMENT_HEIGHT_M = 1.0  # h_E for UMi

VALIDITY = Validity(
    distance_m=(10.0, 5_000.0),
    carrier_hz=(0.5e9, 100e9),
    bs_height_m=(ENVIRONMENT_HEIGHT_M, math.inf),  # the lower end is open; the TR: 10 m
    ut_height_m=(1.5, 22.5),
)
"""Ranges of Table 7.4.1-1 and its notes."""

STATISTICS = Statistics(
    shadowing_db=(4.0, 7.82, 7.0),
    decorrelation_m=(10.0, 13.0, 7.0),
    los_decorrelation_m=50.0,
    k_mean_db=9.0,
    k_std_db=5.0,
    k_decorrelation_m=15.0,
)
"""Tables 7.4.1-1 (shadowing), 7.5-6 (O2I, decorrelation, K) and 7.6.3.1-2 (LoS state)."""


def breakpoint_m(carrier_hz: ArrayLike, bs_height_m: ArrayLike = 10.0, ut_height_m: ArrayLike = 1.5) -> Floats:
    """Return the break-point distance `4 h'_BS h'_UT f_c / c`, `h' = h - 1 m` (TR 38.901, Table 7.4.1-1, note 1).

    It is the ground distance [m] where the LoS slope changes, of the broadcast shape of the arguments, which are those
    of `path_loss_db`.

    Example:
        >>> float(breakpoint_m(3.5e9).round(9))
        210.0
    """
    carrier, bs_height, ut_height = VALIDITY.link(carrier_hz, bs_height_m, ut_height_m)
    # At the height of the environment the break point would lie at 0.
    require(bs_height > ENVIRONMENT_HEIGHT_M, bs_height, "bs_height_m", f"above {ENVIRONMENT_HEIGHT_M:g}")
    heights_m2 = (bs_height - ENVIRONMENT_HEIGHT_M) * (ut_height - ENVIRONMENT_HEIGHT_M)
    return np.asarray(4.0 * heights_m2 * carrier / SPEED_OF_LIGHT_MPS)


def path_loss_db(
    distance_2d_m: ArrayLike,
    carrier_hz: ArrayLike,
    los: ArrayLike,
    bs_height_m: ArrayLike = 10.0,
    ut_height_m: ArrayLike = 1.5,
) -> Floats:
    """Return the median path loss, without shadowing (TR 38.901, Table 7.4.1-1, UMi-Street Canyon).

    In line of sight `PL1 = 32.4 + 21 log10(d_3D) + 20 log10(f)` up to the break point, f in GHz, and
    `PL2 = 32.4 + 40 log10(d_3D) + 20 log10(f) - 9.5 log10(d'_BP^2 + (h_BS - h_UT)^2)` beyond; without, at least that
    and `22.4 + 35.3 log10(d_3D) + 21.3 log10(f) - 0.3 (h_UT - 1.5)`. The paper's eq. 35 to 37.

    Args:
        distance_2d_m: ground distance [m], 10 m to 5 km.
        carrier_hz: carrier frequency [Hz], 0.5 to 100 GHz.
        los: whether the terminal sees the base station, bool.
        bs_height_m: antenna height of the base station [m], above 1 m (the TR: 10 m).
        ut_height_m: antenna height of the terminal [m], 1.5 to 22.5 m.

    Returns:
        Path loss [dB], the broadcast shape of the arguments.

    Example:
        >>> path_loss_db(100.0, 3.5e9, [True, False]).round(2)
        array([ 85.31, 104.64])
    """
    seen = boolean("los", los)
    distance = VALIDITY.distances(distance_2d_m)
    carrier, bs_height, ut_height = VALIDITY.link(carrier_hz, bs_height_m, ut_height_m)
    breakpoint_ = breakpoint_m(carrier, bs_height, ut_height)
    log_d = np.log10(distance_3d_m(distance, bs_height, ut_height))
    log_f = np.log10(carrier / 1e9)  # the formulas take GHz
    near = 32.4 + 21.0 * log_d + 20.0 * log_f
    far = 32.4 + 40.0 * log_d + 20.0 * log_f - 9.5 * np.log10(breakpoint_**2 + (bs_height - ut_height) ** 2)
    line_of_sight = np.where(distance <= breakpoint_, near, far)  # PL1 and PL2, which meet at the break point
    blocked = 35.3 * log_d + 22.4 + 21.3 * log_f - 0.3 * (ut_height - 1.5)
    # By the table, a blocked path never has a lower loss than one in line of sight.
    return np.where(seen, line_of_sight, np.maximum(line_of_sight, blocked))


def los_probability(distance_2d_m: ArrayLike) -> Floats:
    """Return the probability of line of sight (TR 38.901, Table 7.4.2-1, UMi-Street Canyon).

    Args:
        distance_2d_m: outdoor part of the ground distance [m], any shape, 0 to 5 km.

    Returns:
        1 up to 18 m, then `18/d + exp(-d/36) (1 - 18/d)`; the shape of `distance_2d_m`.
    """
    # At 18 m the formula gives 1, so nearer distances count as 18 m.
    distance = np.maximum(within("distance_2d_m", distance_2d_m, 0.0, VALIDITY.distance_m[1], BORDER), 18.0)
    return np.asarray(18.0 / distance + np.exp(-distance / 36.0) * (1.0 - 18.0 / distance))
