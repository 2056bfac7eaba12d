"""From signal-to-noise ratio to bits per second: rate models and their exact means over Rayleigh fading.

Shannon's bound as in the dynamic-devices paper (eq. 24, 25 and 40), and its attenuated and truncated form of 3GPP TR
36.942, Annex A.2. `channel.mcs` adds the staircase of modulation and coding schemes. Every function of `channel` that
needs a rate takes an `Efficiency`.
"""

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike

from channel import _special
from channel._arrays import Floats
from channel._checks import finite, non_negative, positive, require, ricean_k
from channel.units import dbm_to_w

SERIES_BELOW = 0.02  # mean SNR below which 22 terms of the series are exact to rounding
SERIES_TERMS = 22
SCATTER_QUANTILES = 64  # of the scatter's power, over which the mean over Ricean fading is taken
SCATTER_ANGLES = 16
LEAST_DENOMINATOR = 1e-280  # stands for a mean SNR or a rate of 0 in a denominator


class Efficiency(Protocol):
    """Spectral efficiency of a link over the SNR of a slot; hashable, so that tables of it can be cached."""

    def __hash__(self) -> int: ...

    def bps_hz(self, snr: ArrayLike) -> Floats:
        """Return the spectral efficiency [bit/s/Hz] at an SNR [1], the shape of `snr`; it never falls as SNR grows."""
        ...

    def rayleigh_bps_hz(self, mean_snr: Floats) -> Floats:
        """Return the mean [bit/s/Hz] over Rayleigh fading of a mean SNR [1], its shape; see `mean_rayleigh_bps_hz`."""
        ...


@dataclass(frozen=True)
class Shannon:
    """Shannon's bound, attenuated and truncated (3GPP TR 36.942, Annex A.2); the bound itself by default.

    Args:
        attenuation: reached part of the bound [1], in (0, 1].
        min_snr: SNR [1] below which nothing is received.
        max_bps_hz: spectral efficiency [bit/s/Hz] of the highest modulation and code rate; may be infinite.

    Example:
        >>> Shannon().bps_hz([1.0, 3.0, 1023.0])
        array([ 1.,  2., 10.])
    """

    attenuation: float = 1.0
    min_snr: float = 0.0
    max_bps_hz: float = np.inf

    def __post_init__(self) -> None:
        attenuation = np.asarray(self.attenuation, dtype=np.float64)
        require((attenuation > 0) & (attenuation <= 1), attenuation, "attenuation", "above 0 and at most 1")
        non_negative("min_snr", self.min_snr)
        cap = np.asarray(self.max_bps_hz, dtype=np.float64)
        require(cap > 0, cap, "max_bps_hz", "above 0")

    def bps_hz(self, snr: ArrayLike) -> Floats:
        """Return `min(attenuation log2(1 + snr), max_bps_hz)`, and 0 below `min_snr`.

        Args:
            snr: signal-to-noise ratio [1], any shape.

        Returns:
            Spectral efficiency [bit/s/Hz], the shape of `snr`.
        """
        s = non_negative("snr", snr)
        # log1p, as 1 + s would lose the digits of a weak SNR.
        efficiency = np.minimum(self.attenuation * (np.log1p(s) / np.log(2.0)), self.max_bps_hz)
        return np.where(s < self.min_snr, 0.0, efficiency)

    def rayleigh_bps_hz(self, mean_snr: Floats) -> Floats:
        """Return the exact mean over Rayleigh fading: integrated by parts, a difference of exponential integrals.

        `E[e] = e(m) P(S > m) + integral from m to c of e'(t) P(S > t) dt`, where `P(S > t) = exp(-t/s)`, `m` is
        `min_snr` and `c` the SNR at which the cap is reached.

        Args:
            mean_snr: mean signal-to-noise ratio s [1], any shape.

        Returns:
            Mean spectral efficiency [bit/s/Hz], the shape of `mean_snr`.
        """
        with np.errstate(over="ignore"):  # without a cap the SNR is infinite, and nothing is subtracted
            cap_snr = np.expm1(self.max_bps_hz * np.log(2.0) / self.attenuation)
        floor = self.bps_hz(self.min_snr) * np.exp(-self.min_snr / np.maximum(mean_snr, LEAST_DENOMINATOR))
        nats = _tail_nats(mean_snr, self.min_snr)
        if np.isfinite(cap_snr):
            nats = nats - _tail_nats(mean_snr, max(self.min_snr, cap_snr))
        return np.asarray(floor + self.attenuation * (nats / np.log(2.0)))


SHANNON = Shannon()
TRUNCATED = Shannon(attenuation=0.6, min_snr=0.1, max_bps_hz=4.4)  # downlink of TR 36.942, Table A.2: -10 dB, 64QAM


def mean_snr(tx_power_w: ArrayLike, path_gain: ArrayLike, noise_w_hz: ArrayLike, bandwidth_hz: ArrayLike) -> Floats:
    """Return the signal-to-noise ratio `P psi / (N0 W)` at `|h|^2 = 1`, its mean over fading (paper, eq. 24 and 40).

    Args:
        tx_power_w: transmitted power P [W].
        path_gain: large-scale gain `psi = 10^(-(path loss + shadowing)/10)` [1].
        noise_w_hz: noise power density N0 [W/Hz].
        bandwidth_hz: bandwidth W of the transfer [Hz].

    Returns:
        Mean SNR [1], the broadcast shape of the arguments.

    Example:
        0.2 W over a loss of 100 dB, against 4e-21 W/Hz in 1 MHz.

        >>> float(mean_snr(0.2, 1e-10, 4e-21, 1e6).round())
        5000.0
    """
    noise_w = positive("noise_w_hz", noise_w_hz) * positive("bandwidth_hz", bandwidth_hz)
    return np.asarray(non_negative("tx_power_w", tx_power_w) * non_negative("path_gain", path_gain) / noise_w)


def mean_rayleigh_bps(bandwidth_hz: ArrayLike, mean_snr: ArrayLike) -> Floats:
    """Return the mean of Shannon's rate over Rayleigh fading, `E[W log2(1 + s|h|^2)] = W e^(1/s) E1(1/s) / ln 2`.

    The ergodic capacity of the Rayleigh channel; `E1` is the exponential integral (DLMF 6.2.1).

    Args:
        bandwidth_hz: bandwidth W [Hz].
        mean_snr: mean signal-to-noise ratio s [1]; 0 gives 0.

    Returns:
        Mean rate [bit/s], the broadcast shape of the arguments.

    Example:
        At a mean SNR of 1, fading costs 14 % of the 1 Mbit/s without it.

        >>> float(mean_rayleigh_bps(1e6, 1.0).round(-3))
        860000.0
    """
    nats = _rayleigh_nats(non_negative("mean_snr", mean_snr))
    return np.asarray(positive("bandwidth_hz", bandwidth_hz) * (nats / np.log(2.0)))


def mean_rayleigh_bps_hz(efficiency: Efficiency, mean_snr: ArrayLike) -> Floats:
    """Return the mean spectral efficiency [bit/s/Hz] over Rayleigh fading, `E[e(s|h|^2)]` with `|h|^2 ~ Exp(1)`.

    Exact, by the closed form of the rate model e; s is the mean signal-to-noise ratio [1], any shape, and 0 gives 0.
    """
    return efficiency.rayleigh_bps_hz(non_negative("mean_snr", mean_snr))


def mean_ricean_bps_hz(efficiency: Efficiency, mean_snr: ArrayLike, k_factor: ArrayLike) -> Floats:
    """Return the mean spectral efficiency over Ricean fading, `E[e(s|g|^2)]`, to about 1 %.

    The mean is taken over quantiles of the scatter's power and over its angles to the line of sight.

    Args:
        efficiency: the rate model e.
        mean_snr: mean signal-to-noise ratio s [1], [n].
        k_factor: Ricean K [1], [n]; 0 is Rayleigh fading, infinity none.

    Returns:
        Mean spectral efficiency [bit/s/Hz], [n].

    Example:
        >>> float(mean_ricean_bps_hz(SHANNON, [1.0], [0.0]).round(2)[0])
        0.86
    """
    snr = non_negative("mean_snr", mean_snr)
    k = ricean_k(k_factor)
    probability = (np.arange(SCATTER_QUANTILES) + 0.5) / SCATTER_QUANTILES
    amplitude = np.sqrt(-np.log(probability))  # |h|, as |h|^2 is exponential
    angle = np.pi * (np.arange(SCATTER_ANGLES) + 0.5) / SCATTER_ANGLES  # half a turn: the other half mirrors it
    scatter = np.outer(amplitude, np.exp(1j * angle)).ravel()
    line = np.sqrt(1.0 - 1.0 / (k + 1.0))[..., None]
    power = np.abs(line + np.sqrt(1.0 / (k + 1.0))[..., None] * scatter) ** 2
    return np.asarray(efficiency.bps_hz(snr[..., None] * power).mean(axis=-1))


def noise_w_hz(noise_dbm_hz: ArrayLike, noise_figure_db: ArrayLike = 0.0) -> Floats:
    """Return the noise power density at a receiver: thermal noise times the noise figure.

    Args:
        noise_dbm_hz: thermal noise power density [dBm/Hz]; -174 at 290 K.
        noise_figure_db: noise figure of the receiver [dB], not negative. Usual in 3GPP studies below 6 GHz: 9 dB for
            terminals, 5 dB for base stations (TR 38.802, Table A.2.1-1).

    Returns:
        Noise power density N0 [W/Hz], the broadcast shape of the arguments.

    Example:
        >>> float(noise_w_hz(-174.0, 9.0).round(21))
        3.2e-20
    """
    thermal = finite("noise_dbm_hz", noise_dbm_hz)
    return dbm_to_w(thermal + non_negative("noise_figure_db", noise_figure_db))


def _tail_nats(s: Floats, snr: float) -> Floats:
    """Return the integral of `e^(-t/s) / (1 + t)` over the SNR t from `snr` up, `e^(1/s) E1((1 + snr)/s)`."""
    # e^(1/s) overflows for weak links: with x = (1 + snr)/s it is e^(-snr/s) times e^x E1(x), which does not.
    return np.asarray(np.exp(-snr / np.maximum(s, LEAST_DENOMINATOR)) * _rayleigh_nats(s / (1.0 + snr)))


def _rayleigh_nats(s: Floats) -> Floats:
    """Return `E[ln(1 + s|h|^2)] = e^(1/s) E1(1/s)`."""
    inverse = 1.0 / np.maximum(s, SERIES_BELOW)
    nats = np.exp(inverse) * _special.exp1(inverse)
    small = s < SERIES_BELOW
    if not small.any():
        return np.asarray(nats)
    return np.where(small, _small_snr_nats(s), nats)


def _small_snr_nats(s: Floats) -> Floats:
    """Return `e^(1/s) E1(1/s) = s (1 - s (1 - 2s (1 - 3s ...)))` for small s, as `e^(1/s)` overflows (DLMF 6.12.1)."""
    small = np.minimum(s, SERIES_BELOW)
    nested = np.ones_like(small)
    for k in range(SERIES_TERMS, 0, -1):
        nested = 1.0 - k * small * nested
    return small * nested
