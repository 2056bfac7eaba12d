"""Log-distance path loss (Rappaport, "Wireless communications: principles and practice", 2nd ed., section 4.9)."""

import numpy as np
from numpy.typing import ArrayLike

from channel import free_space
from channel._arrays import Floats
from channel._checks import BORDER, finite, positive, require
from channel.tr38901 import Statistics

VALIDITY = free_space.VALIDITY
"""Limited only by `shortest_m`."""

MOST_DECADES = 9.0  # below the reference distance, where a very gentle slope ends

STATISTICS = Statistics(shadowing_db=(8.0,), decorrelation_m=(20.0,))
"""Usual outdoors, not from the book: 6 to 10 dB; 20 m is from UMTS 30.03 (TR 101 112), annex B, vehicular."""


def path_loss_db(
    distance_3d_m: ArrayLike,
    carrier_hz: ArrayLike,
    exponent: ArrayLike,
    reference_m: ArrayLike = 1.0,
    reference_loss_db: ArrayLike | None = None,
) -> Floats:
    """Return the median path loss `PL(d_0) + 10 n log10(d / d_0)`, without shadowing (Rappaport, section 4.9).

    Args:
        distance_3d_m: distance d between the antennas [m], at least `shortest_m`; may be below the reference distance.
        carrier_hz: carrier frequency [Hz], above 0; only the default of `reference_loss_db` uses it.
        exponent: n [1], above 0: 2 is free space, 2.7 to 5 usual in cities.
        reference_m: reference distance d_0 [m].
        reference_loss_db: loss PL(d_0) [dB]; if None that of free space, and then d_0 is at least a wavelength.

    Returns:
        Path loss [dB], the broadcast shape of the arguments.

    Example:
        Ten times the distance costs 35 dB where n is 3.5.

        >>> path_loss_db([10.0, 100.0], 5e9, exponent=3.5).round(2)
        array([ 81.42, 116.42])
    """
    reference = positive("reference_m", reference_m)
    slope = 10.0 * positive("exponent", exponent)
    loss = _reference_loss_db(carrier_hz, reference, reference_loss_db)
    # The reference distance may lie outside the cell, such as 1 km in a cell of 500 m.
    nearest = _shortest_m(slope, reference, loss) * (1.0 - BORDER)
    distance, shortest = np.broadcast_arrays(positive("distance_3d_m", distance_3d_m), nearest)
    require(distance >= shortest, distance, "distance_3d_m", "where the path loss is 0 dB or more")
    return np.asarray(loss + slope * np.log10(distance / reference))


def shortest_m(
    carrier_hz: ArrayLike,
    exponent: ArrayLike,
    reference_m: ArrayLike = 1.0,
    reference_loss_db: ArrayLike | None = None,
) -> Floats:
    """Return the least distance where the model holds: nearer, more power would arrive than was sent.

    It is the distance [m] at which the loss is 0 dB, at most the reference distance, of the broadcast shape of the
    arguments, which are those of `path_loss_db`.

    Example:
        128.1 + 37.6 log10(d / km) is 0 dB at 39 cm.

        >>> float(shortest_m(2e9, 3.76, 1_000.0, 128.1).round(2))
        0.39
    """
    reference = positive("reference_m", reference_m)
    loss = _reference_loss_db(carrier_hz, reference, reference_loss_db)
    return _shortest_m(10.0 * positive("exponent", exponent), reference, loss)


def _shortest_m(slope_db: Floats, reference_m: Floats, loss_db: Floats) -> Floats:
    # A loss below 0 dB at the reference is the caller's choice: the model then holds from there on.
    return np.asarray(reference_m * 10.0 ** -np.clip(loss_db / slope_db, 0.0, MOST_DECADES))


def _reference_loss_db(carrier_hz: ArrayLike, reference_m: Floats, reference_loss_db: ArrayLike | None) -> Floats:
    if reference_loss_db is None:
        return free_space.path_loss_db(reference_m, carrier_hz)
    positive("carrier_hz", carrier_hz)  # without effect here, but still checked
    return finite("reference_loss_db", reference_loss_db)
