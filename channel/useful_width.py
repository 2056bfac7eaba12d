"""The widest useful share of a band: beyond it, a transmitter's power is spread too thin.

A terminal puts its power on its share `W`. With `a = P psi / N0` [Hz] its SNR is `s = a / W`, and its rate
`W e(a / W) = a e(s) / s`. Under a rate model with a lowest SNR, `e(s) / s` is highest at one SNR `s*`, the same for all
terminals, and a share wider than `a / s*` carries less. A scheduler knows the power from power headroom reports (3GPP
TS 38.321, clause 5.4.6), and grants no more.
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
ZOOMS = 3  # each divides the grid's steps by half its points: 3 of them find the SNR to 2e-12
MARGIN = 1e-12  # relative: the rounded SNR a / (a / s) may lie below s, and thus below the step of a staircase
AS_GOOD = 1e-6  # relative: a rate that changes by less counts as constant


def best_snr(bps_hz: Callable[[Floats], Floats]) -> float:
    """Return the SNR `s*` at which power carries most, `argmax e(s) / s`: a share is useful up to `W = a / s*`.

    Args:
        bps_hz: spectral efficiency e [bit/s/Hz] over the SNR [1], [n] to [n]; or its mean over the fading, over the
            mean SNR.

    Returns:
        The SNR [1], too high by at most a relative 1e-11; 0 where power carries most on the widest share, as with
        Shannon's bound, and where nothing is received at any SNR.

    Example:
        One scheme needs an SNR of 0.5, another of twice its rate needs 1.5.

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
        # A point of the grid and not one between: the step of a staircase then lies just below it, never above.
        best = float(snr[place])
        low = log_snr[max(place - 1, 0)]
        high = log_snr[min(place + 1, GRID_POINTS - 1)]
    return best * (1.0 + MARGIN)


def fill(band_hz: float, widest_hz: ArrayLike, divide: Callable[[float, Rows], Shares]) -> Shares:
    """Return the shares of a rule, none wider than is useful.

    Transfers whose share would be too wide keep the widest useful one, and the rule divides the rest among the others,
    until every share is useful (as in water-filling). A part of the band stays empty only if no transfer can use it.
    Transfers that take turns each get their widest useful share in their turn.

    Args:
        band_hz: bandwidth of the system [Hz].
        widest_hz: the widest useful share of each transfer [n] in Hz.
        divide: returns the shares [r] of the transfers in some rows [r] of a band [Hz].

    Returns:
        Shares [n]; those of `divide` itself where it gives no transfer too much.

    Example:
        Of 12 Hz the first can use 1; the others divide the 3 that it leaves.

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
