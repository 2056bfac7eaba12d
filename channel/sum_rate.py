"""The OFDMA allocation with the highest sum of rates: strong links get most of the band.

Let `a_k = P psi / N0` be the received power over the noise density of transfer k. It puts all its power on its share,
so its rate on a bandwidth `W_k` is `W_k e(a_k / W_k)`. If the spectral efficiency e is concave in the SNR, the sum is
at most `W e(sum_k a_k / W)` (Jensen), which is reached where all SNRs are equal, at `W_k = W a_k / sum a`
(docs/channel/allocation.md).
"""

import numpy as np
from numpy.typing import ArrayLike

from channel._arrays import Floats
from channel._checks import one_each, positive, require
from channel.allocation import Shares


def max_rate(band_hz: float, snr_hz: ArrayLike, *, least_share: float = 0.0, spread: bool = False) -> Shares:
    """Return the bandwidths with the highest sum of rates, none of them below a floor.

    Transfers that put their power on their shares all have one SNR, except those on the floor, which are below it. With
    `spread` rates are in proportion to bandwidths: the strongest get everything above the floor.

    Args:
        band_hz: bandwidth W of the system [Hz].
        snr_hz: received power over the noise density, `a = P psi / N0` [n] in Hz.
        least_share: least share of each over the equal share `W/n` [1], in [0, 1].
        spread: whether the transmitter spreads its power over the whole band.

    Returns:
        Shares [n], each served all the time. They are optimal for any rate that is concave in the SNR, such as
        Shannon's and its mean over Rayleigh fading.

    Example:
        A floor of a tenth of the equal share is more than the weakest would get.

        >>> (max_rate(12e6, [1e6, 4e7, 6e7]).bandwidth_hz / 1e6).round(2)
        array([0.12, 4.75, 7.13])
        >>> (max_rate(12e6, [1e6, 4e7, 6e7], least_share=0.1).bandwidth_hz / 1e6).round(2)
        array([0.4 , 4.64, 6.96])
    """
    band = float(positive("band_hz", band_hz))
    snr = one_each("snr_hz", positive("snr_hz", snr_hz))
    part = np.asarray(least_share, dtype=np.float64)
    require((part >= 0) & (part <= 1), part, "least_share", "between 0 and 1")
    floor_hz = float(part) * band / snr.size
    if spread:
        share_hz = _all_to_the_strongest(band, snr, floor_hz)
    else:
        share_hz = _at_one_snr(band, snr, floor_hz)
    return Shares(share_hz, np.ones(snr.size))


def _all_to_the_strongest(band: float, snr: Floats, floor_hz: float) -> Floats:
    """Return shares [n] that divide everything above the floor equally among the strongest."""
    strongest = snr == snr.max()
    left_hz = band - floor_hz * snr.size
    return np.asarray(floor_hz + strongest * (left_hz / strongest.sum()))


def _at_one_snr(band: float, snr: Floats, floor_hz: float) -> Floats:
    """Return shares [n] in proportion to `snr` [n], except those of the weakest, which are on the floor."""
    ascending = np.sort(snr)
    # With m on the floor, the others divide the rest; for m from 0 to n - 1.
    on_floor = np.arange(snr.size)
    others = np.cumsum(ascending[::-1])[::-1]
    hz_per_snr = (band - on_floor * floor_hz) / others
    # The right m is the first that lets the weakest of the others reach the floor.
    enough = ascending * hz_per_snr >= floor_hz
    first = int(np.argmax(enough))
    if not enough.any():  # by rounding, if the floor is the equal share
        first = snr.size - 1
    return np.asarray(np.maximum(snr * hz_per_snr[first], floor_hz))
