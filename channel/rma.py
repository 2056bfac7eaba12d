"""Path loss of the Rural Macro cell, outdoors (3GPP TR 38.901, clause 7.4, scenario RMa)."""

import numpy as np
from numpy.typing import ArrayLike

from channel._arrays import Floats
from channel._checks import BORDER, boolean, require, within
from channel.geometry import distance_3d_m
from channel.tr38901 import LOS, NLOS, Statistics, Validity
from channel.units import SPEED_OF_LIGHT_MPS

VALIDITY = Validity(
    distance_m=(10.0, 10_000.0),
    carrier_hz=(0.5e9, 30e9),
    bs_height_m=(10.0, 150.0),
    ut_height_m=(1.0, 10.0),
)
"""Ranges of Table 7.4.1-1 and its notes; NLoS ends at `NLOS_DISTANCE_M`."""

NLOS_DISTANCE_M = 5_000.0

STATISTICS = Statistics(
    shadowing_db=(4.0, 8.0, 8.0),
    decorrelation_m=(37.0, 120.0, 120.0),
    los_decorrelation_m=60.0,
    k_mean_db=7.0,
    k_std_db=4.0,
    k_decorrelation_m=40.0,
)
"""Tables 7.4.1-1 (shadowing), 7.5-6 (O2I, decorrelation, K), 7.6.3.1-2 (LoS state); see `shadowing_std_db` for LoS."""

FAR_SHADOWING_DB = 6.0  # in line of sight beyond the break point (Table 7.4.1-1)


def breakpoint_m(carrier_hz: ArrayLike, bs_height_m: ArrayLike = 35.0, ut_height_m: ArrayLike = 1.5) -> Floats:
    """Return the break-point distance `d_BP = 2 pi h_BS h_UT f_c / c` (TR 38.901, Table 7.4.1-1, note 5).

    It is the ground distance [m] where the LoS slope changes, of the broadcast shape of the arguments, which are those
    of `path_loss_db`.
    """
    carrier, bs_height, ut_height = VALIDITY.link(carrier_hz, bs_height_m, ut_height_m)
    return np.asarray(2.0 * np.pi * bs_height * ut_height * carrier / SPEED_OF_LIGHT_MPS)


def path_loss_db(
    distance_2d_m: ArrayLike,
    carrier_hz: ArrayLike,
    los: ArrayLike,
    bs_height_m: ArrayLike = 35.0,
    ut_height_m: ArrayLike = 1.5,
    building_height_m: ArrayLike = 5.0,
    street_width_m: ArrayLike = 20.0,
) -> Floats:
    """Return the median path loss, without shadowing (TR 38.901, Table 7.4.1-1, RMa).

    In line of sight `PL1(d_3D)` up to the break point and `PL1(d_BP) + 40 log10(d_3D / d_BP)` beyond, where
    `PL1(d) = 20 log10(40 pi d f / 3) + min(0.03 h^1.72, 10) log10(d) - min(0.044 h^1.72, 14.77) + 0.002 log10(h) d`,
    f in GHz; without, the larger of that and the formula of NLoS.

    Args:
        distance_2d_m: ground distance [m], 10 m to 10 km in line of sight, to 5 km without.
        carrier_hz: carrier frequency [Hz], 0.5 to 30 GHz.
        los: whether the terminal sees the base station, bool.
        bs_height_m: antenna height of the base station [m], 10 to 150 m.
        ut_height_m: antenna height of the terminal [m], 1 to 10 m.
        building_height_m: average height h of buildings [m], 5 to 50 m.
        street_width_m: average width W of streets [m], 5 to 50 m.

    Returns:
        Path loss [dB], the broadcast shape of the arguments.

    Example:
        >>> path_loss_db(1_000.0, 3.5e9, [True, False]).round(2)
        array([105.46, 130.42])
    """
    distance, seen = np.broadcast_arrays(VALIDITY.distances(distance_2d_m), boolean("los", los))
    # The table has no path loss without line of sight beyond 5 km.
    reach = np.where(seen, np.inf, NLOS_DISTANCE_M * (1.0 + BORDER))
    require(distance <= reach, distance, "distance_2d_m", f"at most {NLOS_DISTANCE_M:g} without line of sight")
    carrier, bs_height, ut_height = VALIDITY.link(carrier_hz, bs_height_m, ut_height_m)
    height = within("building_height_m", building_height_m, 5.0, 50.0)
    width = within("street_width_m", street_width_m, 5.0, 50.0)
    breakpoint_ = breakpoint_m(carrier, bs_height, ut_height)
    distance_3d = distance_3d_m(distance, bs_height, ut_height)
    # PL2 continues PL1 from the break point, at 40 dB a decade.
    near = _near_db(distance_3d, carrier, height)
    far = _near_db(breakpoint_, carrier, height) + 40.0 * np.log10(distance_3d / breakpoint_)
    line_of_sight = np.where(distance <= breakpoint_, near, far)  # PL1 and PL2
    log_bs = np.log10(bs_height)  # h_BS counts twice, against the buildings and with the distance
    blocked = (
        161.04
        - 7.1 * np.log10(width)
        + 7.5 * np.log10(height)
        - (24.37 - 3.7 * (height / bs_height) ** 2) * log_bs
        + (43.42 - 3.1 * log_bs) * (np.log10(distance_3d) - 3.0)
        + 20.0 * np.log10(carrier / 1e9)
        - (3.2 * np.log10(11.75 * ut_height) ** 2 - 4.97)
    )
    # By the table, a blocked path never has a lower loss than one in line of sight.
    return np.where(seen, line_of_sight, np.maximum(line_of_sight, blocked))


def shadowing_std_db(
    distance_2d_m: ArrayLike,
    carrier_hz: ArrayLike,
    los: ArrayLike,
    bs_height_m: ArrayLike = 35.0,
    ut_height_m: ArrayLike = 1.5,
) -> Floats:
    """Return the standard deviation of the shadowing of outdoor paths [dB] (TR 38.901, Table 7.4.1-1, RMa).

    8 dB without line of sight; with it 4 dB up to the break point and 6 dB beyond; the broadcast shape of the
    arguments, which are those of `path_loss_db`.
    """
    # The only scenario whose shadowing depends on the distance.
    near = VALIDITY.distances(distance_2d_m) <= breakpoint_m(carrier_hz, bs_height_m, ut_height_m)
    line_of_sight = np.where(near, STATISTICS.shadowing_db[LOS], FAR_SHADOWING_DB)
    return np.where(boolean("los", los), line_of_sight, STATISTICS.shadowing_db[NLOS])


def los_probability(distance_2d_m: ArrayLike) -> Floats:
    """Return the probability of line of sight (TR 38.901, Table 7.4.2-1, RMa).

    Args:
        distance_2d_m: outdoor part of the ground distance [m], any shape, 0 to 10 km.

    Returns:
        1 up to 10 m, then `exp(-(d - 10)/1000)`; the shape of `distance_2d_m`.
    """
    distance = within("distance_2d_m", distance_2d_m, 0.0, VALIDITY.distance_m[1], BORDER)
    return np.asarray(np.exp(-np.maximum(distance - 10.0, 0.0) / 1_000.0))


def _near_db(distance_m: Floats, carrier_hz: Floats, building_height_m: Floats) -> Floats:
    """Return PL1 at a distance d [m]: `20 log10(40 pi d f / 3)` and the terms of the buildings' height."""
    rough = building_height_m**1.72  # h^1.72
    log_d = np.log10(distance_m)
    return np.asarray(
        20.0 * np.log10(40.0 * np.pi * distance_m * (carrier_hz / 1e9) / 3.0)
        + np.minimum(0.03 * rough, 10.0) * log_d
        - np.minimum(0.044 * rough, 14.77)
        + 0.002 * np.log10(building_height_m) * distance_m
    )
