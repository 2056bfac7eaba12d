"""The widest share of a band that is of use to a transmitter: beyond it, its power is spread too thin.

A terminal puts its power on its share `W`. With `a = P psi / N0` [Hz] its SNR is `s = a / W`, and its rate
`W e(a / W) = a e(s) / s`. Under a rate model with a lowest SNR, `e(s) / s` is highest at one SNR `s*`, the same for all
terminals, and a share wider than `a / s*` carries less. A scheduler knows the power from the terminal's power headroom
reports (3GPP TS 38.321, clause 5.4.6), and grants no more.
"""

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike

from channel._arrays import Floats, Rows
from channel._checks import one_each, positive
from channel.allocation import Shares

LOWEST_SNR = 1e-12
HIGHEST_SNR = 1e12
GRID_POINTS = 4001
ZOOMS = 3  # each divides the grid's steps by half its points: after 3 of them the SNR is known to 2e-12
MARGIN = 1e-12  # relative: rounded, the SNR a / (a / s) may be below s, which is below the step of a staircase
AS_GOOD = 1e-6  # relative: a rate that changes by less is taken for one that does not


def best_snr(bps_hz: Callable[[Floats], Floats]) -> float:
    """Return the SNR `s*` at which power carries most, `argmax e(s) / s`: a share is of use up to `W = a / s*`.

    Args:
        bps_hz: spectral efficiency e [bit/s/Hz] over the SNR [1], [n] to [n]; or its mean over the fading, over the
            mean SNR.

    Returns:
        The SNR [1], above by at most 1e-11 of it; 0 where power carries most on the widest share, as with Shannon's
        bound, and where nothing is received at any SNR.

    Example:
        A scheme that needs an SNR of 0.5, and one of twice its rate that needs 1.5.

        >>> round(best_snr(lambda snr: 1.0 * (snr >= 0.5) + 1.0 * (snr >= 1.5)), 9)
        0.5
    """
    low = np.log(LOWEST_SNR)
    high = np.log(HIGHEST_SNR)
    best = 0.0
    for zoom in range(1 + ZOOMS):
        log_snr = np.linspace(low, high, GRID_POINTS)
        snr = np.exp(log_snr)
        bits_a_power = bps_hz(snr) / snr
        place = int(np.argmax(bits_a_power))
        if zoom == 0 and bits_a_power[0] >= bits_a_power[place] * (1.0 - AS_GOOD):
            return 0.0
        # A point of the grid, not one between two: a step of a staircase lies just below it, never above.
        best = float(snr[place])
        low = log_snr[max(place - 1, 0)]
        high = log_snr[min(place + 1, GRID_POINTS - 1)]
    return best * (1.0 + MARGIN)


def fill(band_hz: float, widest_hz: ArrayLike, divide: Callable[[float, Rows], Shares]) -> Shares:
    """Return the shares of a rule, none wider than is of use; what this leaves is divided again by the same rule.

    Those whose share would be too wide keep the widest of use, and the rule divides the rest among the others, until
    every share is of use (as in water-filling). A part of the band is left over only if no transfer can use it. Of
    transfers that take turns, each has what it can use in its turn.

    Args:
        band_hz: bandwidth of the system [Hz].
        widest_hz: the widest share of use to each transfer [n] in Hz.
        divide: returns the shares [r] of the transfers in some rows [r] of a band [Hz].

    Returns:
        Shares [n]; those of `divide` itself where it gives no transfer too much.

    Raises:
        ValueError: a band or width that is not positive, no transfer, NaN.

    Example:
        Of 12 Hz the first can use 1; the others divide its other 3.

        >>> from channel import allocation
        >>> fill(12.0, [1.0, 5.0, 12.0], lambda band, rows: allocation.equal(band, rows.size)).bandwidth_hz
        array([1., 5., 6.])
    """
    left_hz = float(positive("band_hz", band_hz))
    widest = one_each("widest_hz", positive("widest_hz", widest_hz))
    rows: Rows = np.arange(widest.size)
    shares = divide(left_hz, rows)
    if (shares.duty < 1).any():
        return Shares(np.minimum(shares.bandwidth_hz, widest), shares.duty)
    share_hz = shares.bandwidth_hz.copy()
    too_wide = share_hz > widest
    while too_wide.any():
        share_hz[rows[too_wide]] = widest[rows[too_wide]]
        left_hz -= float(widest[rows[too_wide]].sum())
        rows = rows[~too_wide]
        if not rows.size or left_hz <= 0:  # the rest of the band is rounding
            break
        share_hz[rows] = divide(left_hz, rows).bandwidth_hz
        too_wide = share_hz[rows] > widest[rows]
    return Shares(share_hz, shares.duty)
