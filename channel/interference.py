"""Co-channel interference from the transmitters of other cells.

Both functions return densities `I0` [W/Hz] that add to the thermal noise: `SINR = P psi / ((N0 + I0) W)`.
`channel.geometry` has the layout and the reuse of the band; docs/channel/cells.md shows both together.
"""

import numpy as np
from numpy.typing import ArrayLike

from channel._arrays import Bools, Floats
from channel._checks import non_negative, positive, require


def downlink_w_hz(
    path_gain: ArrayLike, cell: ArrayLike, group: ArrayLike, power_w: ArrayLike, band_hz: ArrayLike
) -> Floats:
    """Return the power density that terminals receive from base stations that do not serve them, `I0 = sum P g / W`.

    Every base station spreads its power evenly over the band of its group. Base stations of other groups use other
    bands (reuse factor above 1).

    Args:
        path_gain: large-scale gain of each terminal to each base station [1], [n, cells].
        cell: the base station that serves each terminal, [n].
        group: the part of the spectrum that each cell uses, [cells]; see `geometry.reuse_group`.
        power_w: mean power of each base station [W], [cells]; 0 where it is silent.
        band_hz: bandwidth of a group [Hz].

    Returns:
        I0 [W/Hz], [n].

    Example:
        A terminal of cell 0 hears cell 1, which uses the same band.

        >>> downlink_w_hz([[1e-9, 1e-11]], cell=[0], group=[0, 0], power_w=[20.0, 20.0], band_hz=1e8)
        array([2.e-18])
    """
    received_w = non_negative("path_gain", path_gain) * non_negative("power_w", power_w)
    interference_w = (received_w * _interferes(cell, group)).sum(axis=1)  # over base stations
    return np.asarray(interference_w / positive("band_hz", band_hz))


def uplink_w_hz(
    path_gain: ArrayLike, cell: ArrayLike, group: ArrayLike, power_w: ArrayLike, band_hz: ArrayLike
) -> Floats:
    """Return the power density that base stations receive from terminals of other cells, `I0 = sum P g / W`.

    Cells do not coordinate which part of the band a terminal uses, so its power counts as spread evenly over the band
    of the group.

    `power_w` is the mean power of each terminal [W], [n]; the other arguments are those of `downlink_w_hz`.

    Returns:
        I0 [W/Hz] at each base station, [cells].
    """
    received_w = non_negative("path_gain", path_gain) * non_negative("power_w", power_w)[:, None]
    interference_w = (received_w * _interferes(cell, group)).sum(axis=0)  # over terminals
    return np.asarray(interference_w / positive("band_hz", band_hz))


def _interferes(cell: ArrayLike, group: ArrayLike) -> Bools:
    """Return whether a terminal and a base station share a band but not a cell, [n, cells]."""
    serving = np.asarray(cell)
    groups = np.asarray(group)
    require((serving >= 0) & (serving < len(groups)), serving, "cell", f"from 0 to {len(groups) - 1}")
    same_band = groups[serving][:, None] == groups
    other_cell = serving[:, None] != np.arange(len(groups))
    return np.asarray(same_band & other_cell)
