"""From signal-to-noise ratio to bits per second."""

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import exp1

from channel._checks import Floats, non_negative, positive, require
from channel.units import dbm_to_w

SERIES_BELOW = 0.02  # mean SNR below which the series is used: 22 terms of it are then exact to rounding
SERIES_TERMS = 22
TINY = 1e-280  # stands for a mean SNR of 0 in a denominator


class Efficiency(Protocol):
    """Spectral efficiency of a link over the SNR of a slot; hashable, so that tables of it can be cached."""

    def __hash__(self) -> int: ...

    def bps_hz(self, snr: ArrayLike) -> Floats:
        """Spectral efficiency [bit/s/Hz] at an SNR [1], the shape of `snr`; it never falls as the SNR grows."""
        ...

    def rayleigh_bps_hz(self, mean_snr: Floats) -> Floats:
        """Mean [bit/s/Hz] of `bps_hz` over Rayleigh fading of a mean SNR [1], its shape; see `mean_rayleigh_bps_hz`."""
        ...


@dataclass(frozen=True)
class Shannon:
    """Shannon's bound, attenuated and truncated (3GPP TR 36.942, Annex A.2); the bound itself as it stands.

    Args:
        attenuation: part of the bound that is reached [1], in (0, 1].
        min_snr: SNR [1] below which nothing is received.
        max_bps_hz: spectral efficiency [bit/s/Hz] of the highest modulation and code rate; may be infinite.

    Raises:
        ValueError: an argument is out of its range or NaN.
    """

    attenuation: float = 1.0
    min_snr: float = 0.0
    max_bps_hz: float = np.inf

    def __post_init__(self) -> None:
        attenuation, cap = np.asarray(self.attenuation, dtype=np.float64), np.asarray(self.max_bps_hz, dtype=np.float64)
        require((attenuation > 0) & (attenuation <= 1), attenuation, "attenuation", "above 0 and at most 1")
        non_negative("min_snr", self.min_snr)
        require(cap > 0, cap, "max_bps_hz", "above 0")

    def bps_hz(self, snr: ArrayLike) -> Floats:
        """0 below `min_snr`, else min(attenuation log2(1 + snr), max_bps_hz).

        Args:
            snr: signal-to-noise ratio [1], any shape.

        Returns:
            Spectral efficiency [bit/s/Hz], the shape of `snr`.

        Raises:
            ValueError: a negative SNR, NaN.
        """
        s = non_negative("snr", snr)
        efficiency = np.minimum(self.attenuation * (np.log1p(s) / np.log(2.0)), self.max_bps_hz)
        return np.where(s < self.min_snr, 0.0, efficiency)

    def rayleigh_bps_hz(self, mean_snr: Floats) -> Floats:
        """Exact mean over Rayleigh fading: integrated by parts, it is a difference of exponential integrals."""
        with np.errstate(over="ignore"):
            cap_snr = np.expm1(self.max_bps_hz * np.log(2.0) / self.attenuation)
        floor = self.bps_hz(self.min_snr) * np.exp(-self.min_snr / np.maximum(mean_snr, TINY))
        nats = _tail_nats(mean_snr, self.min_snr) - _tail_nats(mean_snr, max(self.min_snr, cap_snr))
        return np.asarray(floor + self.attenuation * (nats / np.log(2.0)))


SHANNON = Shannon()
TRUNCATED = Shannon(attenuation=0.6, min_snr=0.1, max_bps_hz=4.4)  # downlink of TR 36.942, Table A.2: -10 dB, 64QAM


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
    nats = _rayleigh_nats(non_negative("mean_snr", mean_snr))
    return np.asarray(positive("bandwidth_hz", bandwidth_hz) * (nats / np.log(2.0)))


def mean_rayleigh_bps_hz(efficiency: Efficiency, mean_snr: ArrayLike) -> Floats:
    """Mean spectral efficiency over Rayleigh fading, E[e(s|h|^2)] with |h|^2 ~ Exp(1); exact for each rate model.

    Args:
        efficiency: the rate model e.
        mean_snr: mean signal-to-noise ratio s [1]; 0 gives 0.

    Returns:
        Mean spectral efficiency [bit/s/Hz], the shape of `mean_snr`.

    Raises:
        ValueError: a negative SNR, NaN.
    """
    return efficiency.rayleigh_bps_hz(non_negative("mean_snr", mean_snr))


def noise_w_hz(noise_dbm_hz: ArrayLike, noise_figure_db: ArrayLike = 0.0) -> Floats:
    """Noise power density at a receiver: thermal noise times the noise figure.

    Args:
        noise_dbm_hz: thermal noise power density [dBm/Hz]; -174 at 290 K.
        noise_figure_db: noise figure of the receiver [dB], not negative. Usual in 3GPP studies below 6 GHz: 9 dB for
            terminals, 5 dB for base stations (TR 38.802, Table A.2.1-1).

    Returns:
        Noise power density N0 [W/Hz], the broadcast shape of the arguments.

    Raises:
        ValueError: a negative noise figure, a level that is not finite, NaN.
    """
    thermal = np.asarray(noise_dbm_hz, dtype=np.float64)
    require(np.isfinite(thermal), thermal, "noise_dbm_hz", "finite")
    return dbm_to_w(thermal + non_negative("noise_figure_db", noise_figure_db))


def _tail_nats(s: Floats, snr: float) -> Floats:
    """The integral of e^(-t/s) / (1 + t) over the SNR t from `snr` up, e^(1/s) E1((1 + snr)/s)."""
    return np.asarray(np.exp(-snr / np.maximum(s, TINY)) * _rayleigh_nats(s / (1.0 + snr)))


def _rayleigh_nats(s: Floats) -> Floats:
    """E[ln(1 + s|h|^2)] = e^(1/s) E1(1/s)."""
    inverse = 1.0 / np.maximum(s, SERIES_BELOW)
    return np.where(s < SERIES_BELOW, _small_snr_nats(s), np.exp(inverse) * exp1(inverse))


def _small_snr_nats(s: Floats) -> Floats:
    """e^(1/s) E1(1/s) = s (1 - s (1 - 2s (1 - 3s ...))) for small s, where e^(1/s) overflows (DLMF 6.12.1)."""
    small = np.minimum(s, SERIES_BELOW)
    nested = np.ones_like(small)
    for k in range(SERIES_TERMS, 0, -1):
        nested = 1.0 - k * small * nested
    return small * nested
