"""Path loss of a direct link between two terminals in a city (3GPP TR 37.885, clause 6.2, urban; V2V and P2P)."""

import numpy as np
from numpy.typing import ArrayLike

from channel._arrays import Floats
from channel._checks import boolean, non_negative, positive

SHADOWING_DB = (3.0, 4.0)
"""Table 6.2.1-1: standard deviation of the shadowing in line of sight and without."""


def path_loss_db(distance_3d_m: ArrayLike, carrier_hz: ArrayLike, los: ArrayLike) -> Floats:
    """Return the median path loss, without shadowing (TR 37.885, Table 6.2.1-1, urban).

    In line of sight `38.77 + 16.7 log10(d) + 18.2 log10(f)`, without `36.85 + 30 log10(d) + 18.9 log10(f)`, f in GHz.

    Args:
        distance_3d_m: distance between the antennas [m], above 0.
        carrier_hz: carrier frequency [Hz].
        los: whether the terminals see each other, bool.

    Returns:
        Path loss [dB], the broadcast shape of the arguments.

    Example:
        >>> path_loss_db(50.0, 3.5e9, [True, False]).round(2)
        array([77.04, 98.1 ])
    """
    seen = boolean("los", los)
    log_d = np.log10(positive("distance_3d_m", distance_3d_m))
    log_f = np.log10(positive("carrier_hz", carrier_hz) / 1e9)  # the formulas take GHz
    line_of_sight = 38.77 + 16.7 * log_d + 18.2 * log_f
    blocked = 36.85 + 30.0 * log_d + 18.9 * log_f
    return np.where(seen, line_of_sight, blocked)


def los_probability(distance_m: ArrayLike) -> Floats:
    """Return the probability of line of sight (TR 37.885, Table 6.2-1, urban).

    Args:
        distance_m: distance [m], any shape.

    Returns:
        `min(1, 1.05 exp(-0.0114 d))`; the shape of `distance_m`.
    """
    return np.minimum(1.0, 1.05 * np.exp(-0.0114 * non_negative("distance_m", distance_m)))
