"""Building penetration loss, outdoor to indoor (3GPP TR 38.901, clause 7.4.3.1)."""

import numpy as np
from numpy.typing import ArrayLike

from channel._arrays import Floats
from channel._checks import BORDER, boolean, finite, non_negative, pairs, within
from channel.tr38901 import check_release

CARRIER_RANGE_HZ = (0.5e9, 100e9)  # lowest and highest
LOW_STD_DB = 4.4  # sigma_P of low-loss and high-loss buildings (Table 7.4.3-2)
HIGH_STD_DB = 6.5
URBAN_DEPTH_M = 25.0  # of UMi and UMa; RMa: 10 m
SINGLE_FREQUENCY_BELOW_HZ = 6e9  # below, UMi and UMa have one loss for all walls (Table 7.4.3-3)
SINGLE_FREQUENCY_WALL_DB = 20.0  # PL_tw of that table; its sigma_P is 0
INSIDE_DB_M = 0.5  # PL_in per metre of d_2D-in, in both tables
FLOOR_M = 3.0  # from floor to floor
GROUND_FLOOR_M = 1.5  # antenna on the ground floor


def glass_db(carrier_hz: ArrayLike) -> Floats:
    """Return the loss [dB] of standard multi-pane glass, `2 + 0.2 f`, f in GHz (TR 38.901, Table 7.4.3-1)."""
    return 2.0 + 0.2 * _ghz(carrier_hz)


def irr_glass_db(carrier_hz: ArrayLike, release: int = 16) -> Floats:
    """Return the loss of infrared-reflecting glass, f in GHz (TR 38.901, Table 7.4.3-1).

    Args:
        carrier_hz: carrier frequency [Hz], 0.5 to 100 GHz, any shape.
        release: 16: `23 + 0.3 f`, as up to V18; 19: `25.4 + 0.11 f`, as from V19 on.

    Returns:
        Loss [dB], the shape of `carrier_hz`.
    """
    check_release(release)
    if release == 19:
        return 25.4 + 0.11 * _ghz(carrier_hz)
    return 23.0 + 0.3 * _ghz(carrier_hz)


def concrete_db(carrier_hz: ArrayLike) -> Floats:
    """Return the loss [dB] of concrete, `5 + 4 f`, f in GHz (TR 38.901, Table 7.4.3-1)."""
    return 5.0 + 4.0 * _ghz(carrier_hz)


def wall_db(carrier_hz: ArrayLike, high_loss: ArrayLike, release: int = 16) -> Floats:
    """Return the loss `PL_tw` through the external wall (TR 38.901, eq. 7.4-3 and Table 7.4.3-2).

    Args:
        carrier_hz: carrier frequency [Hz], 0.5 to 100 GHz.
        high_loss: bool; high loss: 70 % of infrared-reflecting glass and 30 % of concrete, low loss: 30 % of
            standard glass and 70 % of concrete.
        release: of the TR, 16 or 19, see `irr_glass_db`.

    Returns:
        `5 - 10 log10(sum of p_i 10^(-L_i / 10))` [dB], the broadcast shape of the arguments.

    Example:
        >>> wall_db(3.5e9, [False, True]).round(2)
        array([12.7 , 26.85])
    """
    # Transmitted shares of the power, added up over the parts of the wall.
    concrete = 10.0 ** (-concrete_db(carrier_hz) / 10.0)
    low = 0.3 * 10.0 ** (-glass_db(carrier_hz) / 10.0) + 0.7 * concrete
    high = 0.7 * 10.0 ** (-irr_glass_db(carrier_hz, release) / 10.0) + 0.3 * concrete
    return np.asarray(5.0 - 10.0 * np.log10(np.where(boolean("high_loss", high_loss), high, low)))


def indoor_distance_m(u: ArrayLike, depth_m: float = URBAN_DEPTH_M) -> Floats:
    """Return the ground distance `d_2D-in` inside the building (TR 38.901, clause 7.4.3.1).

    The smaller of two U(0, depth).

    Args:
        u: draws of the uniform distribution on [0, 1], [..., 2]; by terminal.
        depth_m: 25 m for UMi and UMa, 10 m for RMa.

    Returns:
        Distances [m], [...].
    """
    draws = pairs("u", u)
    return np.asarray(float(non_negative("depth_m", depth_m)) * draws.min(axis=-1))


def loss_db(
    carrier_hz: ArrayLike,
    indoor_distance_m: ArrayLike,
    high_loss: ArrayLike,
    normal: ArrayLike = 0.0,
    release: int = 16,
) -> Floats:
    """Return the loss that a building adds to the outdoor path loss (TR 38.901, eq. 7.4-2, Table 7.4.3-2).

    Args:
        carrier_hz: carrier frequency [Hz], 0.5 to 100 GHz.
        indoor_distance_m: d_2D-in [m], from `indoor_distance_m`.
        high_loss: whether the building is of the high-loss kind, bool; for RMa the TR has only low loss.
        normal: draws of the standard normal distribution, by terminal; 0 for the median.
        release: of the TR, 16 or 19, see `irr_glass_db`.

    Returns:
        `PL_tw + 0.5 d_2D-in + sigma_P N` [dB], `sigma_P` = 4.4 dB (low loss) or 6.5 dB (high loss); the broadcast shape
        of the arguments.

    Example:
        Ten metres inside, behind a low-loss wall of 12.7 dB.

        >>> float(loss_db(3.5e9, 10.0, False).round(2))
        17.7
    """
    high = boolean("high_loss", high_loss)
    draw = finite("normal", normal)
    inside = INSIDE_DB_M * non_negative("indoor_distance_m", indoor_distance_m)
    std_db = np.where(high, HIGH_STD_DB, LOW_STD_DB)
    return np.asarray(wall_db(carrier_hz, high, release) + inside + std_db * draw)


def single_frequency_indoor_distance_m(u: ArrayLike) -> Floats:
    """Return the ground distance `d_2D-in` of the model below 6 GHz (TR 38.901, Table 7.4.3-3): U(0, 25), by link.

    Args:
        u: draws of the uniform distribution on [0, 1], any shape; by link, not by terminal.

    Returns:
        Distances [m], the shape of `u`.
    """
    return np.asarray(URBAN_DEPTH_M * within("u", u, 0.0, 1.0))


def single_frequency_loss_db(indoor_distance_m: ArrayLike) -> Floats:
    """Return the penetration loss of any building of UMi and UMa below 6 GHz (TR 38.901, Table 7.4.3-3).

    The clause prescribes it for single-frequency simulations, for compatibility with TR 36.873.

    Args:
        indoor_distance_m: d_2D-in [m], from `single_frequency_indoor_distance_m`.

    Returns:
        `20 + 0.5 d_2D-in` [dB], the shape of `indoor_distance_m`, without a random part.
    """
    inside = INSIDE_DB_M * non_negative("indoor_distance_m", indoor_distance_m)
    return np.asarray(SINGLE_FREQUENCY_WALL_DB + inside)


def floor_height_m(u: ArrayLike, floors: tuple[int, int] = (4, 8)) -> Floats:
    """Return the antenna height of a terminal on some floor of its building (TR 36.873, Table 6-1).

    TR 38.901 refers to it for UMi and UMa (Tables 7.2-1, 7.8-1): `h_UT = 3 (n_fl - 1) + 1.5`, n_fl uniform in 1 to
    N_fl, N_fl uniform in 4 to 8.

    Args:
        u: draws of the uniform distribution on [0, 1), [..., 2]; by terminal: the building's floors, and the floor.
        floors: fewest and most floors of a building, both included.

    Returns:
        Heights [m], [...].

    Example:
        The fifth of eight floors.

        >>> float(floor_height_m([0.99, 0.5]))
        13.5
    """
    draws = pairs("u", u)
    fewest, most = floors
    if not 1 <= fewest <= most:
        raise ValueError(f"floors = {floors}: they must be the fewest, from 1, and the most")
    # A draw of exactly 1 belongs to the last floor.
    building = np.minimum(np.floor(draws[..., 0] * (most - fewest + 1)) + fewest, most)
    floor = np.minimum(np.floor(draws[..., 1] * building) + 1.0, building)
    return np.asarray(FLOOR_M * (floor - 1.0) + GROUND_FLOOR_M)


def _ghz(carrier_hz: ArrayLike) -> Floats:
    """Return carrier frequencies [Hz] in GHz, all in range."""
    return within("carrier_hz", carrier_hz, *CARRIER_RANGE_HZ, BORDER) / 1e9
