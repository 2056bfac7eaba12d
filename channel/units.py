"""Decibels and back, and the speed of light."""

import numpy as np
from numpy.typing import ArrayLike

from channel._checks import Floats, positive

SPEED_OF_LIGHT_MPS = 3.0e8  # as TR 38.901 rounds it (note 1 of Table 7.4.1-1)


def db_to_linear(ratio_db: ArrayLike) -> Floats:
    """Ratio [1] of a level in decibels [dB], any shape: 10^(ratio_db / 10)."""
    return np.asarray(10.0 ** (np.asarray(ratio_db, dtype=np.float64) / 10.0))


def linear_to_db(ratio: ArrayLike) -> Floats:
    """Level in decibels [dB] of a power ratio [1], any shape: 10 log10(ratio).

    Raises:
        ValueError: a ratio is not positive and finite.
    """
    return np.asarray(10.0 * np.log10(positive("ratio", ratio)))


def dbm_to_w(power_dbm: ArrayLike) -> Floats:
    """Power [W] of a level in dB over one milliwatt [dBm], any shape; dBm/Hz gives W/Hz."""
    return 1e-3 * db_to_linear(power_dbm)


def w_to_dbm(power_w: ArrayLike) -> Floats:
    """Level in dB over one milliwatt [dBm] of a power [W], any shape.

    Raises:
        ValueError: a power is not positive and finite.
    """
    return np.asarray(10.0 * np.log10(positive("power_w", power_w) / 1e-3))
