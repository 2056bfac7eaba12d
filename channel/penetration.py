"""Loss of the way into a building, outdoor to indoor (3GPP TR 38.901, clause 7.4.3.1)."""

import numpy as np
from numpy.typing import ArrayLike

from channel._checks import Floats, non_negative, require, within
from channel._tr38901 import BORDER, boolean

CARRIER_HZ = (0.5e9, 100e9)
LOW_STD_DB, HIGH_STD_DB = 4.4, 6.5  # Table 7.4.3-2
URBAN_DEPTH_M, RURAL_DEPTH_M = 25.0, 10.0  # UMi and UMa; RMa


def glass_db(carrier_hz: ArrayLike) -> Floats:
    """Standard multi-pane glass, 2 + 0.2 f [dB], f in GHz, 0.5 to 100 (TR 38.901, Table 7.4.3-1), any shape."""
    return 2.0 + 0.2 * _ghz(carrier_hz)


def irr_glass_db(carrier_hz: ArrayLike) -> Floats:
    """Infrared-reflecting glass, 23 + 0.3 f [dB], f in GHz, 0.5 to 100 (TR 38.901, Table 7.4.3-1), any shape."""
    return 23.0 + 0.3 * _ghz(carrier_hz)


def concrete_db(carrier_hz: ArrayLike) -> Floats:
    """Concrete, 5 + 4 f [dB], f in GHz, 0.5 to 100 (TR 38.901, Table 7.4.3-1), any shape."""
    return 5.0 + 4.0 * _ghz(carrier_hz)


def wood_db(carrier_hz: ArrayLike) -> Floats:
    """Wood, 4.85 + 0.12 f [dB], f in GHz, 0.5 to 100 (TR 38.901, Table 7.4.3-1), any shape."""
    return 4.85 + 0.12 * _ghz(carrier_hz)


def wall_db(carrier_hz: ArrayLike, high_loss: ArrayLike) -> Floats:
    """Loss PL_tw through the external wall (TR 38.901, eq. 7.4-3 and Table 7.4.3-2).

    Args:
        carrier_hz: carrier frequency [Hz], 0.5 to 100 GHz.
        high_loss: bool; high loss: 70 % of infrared-reflecting glass and 30 % of concrete, low loss: 30 % of
            standard glass and 70 % of concrete.

    Returns:
        5 - 10 log10(sum of p_i 10^(-L_i / 10)) [dB], the broadcast shape of the arguments.

    Raises:
        ValueError: a frequency is out of range or NaN, or `high_loss` is not boolean.
    """
    concrete = 10.0 ** (-concrete_db(carrier_hz) / 10.0)
    low = 0.3 * 10.0 ** (-glass_db(carrier_hz) / 10.0) + 0.7 * concrete
    high = 0.7 * 10.0 ** (-irr_glass_db(carrier_hz) / 10.0) + 0.3 * concrete
    return np.asarray(5.0 - 10.0 * np.log10(np.where(boolean("high_loss", high_loss), high, low)))


def indoor_distance_m(u: ArrayLike, depth_m: float = URBAN_DEPTH_M) -> Floats:
    """Ground distance d_2D-in inside the building: the smaller of two U(0, depth) (TR 38.901, clause 7.4.3.1).

    Args:
        u: draws of the uniform distribution on [0, 1], [..., 2]; by terminal.
        depth_m: 25 m for UMi and UMa, 10 m for RMa.

    Returns:
        Distances [m], [...].

    Raises:
        ValueError: a draw is outside [0, 1] or NaN, or the last axis does not hold two.
    """
    draws = within("u", u, 0.0, 1.0)
    if draws.shape[-1:] != (2,):
        raise ValueError(f"u must hold two draws in its last axis, not {draws.shape}")
    return np.asarray(float(non_negative("depth_m", depth_m)) * draws.min(axis=-1))


def loss_db(
    carrier_hz: ArrayLike, indoor_distance_m: ArrayLike, high_loss: ArrayLike, normal: ArrayLike = 0.0
) -> Floats:
    """What the way into a building adds to the outdoor path loss (TR 38.901, eq. 7.4-2, Table 7.4.3-2).

    Args:
        carrier_hz: carrier frequency [Hz], 0.5 to 100 GHz.
        indoor_distance_m: d_2D-in [m], from `indoor_distance_m`.
        high_loss: whether the building is of the high-loss kind, bool; the TR knows no such building for RMa.
        normal: draws of the standard normal distribution, by terminal; 0 for the median.

    Returns:
        PL_tw + 0.5 d_2D-in + sigma_P N [dB], sigma_P = 4.4 dB (low loss) or 6.5 dB (high loss); the broadcast shape of
        the arguments.

    Raises:
        ValueError: an argument is out of its range or NaN, or `high_loss` is not boolean.
    """
    high = boolean("high_loss", high_loss)
    draw = np.asarray(normal, dtype=np.float64)
    require(np.isfinite(draw), draw, "normal", "finite")
    inside = 0.5 * non_negative("indoor_distance_m", indoor_distance_m)
    return np.asarray(wall_db(carrier_hz, high) + inside + np.where(high, HIGH_STD_DB, LOW_STD_DB) * draw)


def _ghz(carrier_hz: ArrayLike) -> Floats:
    return within("carrier_hz", carrier_hz, *CARRIER_HZ, BORDER) / 1e9
