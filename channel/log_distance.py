"""Log-distance path loss (Rappaport, "Wireless communications: principles and practice", 2nd ed., section 4.9)."""

import numpy as np
from numpy.typing import ArrayLike

from channel import free_space
from channel._arrays import Floats
from channel._checks import BORDER, finite, positive, require
from channel.tr38901 import Statistics

VALIDITY = free_space.VALIDITY
"""No limits but the reference distance."""

STATISTICS = Statistics(shadowing_db=(8.0,), decorrelation_m=(20.0,))
"""Usual outdoors, not from the book: 6 to 10 dB; 20 m is that of UMTS 30.03 (TR 101 112), annex B, vehicular."""


def path_loss_db(
    distance_3d_m: ArrayLike,
    carrier_hz: ArrayLike,
    exponent: ArrayLike,
    reference_m: ArrayLike = 1.0,
    reference_loss_db: ArrayLike | None = None,
) -> Floats:
    """Return the median path loss `PL(d_0) + 10 n log10(d / d_0)`, without shadowing (Rappaport, section 4.9).

    Args:
        distance_3d_m: distance d between the antennas [m], at least the reference distance.
        carrier_hz: carrier frequency [Hz], above 0; only the default of `reference_loss_db` uses it.
        exponent: n [1], above 0: 2 is free space, 2.7 to 5 usual in cities.
        reference_m: reference distance d_0 [m].
        reference_loss_db: loss PL(d_0) [dB]; if None that of free space, and then d_0 is at least a wavelength.

    Returns:
        Path loss [dB], the broadcast shape of the arguments.

    Raises:
        ValueError: an argument is out of its range or NaN.

    Example:
        Ten times the distance costs 35 dB where n is 3.5.

        >>> path_loss_db([10.0, 100.0], 5e9, exponent=3.5).round(2)
        array([ 81.42, 116.42])
    """
    reference = positive("reference_m", reference_m)
    # Nearer than the reference the formula would give less than the loss at the reference: refused, up to rounding.
    distance, shortest = np.broadcast_arrays(positive("distance_3d_m", distance_3d_m), reference * (1.0 - BORDER))
    require(distance >= shortest, distance, "distance_3d_m", "at least reference_m")
    slope = 10.0 * positive("exponent", exponent)
    if reference_loss_db is None:
        loss = free_space.path_loss_db(reference, carrier_hz)
    else:
        positive("carrier_hz", carrier_hz)  # of no effect here, but a wrong one is still refused
        loss = finite("reference_loss_db", reference_loss_db)
    return np.asarray(loss + slope * np.log10(distance / reference))
