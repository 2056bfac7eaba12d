"""Co-channel interference: what the transmitters of other cells add to a receiver's noise."""

import numpy as np
from numpy.typing import ArrayLike, NDArray

from channel._arrays import Floats
from channel._checks import non_negative, positive, require


def downlink_w_hz(
    path_gain: ArrayLike, cell: ArrayLike, group: ArrayLike, power_w: ArrayLike, band_hz: ArrayLike
) -> Floats:
    """Power density that terminals receive from base stations other than their own.

    Every base station spreads its power evenly over the band of its group, so it adds P g / W to a terminal's noise
    density; SINR = P psi / ((N0 + I0) W). Base stations of other groups use other bands (reuse factor above 1).

    Args:
        path_gain: large-scale gain of each terminal to each base station [1], [n, cells].
        cell: the base station that serves each terminal, [n].
        group: the part of the spectrum that each cell uses, [cells]; see `geometry.reuse_group`.
        power_w: mean power of each base station [W], [cells]; 0 where it is silent.
        band_hz: bandwidth of a group [Hz].

    Returns:
        I0 [W/Hz], [n].

    Raises:
        ValueError: a negative gain or power, a band that is not positive, a cell that does not exist, NaN.
    """
    received_w = non_negative("path_gain", path_gain) * non_negative("power_w", power_w)
    return np.asarray((received_w * _from_outside(cell, group)).sum(axis=1) / positive("band_hz", band_hz))


def uplink_w_hz(
    path_gain: ArrayLike, cell: ArrayLike, group: ArrayLike, power_w: ArrayLike, band_hz: ArrayLike
) -> Floats:
    """Power density that base stations receive from terminals of other cells.

    Which part of the band a terminal of another cell uses is not coordinated, so its power counts as spread evenly over
    the band of the group.

    Args:
        path_gain: large-scale gain of each terminal to each base station [1], [n, cells].
        cell: the base station that serves each terminal, [n].
        group: the part of the spectrum that each cell uses, [cells].
        power_w: mean power of each terminal [W], [n]; 0 where it is silent.
        band_hz: bandwidth of a group [Hz].

    Returns:
        I0 [W/Hz] at each base station, [cells].

    Raises:
        ValueError: a negative gain or power, a band that is not positive, a cell that does not exist, NaN.
    """
    received_w = non_negative("path_gain", path_gain) * non_negative("power_w", power_w)[:, None]
    return np.asarray((received_w * _from_outside(cell, group)).sum(axis=0) / positive("band_hz", band_hz))


def _from_outside(cell: ArrayLike, group: ArrayLike) -> NDArray[np.bool_]:
    """Whether a terminal and a base station share a band but not a cell, [n, cells]."""
    serving, groups = np.asarray(cell), np.asarray(group)
    require((serving >= 0) & (serving < len(groups)), serving, "cell", f"from 0 to {len(groups) - 1}")
    return np.asarray((groups[serving][:, None] == groups) & (serving[:, None] != np.arange(len(groups))))
