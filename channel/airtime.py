"""Airtimes and powers of a transmission over a constant channel that trade time against energy.

Let a power `P1` reach an SNR of 1. By Shannon's formula, a message of `b` bits per hertz that lasts `t` seconds needs
the power `P1 (e^x - 1)`, with `x = b ln 2 / t` nats per second and hertz: the less time, the more energy. The best `x`
follows from Lambert's function (FEDL: Tran, Bao, Zomaya, Nguyen and Hong, IEEE INFOCOM 2019).
"""

import numpy as np
from numpy.typing import ArrayLike

from channel import _special
from channel._arrays import Floats
from channel._checks import non_negative, positive

LN_2 = float(np.log(2.0))
SERIES_BELOW = 1e-4  # of the worth, below which Lambert's function loses digits at its branch point
SERIES = (769 / 17280, -43 / 540, 11 / 72, -1 / 3, 1.0, 0.0)  # of 1 + W at its branch point (DLMF 4.13.6)


def best_nats(worth: ArrayLike) -> Floats:
    """Return the spectral efficiency x that solves `e^x (x - 1) + 1 = y`, `x = 1 + W((y - 1) / e)`.

    A message costs least at `x` if each second costs as much energy as `y` times the power that reaches an SNR of 1.

    Args:
        worth: y [1], any shape.

    Returns:
        x [nat/s/Hz], the shape of `worth`.

    Example:
        >>> best_nats([0.0, 1.0]).round(6)
        array([0., 1.])
    """
    y: Floats = non_negative("worth", worth)
    at_branch = np.polyval(SERIES, np.sqrt(2.0 * np.minimum(y, SERIES_BELOW)))
    z: Floats = np.asarray((y - 1.0) / np.e)
    beyond = 1.0 + np.real(_special.lambertw(z, 0))
    return np.where(y < SERIES_BELOW, at_branch, beyond)


def best_airtime_s(
    bits_per_hz: ArrayLike,
    unit_snr_w: ArrayLike,
    second_w: ArrayLike,
    least_w: ArrayLike = 0.0,
    most_w: ArrayLike = np.inf,
) -> Floats:
    """Return the airtimes that minimise `P t + c t`, the energy sent plus the cost of time (FEDL, Tran et al. 2019).

    Args:
        bits_per_hz: bits to send over the bandwidth, b [bit/Hz].
        unit_snr_w: transmitted power that reaches an SNR of 1, `N0 W / psi` [W].
        second_w: the cost of a second, c [J/s]: its weight, and the power of the circuits.
        least_w: least power [W].
        most_w: most power [W].

    Returns:
        Airtimes t [s], the broadcast shape of the arguments.

    Example:
        A second that costs as much as the power of an SNR of 1 is best used at 1 nat/s/Hz.

        >>> float(best_airtime_s(1e-3 / np.log(2), 0.5, 0.5))
        0.001
    """
    unit_w = positive("unit_snr_w", unit_snr_w)
    least = non_negative("least_w", least_w)
    most = np.asarray(most_w, dtype=np.float64)
    if not (most >= least).all():
        raise ValueError(f"most_w = {most.min():g} must not be below least_w = {least.max():g}")
    best = best_nats(positive("second_w", second_w) / unit_w)
    nats = np.clip(best, np.log1p(least / unit_w), np.log1p(most / unit_w))
    return np.asarray(non_negative("bits_per_hz", bits_per_hz) * LN_2 / nats)


def power_w(bits_per_hz: ArrayLike, unit_snr_w: ArrayLike, airtime_s: ArrayLike) -> Floats:
    """Return the power that gives a message its airtime, `P1 (2^(b/t) - 1)`.

    Args:
        bits_per_hz: bits to send over the bandwidth, b [bit/Hz].
        unit_snr_w: transmitted power that reaches an SNR of 1 [W].
        airtime_s: t [s].

    Returns:
        Transmitted powers [W], the broadcast shape of the arguments.

    Example:
        >>> float(power_w(2.0, 0.1, 1.0).round(9))
        0.3
    """
    nats = non_negative("bits_per_hz", bits_per_hz) * LN_2 / positive("airtime_s", airtime_s)
    return np.asarray(positive("unit_snr_w", unit_snr_w) * np.expm1(nats))


def least_band_hz(rate_bps: ArrayLike, snr_hz: ArrayLike) -> Floats:
    """Return the least bandwidth that carries a rate with the whole power; infinite if no bandwidth does.

    With `x = ln(1 + a/w)` the equation `w x = R ln 2` has the solution `x = -q - W(-1, -q e^-q)` on the lower branch of
    Lambert's function, where `q = R ln 2 / a`; no bandwidth carries a rate with q >= 1 (Yang, Chen, Saad, Hong and
    Shikh-Bahaei, IEEE TWC 20, 2021).

    Args:
        rate_bps: R [bit/s].
        snr_hz: received power over the noise density, `a = P psi / N0` [Hz].

    Returns:
        Bandwidths w [Hz], the broadcast shape of the arguments.

    Example:
        1 Mbit/s in 1 MHz needs an SNR of 1.

        >>> float(least_band_hz(1e6, 1e6).round(3))
        1000000.0
    """
    a = positive("snr_hz", snr_hz)
    q = non_negative("rate_bps", rate_bps) * LN_2 / a
    inside = np.clip(q, np.finfo(np.float64).tiny, 1.0)
    z: Floats = np.asarray(-inside * np.exp(-inside))
    nats = -inside - np.real(_special.lambertw(z, -1))
    # Near q = 1 the band grows without bound, and x falls to 0 as 2 (1 - q).
    with np.errstate(divide="ignore", over="ignore"):
        band = np.where(nats > 0, a / np.expm1(np.maximum(nats, 0.0)), np.inf)
    return np.where(q >= 1.0, np.inf, np.where(q == 0.0, 0.0, band))


def worth_of_nats(nats: ArrayLike) -> Floats:
    """Return the worth of a second at which a spectral efficiency x is best, `y = e^x (x - 1) + 1`: see `best_nats`.

    Args:
        nats: x [nat/s/Hz], any shape.

    Returns:
        y [1], the shape of `nats`.

    Example:
        >>> worth_of_nats([0.0, 1.0])
        array([0., 1.])
    """
    x = non_negative("nats", nats)
    small = np.minimum(x, 1e-3)  # below it the difference would lose digits that the series keeps
    series = small**2 * (1 / 2 + small * (1 / 3 + small * (1 / 8 + small / 30)))
    return np.where(x < 1e-3, series, x * np.exp(x) - np.expm1(x))
