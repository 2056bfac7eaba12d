"""Decibels and back, and the speed of light."""

import numpy as np
from numpy.typing import ArrayLike

from channel._arrays import Floats
from channel._checks import positive

SPEED_OF_LIGHT_MPS = 3.0e8  # as TR 38.901 rounds it (note 1 of Table 7.4.1-1)


def db_to_linear(ratio_db: ArrayLike) -> Floats:
    """Return the power ratio [1] of a level in decibels, `10^(ratio_db / 10)`, any shape.

    Example:
        >>> db_to_linear([-10.0, 0.0, 20.0])
        array([  0.1,   1. , 100. ])
    """
    return np.asarray(10.0 ** (np.asarray(ratio_db, dtype=np.float64) / 10.0))


def linear_to_db(ratio: ArrayLike) -> Floats:
    """Return the level in decibels of a power ratio [1], `10 log10(ratio)`, any shape."""
    return np.asarray(10.0 * np.log10(positive("ratio", ratio)))


def dbm_to_w(power_dbm: ArrayLike) -> Floats:
    """Return the power [W] of a level [dBm], any shape; dBm/Hz gives W/Hz.

    Example:
        >>> float(dbm_to_w(30.0))
        1.0
    """
    return 1e-3 * db_to_linear(power_dbm)
