"""Path loss of free space, for comparison (Friis, "A note on a simple transmission formula", Proc. IRE 34(5), 1946)."""

import math

import numpy as np
from numpy.typing import ArrayLike

from channel._arrays import Floats
from channel._checks import BORDER, positive, require
from channel.tr38901 import Statistics, Validity
from channel.units import SPEED_OF_LIGHT_MPS

VALIDITY = Validity(
    distance_m=(0.0, math.inf),  # between the antennas, and at least a wavelength
    carrier_hz=(0.0, math.inf),
    bs_height_m=(0.0, math.inf),
    ut_height_m=(0.0, math.inf),
)
"""Limited only by the far field."""

STATISTICS = Statistics(shadowing_db=(0.0,), decorrelation_m=(20.0,))
"""Free space has no shadowing, so the decorrelation distance [m] has no effect."""


def wavelength_m(carrier_hz: ArrayLike) -> Floats:
    """Return the wavelength `c / f_c` [m] of a carrier [Hz], any shape."""
    return np.asarray(SPEED_OF_LIGHT_MPS / positive("carrier_hz", carrier_hz))


def path_loss_db(distance_3d_m: ArrayLike, carrier_hz: ArrayLike) -> Floats:
    """Return the path loss between isotropic antennas, `20 log10(4 pi d f_c / c)` (Friis 1946, eq. 1, with unit gains).

    Args:
        distance_3d_m: distance between the antennas [m], at least a wavelength: the formula holds in the far field.
        carrier_hz: carrier frequency [Hz], above 0.

    Returns:
        Path loss [dB], the broadcast shape of the arguments.

    Example:
        >>> float(path_loss_db(1_000.0, 1e9).round(2))
        92.44
    """
    wavelength = wavelength_m(carrier_hz)
    # Nearer than a wavelength the far field does not exist, and the formula would give a gain.
    distance, shortest = np.broadcast_arrays(positive("distance_3d_m", distance_3d_m), wavelength * (1.0 - BORDER))
    require(distance >= shortest, distance, "distance_3d_m", "at least a wavelength")
    return np.asarray(20.0 * np.log10(4.0 * np.pi * distance / wavelength))
