"""OFDMA allocations: how concurrent transfers divide a band. Disjoint shares that add up to the whole.

A transfer k of Z_k bits has P psi / N0 = a_k [Hz]. On a bandwidth W_k its mean SNR is a_k / W_k: a terminal puts all
its power on its share. With `spread` the power is spread over the whole band, as a base station's is, and the SNR is
a_k / W on every share. The mean rate is W_k times the spectral efficiency, its mean over Rayleigh fading or without.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache, partial

import numpy as np
from numpy.typing import ArrayLike, NDArray

from channel._checks import Floats, non_negative, positive
from channel.rate import SHANNON, TINY, Efficiency, mean_rayleigh_bps_hz

LOG_SNR = np.linspace(np.log(1e-12), np.log(1e40), 6000)  # grid of the tables below
BISECTIONS = 50
NEWTON_STEPS = 12

_Mean = Callable[[Floats], Floats]  # mean SNR -> mean spectral efficiency


@dataclass(frozen=True)
class Shares:
    """What each of n transfers gets: sum(bandwidth_hz * duty) is the band.

    Args:
        bandwidth_hz: bandwidth while it is served [n] [Hz].
        duty: part of the time in which it is served [n], in [0, 1].
    """

    bandwidth_hz: Floats
    duty: Floats


def equal(band_hz: float, count: int) -> Shares:
    """The same bandwidth W/n for all (dynamic-devices paper, Section VI).

    Args:
        band_hz: bandwidth W of the system [Hz].
        count: number n of transfers.

    Raises:
        ValueError: a band or count that is not positive, NaN.
    """
    share_hz = float(positive("band_hz", band_hz)) / float(positive("count", count))
    return Shares(np.full(count, share_hz), np.ones(count))


def round_robin(band_hz: float, count: int) -> Shares:
    """Each in turn has the whole band, 1/n of the time.

    Args:
        band_hz: bandwidth W of the system [Hz].
        count: number n of transfers.

    Raises:
        ValueError: a band or count that is not positive, NaN.
    """
    return Shares(np.full(count, float(positive("band_hz", band_hz))), np.full(count, 1.0 / positive("count", count)))


def proportional(band_hz: float, payload_bits: ArrayLike) -> Shares:
    """Bandwidths in proportion to the payloads.

    Args:
        band_hz: bandwidth W of the system [Hz].
        payload_bits: bits Z to send [n]; 0 gets nothing, and if all are 0 the shares are equal.

    Raises:
        ValueError: a band that is not positive, a negative payload, no transfer, NaN.
    """
    payload = _transfers("payload_bits", non_negative("payload_bits", payload_bits))
    if not payload.any():
        return equal(band_hz, payload.size)
    return _divided(float(positive("band_hz", band_hz)), payload)


def min_makespan(
    band_hz: float,
    payload_bits: ArrayLike,
    snr_hz: ArrayLike,
    efficiency: Efficiency = SHANNON,
    *,
    spread: bool = False,
    fading: bool = True,
) -> Shares:
    """The bandwidths for which all finish at the same time T under their mean rates: no others finish all sooner.

    Solves sum_k W_k(T) = W, where W_k(T) is the least bandwidth that carries Z_k in T: bisection over T on a table of
    the mean rate, then Newton steps on the mean rate itself.

    Args:
        band_hz: bandwidth W of the system [Hz].
        payload_bits: bits Z to send [n]; 0 gets nothing, and if all are 0 the shares are equal.
        snr_hz: received power over the noise density, a = P psi / N0 [n] [Hz].
        efficiency: rate model.
        spread: whether the transmitter spreads its power over the whole band.
        fading: whether mean rates are means over Rayleigh fading, or rates at the mean SNR.

    Raises:
        ValueError: a band or snr_hz that is not positive, a negative payload, no transfer, shapes that differ, NaN.
    """
    band = float(positive("band_hz", band_hz))
    payload = _transfers("payload_bits", non_negative("payload_bits", payload_bits))
    a = _transfers("snr_hz", positive("snr_hz", snr_hz), payload.size)
    sending = payload > 0
    if not sending.any():
        return equal(band, payload.size)
    share_hz = np.zeros(payload.shape)
    if spread:
        mean_bps_hz = _mean(efficiency, fading)(a[sending] / band)
        share_hz[sending] = payload[sending] / np.maximum(mean_bps_hz, TINY)  # in outage: as good as all for it
    else:
        curve, mean = _curve(efficiency, fading), _mean(efficiency, fading)
        share_hz[sending] = _finishing_together_hz(band, payload[sending], a[sending], curve, mean)
    return _divided(band, share_hz)


def proportional_fair(
    band_hz: float,
    snr_hz: ArrayLike,
    efficiency: Efficiency = SHANNON,
    *,
    spread: bool = False,
    fading: bool = True,
) -> Shares:
    """The bandwidths that maximise the sum of the logarithms of the mean rates (Kelly 1997; Nash's bargaining).

    With R_k(w) the mean rate on a bandwidth w, the optimum has R_k'(W_k) / R_k(W_k) equal for all k. The multiplier is
    found by bisection on a table. With `spread` the rate is proportional to the bandwidth and the shares are equal.

    Args:
        band_hz: bandwidth W of the system [Hz].
        snr_hz: received power over the noise density, a = P psi / N0 [n] [Hz].
        efficiency: rate model.
        spread: whether the transmitter spreads its power over the whole band.
        fading: whether mean rates are means over Rayleigh fading, or rates at the mean SNR.

    Raises:
        ValueError: a band or snr_hz that is not positive, no transfer, NaN.
    """
    band = float(positive("band_hz", band_hz))
    a = _transfers("snr_hz", positive("snr_hz", snr_hz))
    if spread:
        return equal(band, a.size)
    curve = _curve(efficiency, fading)
    log_a = np.log(a)

    def share_hz(log_multiplier: float) -> Floats:
        return np.exp(log_a - np.interp(log_multiplier + log_a, curve.log_pull, curve.log_snr))

    weakest = float((curve.log_pull[0] - log_a).min())  # all at the widest share of use
    at_equal = np.interp(log_a - np.log(band / a.size), curve.log_snr, curve.log_pull) - log_a
    return _divided(band, _bisected(share_hz, band, weakest, float(at_equal.max())))


@dataclass(frozen=True)
class _Curve:
    """The mean rate R(W) = W e(a/W) of a rate model, as tables over the logarithm of the mean SNR u = ln(a/W).

    Only where more bandwidth is of use: a model with a lowest SNR has a widest share that does, at the table's start.
    """

    log_snr: Floats  # u, ascending
    log_rate: Floats  # ln(R/a), descending
    gain: Floats  # elasticity d ln R / d ln W, in (0, 1]
    log_pull: Floats  # ln(gain * a/W), ascending: d ln R / dW, times a


@lru_cache(maxsize=64)
def _curve(efficiency: Efficiency, fading: bool) -> _Curve:  # noqa: FBT001 - a part of the key
    with np.errstate(divide="ignore", invalid="ignore"):
        log_rate = np.log(_mean(efficiency, fading)(np.exp(LOG_SNR))) - LOG_SNR
        gain = np.clip(-np.gradient(log_rate, LOG_SNR), 1e-12, 1.0)
    best = int(np.argmax(log_rate))
    u, log_rate, gain = LOG_SNR[best:], log_rate[best:], gain[best:]
    descending = np.maximum.accumulate(log_rate[::-1])[::-1]  # the best that this share or less of it reaches
    return _Curve(u, descending, gain, np.maximum.accumulate(np.log(gain) + u))


def _mean(efficiency: Efficiency, fading: bool) -> _Mean:  # noqa: FBT001
    return (lambda snr: mean_rayleigh_bps_hz(efficiency, snr)) if fading else efficiency.bps_hz


def _finishing_together_hz(band: float, payload: Floats, a: Floats, curve: _Curve, mean: _Mean) -> Floats:
    """Shares [n] for which all finish together, except those so weak that they keep the widest share of use to them."""
    log_a, log_bits = np.log(a), np.log(payload)

    def log_alone_s(rows: NDArray[np.intp], share_hz: float) -> Floats:
        log_rate = np.interp(log_a[rows] - np.log(share_hz), curve.log_snr, curve.log_rate)
        return np.asarray(log_bits[rows] - log_a[rows] - log_rate)

    def least_hz(rows: NDArray[np.intp], log_s: float) -> Floats:
        log_snr = np.interp(log_s + log_a[rows] - log_bits[rows], -curve.log_rate, curve.log_snr)
        return np.asarray(np.exp(log_a[rows] - log_snr))

    share: Floats = np.exp(log_a - curve.log_snr[0])
    left, rows = band, np.arange(a.size)
    while rows.size:
        alone = log_alone_s(rows, left)
        slowest, soonest = rows[alone.argmax()], float(alone.max())
        if share[slowest] >= left or least_hz(rows, soonest).sum() > left:
            latest = float(log_alone_s(rows, left / rows.size).max())
            start = _bisected(partial(least_hz, rows), left, soonest, latest)
            share[rows] = _evened(start, left, payload[rows], a[rows], curve, mean)
            break
        left, rows = left - share[slowest], rows[rows != slowest]
    return share


def _evened(share: Floats, band: float, payload: Floats, a: Floats, curve: _Curve, mean: _Mean) -> Floats:
    """Newton steps from shares on which all finish at almost the same time, as long as they get closer."""
    best, unevenness = share, np.inf
    for _ in range(NEWTON_STEPS):
        with np.errstate(divide="ignore"):
            log_s = np.log(payload) - np.log(share * mean(a / share))
        if not np.ptp(log_s) < unevenness:
            break
        best, unevenness = share, np.ptp(log_s)
        lever = share / np.interp(np.log(a / share), curve.log_snr, curve.gain)  # -d W_k / d ln T
        log_s -= log_s.mean()
        common = (lever @ log_s + share.sum() - band) / lever.sum()
        share = share + np.clip(lever * (log_s - common), -0.9 * share, 9.0 * share)
    return best


def _bisected(share_hz: Callable[[float], Floats], band: float, low: float, high: float) -> Floats:
    """Shares that add up to the band, of a family whose sum shrinks from `low` to `high`."""
    for _ in range(BISECTIONS):
        middle = 0.5 * (low + high)
        if share_hz(middle).sum() > band:
            low = middle
        else:
            high = middle
    return share_hz(high)


def _divided(band: float, weights: Floats) -> Shares:
    return Shares(band * (weights / weights.sum()), np.ones(weights.shape))


def _transfers(quantity: str, values: Floats, count: int | None = None) -> Floats:
    right = values.ndim == 1 and (values.size > 0 if count is None else values.size == count)
    wanted = "one number a transfer, of at least one" if count is None else f"{count} numbers, one a transfer"
    if not right:
        raise ValueError(f"{quantity} of shape {values.shape} must hold {wanted}")
    return values
