"""Path loss of free space (Friis, "A note on a simple transmission formula", Proc. IRE 34(5), 1946)."""

import math

import numpy as np
from numpy.typing import ArrayLike

from channel._checks import Floats, positive, require
from channel._tr38901 import BORDER, Statistics, Validity
from channel.units import SPEED_OF_LIGHT_MPS

VALIDITY = Validity(
    distance_m=(0.0, math.inf),  # between the antennas, and at least a wavelength
    carrier_hz=(0.0, math.inf),
    bs_height_m=(0.0, math.inf),
    ut_height_m=(0.0, math.inf),
)
"""No limits but those of the far field."""

STATISTICS = Statistics(shadowing_db=(0.0,), decorrelation_m=(20.0,))
"""Nothing shadows; the decorrelation distance [m] is of no account."""


def wavelength_m(carrier_hz: ArrayLike) -> Floats:
    """Wavelength c / f_c [m] of a carrier [Hz], any shape.

    Raises:
        ValueError: a frequency is not positive and finite.
    """
    return np.asarray(SPEED_OF_LIGHT_MPS / positive("carrier_hz", carrier_hz))


def path_loss_db(distance_3d_m: ArrayLike, carrier_hz: ArrayLike) -> Floats:
    """Path loss between isotropic antennas, 20 log10(4 pi d f_c / c) (Friis 1946, eq. 1, with unit gains).

    Args:
        distance_3d_m: distance between the antennas [m], at least a wavelength: the formula is that of the far field.
        carrier_hz: carrier frequency [Hz], above 0.

    Returns:
        Path loss [dB], the broadcast shape of the arguments.

    Raises:
        ValueError: an argument is out of its range or NaN.
    """
    wavelength = wavelength_m(carrier_hz)
    distance, shortest = np.broadcast_arrays(positive("distance_3d_m", distance_3d_m), wavelength * (1.0 - BORDER))
    require(distance >= shortest, distance, "distance_3d_m", "at least a wavelength")
    return np.asarray(20.0 * np.log10(4.0 * np.pi * distance / wavelength))
