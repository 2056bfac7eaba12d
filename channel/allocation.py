"""OFDMA allocations: concurrent transfers divide a band into disjoint shares that add up to the whole.

A transfer `k` of `Z_k` bits has `P psi / N0 = a_k` [Hz]. On a bandwidth `W_k` its mean SNR is `a_k / W_k`, as a
terminal puts all its power on its share. With `spread` the power covers the whole band, as that of a base station, and
the SNR is `a_k / W` on every share. The mean rate is `W_k` times the spectral efficiency, averaged over Rayleigh fading
or not.

`equal`, `proportional` and `round_robin` are closed forms. `min_makespan` and `proportional_fair` are optima, found on
tables of the mean rate that are computed once for each rate model.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache, partial

import numpy as np
from numpy.typing import ArrayLike

from channel._arrays import Floats, Rows
from channel._checks import non_negative, one_each, positive
from channel.rate import LEAST_DENOMINATOR, SHANNON, Efficiency, mean_rayleigh_bps_hz

LOG_SNR = np.linspace(np.log(1e-12), np.log(1e40), 6000)  # grid of the tables below
BISECTIONS = 50  # each halves the interval, so 50 reach the last bits of a float
MAX_NEWTON_STEPS = 12
SHRINK_AT_MOST = 0.9  # of a share, in one Newton step, so that it stays positive
GROW_AT_MOST = 9.0

_MeanEfficiency = Callable[[Floats], Floats]  # mean SNR -> mean spectral efficiency


@dataclass(frozen=True)
class Shares:
    """The shares of n transfers: sum(bandwidth_hz * duty) is the band.

    Args:
        bandwidth_hz: bandwidth while it is served [n] in Hz.
        duty: fraction of the time that it is served [n], in [0, 1].
    """

    bandwidth_hz: Floats
    duty: Floats


def equal(band_hz: float, count: int) -> Shares:
    """Return the same bandwidth `W/n` for all (dynamic-devices paper, Section VI).

    Args:
        band_hz: bandwidth W of the system [Hz].
        count: number n of transfers.

    Returns:
        Shares [n], each served all the time.

    Example:
        >>> equal(100e6, 4).bandwidth_hz / 1e6
        array([25., 25., 25., 25.])
    """
    share_hz = float(positive("band_hz", band_hz)) / float(positive("count", count))
    return Shares(np.full(count, share_hz), np.ones(count))


def round_robin(band_hz: float, count: int) -> Shares:
    """Return shares [n] of the whole band for each in turn, with duties of `1/n`; the arguments are those of `equal`.

    Example:
        >>> round_robin(100e6, 4).duty
        array([0.25, 0.25, 0.25, 0.25])
    """
    duty = 1.0 / positive("count", count)
    return Shares(np.full(count, float(positive("band_hz", band_hz))), np.full(count, duty))


def turns(band_hz: float, weights: ArrayLike) -> Shares:
    """Return the whole band for each in turn, for parts of the time in proportion to weights.

    Args:
        band_hz: bandwidth W of the system [Hz].
        weights: positive numbers w [n].

    Returns:
        Shares [n] of the whole band, with duties `w_k / sum_i w_i`.

    Example:
        >>> turns(100e6, [1.0, 3.0]).duty
        array([0.25, 0.75])
    """
    weight = one_each("weights", positive("weights", weights))
    band = float(positive("band_hz", band_hz))
    return Shares(np.full(weight.size, band), weight / weight.sum())


def proportional(band_hz: float, payload_bits: ArrayLike) -> Shares:
    """Return bandwidths in proportion to the payloads, `W Z_k / sum_i Z_i`.

    Args:
        band_hz: bandwidth W of the system [Hz].
        payload_bits: bits Z to send [n]; 0 gets nothing, and if all are 0 the shares are equal.

    Returns:
        Shares [n], each served all the time.

    Example:
        >>> proportional(100e6, [1e6, 3e6]).bandwidth_hz / 1e6
        array([25., 75.])
    """
    payload = one_each("payload_bits", non_negative("payload_bits", payload_bits))
    if not payload.any():
        return equal(band_hz, payload.size)
    return _in_proportion(float(positive("band_hz", band_hz)), payload)


def min_makespan(
    band_hz: float,
    payload_bits: ArrayLike,
    snr_hz: ArrayLike,
    efficiency: Efficiency = SHANNON,
    *,
    spread: bool = False,
    fading: bool = True,
) -> Shares:
    """Return the bandwidths that let all finish together, as early as possible, at `T` under their mean rates.

    Solves `sum_k W_k(T) = W`, where `W_k(T)` is the least bandwidth that carries `Z_k` in `T`: bisection over `T` on a
    table of the mean rate, then Newton steps on the mean rate itself.

    Args:
        band_hz: bandwidth W of the system [Hz].
        payload_bits: bits Z to send [n]; 0 gets nothing, and if all are 0 the shares are equal.
        snr_hz: received power over the noise density, `a = P psi / N0` [n] in Hz.
        efficiency: rate model.
        spread: whether the transmitter spreads its power over the whole band.
        fading: whether mean rates are means over Rayleigh fading, or rates at the mean SNR.

    Returns:
        Shares [n], each served all the time.

    Example:
        The weaker of two equal payloads gets more of the band.

        >>> (min_makespan(1e6, [1e6, 1e6], [1e7, 1e8]).bandwidth_hz / 1e6).round(2)
        array([0.69, 0.31])
    """
    band = float(positive("band_hz", band_hz))
    payload = one_each("payload_bits", non_negative("payload_bits", payload_bits))
    snr = one_each("snr_hz", positive("snr_hz", snr_hz), payload.size)
    sending = payload > 0
    if not sending.any():
        return equal(band, payload.size)
    mean_efficiency = _mean_efficiency(efficiency, fading)
    share_hz = np.zeros(payload.shape)
    if spread:
        # The SNR does not depend on the share, so the rate is proportional to it. In outage the rate is 0 on any share;
        # LEAST_DENOMINATOR then gives such a transfer almost the whole band.
        mean_bps_hz = mean_efficiency(snr[sending] / band)
        share_hz[sending] = payload[sending] / np.maximum(mean_bps_hz, LEAST_DENOMINATOR)
    else:
        curve = _curve(efficiency, fading)
        share_hz[sending] = _finishing_together_hz(band, payload[sending], snr[sending], curve, mean_efficiency)
    return _in_proportion(band, share_hz)


def proportional_fair(
    band_hz: float,
    snr_hz: ArrayLike,
    efficiency: Efficiency = SHANNON,
    *,
    spread: bool = False,
    fading: bool = True,
) -> Shares:
    """Return the bandwidths that maximise the sum of the logarithms of the mean rates (Kelly 1997; Nash bargaining).

    With `R_k(w)` the mean rate on a bandwidth `w`, the optimum has `R_k'(W_k) / R_k(W_k)` equal for all `k`. The
    multiplier is found by bisection on a table. With `spread` the rate is proportional to the bandwidth and the shares
    are equal. The arguments are those of `min_makespan`, and so are the shares [n], each served all the time.

    Example:
        The stronger of two makes better use of the band.

        >>> (proportional_fair(1e6, [1e7, 1e8]).bandwidth_hz / 1e6).round(2)
        array([0.46, 0.54])
    """
    band = float(positive("band_hz", band_hz))
    snr = one_each("snr_hz", positive("snr_hz", snr_hz))
    if spread:
        return equal(band, snr.size)
    curve = _curve(efficiency, fading)
    log_a = np.log(snr)

    def share_hz(log_multiplier: float) -> Floats:
        # d ln R / dW times a is one function of the mean SNR for all: where it is the multiplier, read the SNR.
        log_snr = np.interp(log_multiplier + log_a, curve.log_pull, curve.log_snr)
        return np.exp(log_a - log_snr)

    # The multiplier lies between that of the widest shares of use and the highest one at equal shares.
    lowest = float((curve.log_pull[0] - log_a).min())
    log_snr_at_equal = log_a - np.log(band / snr.size)
    log_multiplier_at_equal = np.interp(log_snr_at_equal, curve.log_snr, curve.log_pull) - log_a
    highest = float(log_multiplier_at_equal.max())
    return _in_proportion(band, bisected(share_hz, band, lowest, highest))


@dataclass(frozen=True)
class RateCurve:
    """The mean rate `R(W) = W e(a/W)` of a rate model, as tables over the logarithm of the mean SNR `u = ln(a/W)`.

    `R/a` and `dR/dW` depend only on `a/W`, so one table serves all transfers. It covers the SNRs at which more
    bandwidth is of use: a model with a lowest SNR has a widest useful share, at the table's start.
    """

    log_snr: Floats  # u, ascending
    log_rate: Floats  # ln(R/a), descending
    gain: Floats  # elasticity d ln R / d ln W, in (0, 1]
    log_pull: Floats  # ln(gain * a/W), ascending: d ln R / dW, times a


@lru_cache(maxsize=64)
def _curve(efficiency: Efficiency, fading: bool) -> RateCurve:  # noqa: FBT001 - a part of the key
    return rate_curve(_mean_efficiency(efficiency, fading))


def rate_curve(bps_hz: _MeanEfficiency) -> RateCurve:
    """Return the tables of a spectral efficiency as a function of the SNR."""
    with np.errstate(divide="ignore", invalid="ignore"):
        log_rate = np.log(bps_hz(np.exp(LOG_SNR))) - LOG_SNR
        gain = np.clip(-np.gradient(log_rate, LOG_SNR), 1e-12, 1.0)
    # Below the SNR of the best rate, more bandwidth lowers the rate: power is spread too thin to be received.
    best = int(np.argmax(log_rate))
    log_snr = LOG_SNR[best:]
    log_rate = log_rate[best:]
    gain = gain[best:]
    # `np.interp` needs monotone values, which a staircase of schemes lacks: take the best rate up to each share.
    descending = np.maximum.accumulate(log_rate[::-1])[::-1]
    ascending = np.maximum.accumulate(np.log(gain) + log_snr)
    return RateCurve(log_snr, descending, gain, ascending)


def _mean_efficiency(efficiency: Efficiency, fading: bool) -> _MeanEfficiency:  # noqa: FBT001
    """Return the spectral efficiency as a function of the mean SNR, over Rayleigh fading or at the mean SNR itself."""
    if fading:
        return partial(mean_rayleigh_bps_hz, efficiency)
    return efficiency.bps_hz


def _finishing_together_hz(
    band: float, payload: Floats, snr: Floats, curve: RateCurve, mean_efficiency: _MeanEfficiency
) -> Floats:
    """Return shares [n] that let all finish together.

    Transfers so weak that they would end last on any share keep their widest useful share; the others finish together
    on the rest of the band.
    """
    log_a = np.log(snr)
    log_bits = np.log(payload)

    def log_alone_s(rows: Rows, share_hz: float) -> Floats:
        """Return the logarithms of the times that `rows` take, each on a share of its own."""
        log_rate = np.interp(log_a[rows] - np.log(share_hz), curve.log_snr, curve.log_rate)
        return np.asarray(log_bits[rows] - log_a[rows] - log_rate)

    def least_hz(rows: Rows, log_s: float) -> Floats:
        """Return the least bandwidths that let `rows` finish in a time, given by its logarithm."""
        log_snr = np.interp(log_s + log_a[rows] - log_bits[rows], -curve.log_rate, curve.log_snr)
        return np.asarray(np.exp(log_a[rows] - log_snr))

    share: Floats = np.exp(log_a - curve.log_snr[0])  # the widest useful one of each
    left = band
    rows = np.arange(snr.size)
    while rows.size:
        alone = log_alone_s(rows, left)
        slowest = rows[alone.argmax()]
        soonest = float(alone.max())
        if share[slowest] >= left or least_hz(rows, soonest).sum() > left:
            # The band is scarce: at `soonest` it is too narrow for all, at `latest` equal shares suffice for each.
            latest = float(log_alone_s(rows, left / rows.size).max())
            start = bisected(partial(least_hz, rows), left, soonest, latest)
            share[rows] = _evened(start, left, payload[rows], snr[rows], curve, mean_efficiency)
            break
        # The slowest ends last even on its widest useful share: it keeps that, and the others divide the rest.
        left = left - share[slowest]
        rows = rows[rows != slowest]
    return share


def _evened(
    share: Floats, band: float, payload: Floats, snr: Floats, curve: RateCurve, mean_efficiency: _MeanEfficiency
) -> Floats:
    """Take Newton steps from shares that let all finish at almost the same time, as long as they get closer.

    The table limits the accuracy of the shares; the steps use the mean rate itself, so that times agree to rounding.
    """
    best = share
    unevenness = np.inf
    for _ in range(MAX_NEWTON_STEPS):
        with np.errstate(divide="ignore"):
            log_s = np.log(payload) - np.log(share * mean_efficiency(snr / share))
        if not np.ptp(log_s) < unevenness:
            break
        best = share
        unevenness = np.ptp(log_s)
        # Move each time to the common one that makes the shares add up to the band.
        lever = share / np.interp(np.log(snr / share), curve.log_snr, curve.gain)  # -d W_k / d ln T
        log_s -= log_s.mean()
        common = (lever @ log_s + share.sum() - band) / lever.sum()
        step = lever * (log_s - common)
        share = share + np.clip(step, -SHRINK_AT_MOST * share, GROW_AT_MOST * share)
    return best


def bisected(share_hz: Callable[[float], Floats], band: float, low: float, high: float) -> Floats:
    """Return the shares that add up to the band, of a family whose sum falls from `low` to `high`."""
    for _ in range(BISECTIONS):
        middle = 0.5 * (low + high)
        if share_hz(middle).sum() > band:
            low = middle
        else:
            high = middle
    return share_hz(high)


def _in_proportion(band: float, weights: Floats) -> Shares:
    """Return shares in proportion to weights [n], which fill the band to rounding, whatever a search left over."""
    return Shares(band * (weights / weights.sum()), np.ones(weights.shape))
