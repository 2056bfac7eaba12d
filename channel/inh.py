"""Path loss inside an office (3GPP TR 38.901, clause 7.4, scenario InH-Office)."""

import math
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from channel._arrays import Floats
from channel._checks import BORDER, boolean, non_negative, within
from channel.geometry import distance_3d_m
from channel.tr38901 import Statistics, Validity

VALIDITY = Validity(
    distance_m=(1.0, 150.0),  # between the antennas
    carrier_hz=(0.5e9, 100e9),
    bs_height_m=(0.0, 150.0),  # the table sets no limits; Table 7.2-2: 3 m, at the ceiling
    ut_height_m=(0.0, math.inf),  # Table 7.2-2: 1 m
)
"""Ranges of Table 7.4.1-1 and its notes."""

STATISTICS = Statistics(
    shadowing_db=(3.0, 8.03),  # without O2I
    decorrelation_m=(10.0, 6.0),
    los_decorrelation_m=10.0,
    k_mean_db=7.0,
    k_std_db=4.0,
    k_decorrelation_m=4.0,
)
"""Tables 7.4.1-1 (shadowing), 7.5-6 (decorrelation, K) and 7.6.3.1-2 (LoS state)."""


def path_loss_db(
    distance_2d_m: ArrayLike,
    carrier_hz: ArrayLike,
    los: ArrayLike,
    bs_height_m: ArrayLike = 3.0,
    ut_height_m: ArrayLike = 1.0,
) -> Floats:
    """Return the median path loss, without shadowing (TR 38.901, Table 7.4.1-1, InH-Office).

    In line of sight `32.4 + 17.3 log10(d_3D) + 20 log10(f)`; without, at least that and
    `17.3 + 38.3 log10(d_3D) + 24.9 log10(f)`, f in GHz.

    Args:
        distance_2d_m: ground distance [m], such that the antennas are 1 m to 150 m apart.
        carrier_hz: carrier frequency [Hz], 0.5 to 100 GHz.
        los: whether the terminal sees the base station, bool.
        bs_height_m: antenna height of the base station [m], above 0, up to 150 m (the TR: 3 m).
        ut_height_m: antenna height of the terminal [m], above 0 (the TR: 1 m).

    Returns:
        Path loss [dB], the broadcast shape of the arguments.

    Example:
        >>> path_loss_db(20.0, 3.5e9, [True, False]).round(2)
        array([65.83, 80.76])
    """
    seen = boolean("los", los)
    carrier, bs_height, ut_height = VALIDITY.link(carrier_hz, bs_height_m, ut_height_m)
    distance_3d = distance_3d_m(non_negative("distance_2d_m", distance_2d_m), bs_height, ut_height)
    log_d = np.log10(within("distance_3d_m", distance_3d, *VALIDITY.distance_m, BORDER))
    log_f = np.log10(carrier / 1e9)  # the formulas take GHz
    line_of_sight = 32.4 + 17.3 * log_d + 20.0 * log_f
    blocked = 38.3 * log_d + 17.30 + 24.9 * log_f
    # By the table, a blocked path never has a lower loss than one in line of sight.
    return np.where(seen, line_of_sight, np.maximum(line_of_sight, blocked))


def los_probability(distance_2d_m: ArrayLike, office: Literal["mixed", "open"] = "mixed") -> Floats:
    """Return the probability of line of sight (TR 38.901, Table 7.4.2-1, Indoor).

    Args:
        distance_2d_m: ground distance [m], any shape, 0 to 150 m.
        office: `mixed` (with walls and corridors) or `open` (cubicles only).

    Returns:
        mixed: 1 up to 1.2 m, `exp(-(d - 1.2)/4.7)` below 6.5 m, then `0.32 exp(-(d - 6.5)/32.6)`;
        open: 1 up to 5 m, `exp(-(d - 5)/70.8)` up to 49 m, then `0.54 exp(-(d - 49)/211.7)`; the shape of
        `distance_2d_m`.
    """
    if office not in {"mixed", "open"}:
        raise ValueError(f"office = {office} is unknown: it must be mixed or open")
    distance = within("distance_2d_m", distance_2d_m, 0.0, VALIDITY.distance_m[1], BORDER)
    # Distances below the first border count as the border, where the exponential is 1.
    if office == "mixed":
        near = np.exp(-np.maximum(distance - 1.2, 0.0) / 4.7)
        return np.where(distance < 6.5, near, 0.32 * np.exp(-(distance - 6.5) / 32.6))
    near = np.exp(-np.maximum(distance - 5.0, 0.0) / 70.8)
    return np.where(distance <= 49.0, near, 0.54 * np.exp(-(distance - 49.0) / 211.7))
