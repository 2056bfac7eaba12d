"""From signal-to-noise ratio to bits per second."""

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import exp1

from channel._checks import Floats, non_negative, positive

SERIES_BELOW = 0.02  # mean SNR below which the series is used: 22 terms of it are then exact to rounding
SERIES_TERMS = 22


def mean_snr(tx_power_w: ArrayLike, path_gain: ArrayLike, noise_w_hz: ArrayLike, bandwidth_hz: ArrayLike) -> Floats:
    """Signal-to-noise ratio P psi / (N0 W) for |h|^2 = 1, its mean over the fading (paper, eq. 24 and 40).

    Args:
        tx_power_w: transmitted power P [W].
        path_gain: large-scale gain psi = 10^(-(path loss + shadowing)/10) [1].
        noise_w_hz: noise power density N0 [W/Hz].
        bandwidth_hz: bandwidth W of the transfer [Hz].

    Returns:
        Mean SNR [1], the broadcast shape of the arguments.

    Raises:
        ValueError: a negative power or gain, a noise or bandwidth that is not positive, NaN.
    """
    noise_w = positive("noise_w_hz", noise_w_hz) * positive("bandwidth_hz", bandwidth_hz)
    return np.asarray(non_negative("tx_power_w", tx_power_w) * non_negative("path_gain", path_gain) / noise_w)


def shannon_bps(bandwidth_hz: ArrayLike, snr: ArrayLike) -> Floats:
    """Rate W log2(1 + snr) (paper, eq. 24, 25 and 40).

    Args:
        bandwidth_hz: bandwidth W [Hz].
        snr: signal-to-noise ratio of the slot [1].

    Returns:
        Rate [bit/s], the broadcast shape of the arguments.

    Raises:
        ValueError: a bandwidth that is not positive, a negative SNR, NaN.
    """
    return np.asarray(positive("bandwidth_hz", bandwidth_hz) * (np.log1p(non_negative("snr", snr)) / np.log(2.0)))


def mean_rayleigh_bps(bandwidth_hz: ArrayLike, mean_snr: ArrayLike) -> Floats:
    """Mean of `shannon_bps` over Rayleigh fading, E[W log2(1 + s|h|^2)] = W e^(1/s) E1(1/s) / ln 2.

    The ergodic capacity of the Rayleigh channel; E1 is the exponential integral (DLMF 6.2.1).

    Args:
        bandwidth_hz: bandwidth W [Hz].
        mean_snr: mean signal-to-noise ratio s [1]; 0 gives 0.

    Returns:
        Mean rate [bit/s], the broadcast shape of the arguments.

    Raises:
        ValueError: a bandwidth that is not positive, a negative SNR, NaN.
    """
    s = non_negative("mean_snr", mean_snr)
    inverse = 1.0 / np.maximum(s, SERIES_BELOW)
    nats = np.where(s < SERIES_BELOW, _small_snr_nats(s), np.exp(inverse) * exp1(inverse))
    return np.asarray(positive("bandwidth_hz", bandwidth_hz) * (nats / np.log(2.0)))


def _small_snr_nats(s: Floats) -> Floats:
    """e^(1/s) E1(1/s) = s (1 - s (1 - 2s (1 - 3s ...))) for small s, where e^(1/s) overflows (DLMF 6.12.1)."""
    small = np.minimum(s, SERIES_BELOW)
    nested = np.ones_like(small)
    for k in range(SERIES_TERMS, 0, -1):
        nested = 1.0 - k * small * nested
    return small * nested
