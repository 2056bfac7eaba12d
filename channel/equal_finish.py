"""The OFDMA division whose transfers all end at the same time although they begin at different times.

In latency-constrained federated learning a device uploads when it has computed, so one that computes longer gets more
of the band (Shi, Zhou and Niu, IEEE Transactions on Wireless Communications 20(1), 2021, theorem 1). With equal
beginnings it is `channel.allocation.min_makespan`.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache, partial

import numpy as np
from numpy.typing import ArrayLike

from channel._arrays import Floats, Rows
from channel._checks import non_negative, one_each, positive
from channel.allocation import (
    GROW_AT_MOST,
    MAX_NEWTON_STEPS,
    SHRINK_AT_MOST,
    RateCurve,
    Shares,
    bisected,
    equal,
    rate_curve,
)

SpectralEfficiency = Callable[[Floats], Floats]
"""Returns spectral efficiencies [n] in bit/s/Hz from signal-to-noise ratios [n]."""


def equal_finish(
    band_hz: float,
    payload_bits: ArrayLike,
    snr_hz: ArrayLike,
    ready_s: ArrayLike,
    bps_hz: SpectralEfficiency,
    *,
    spread: bool = False,
) -> Shares:
    """Return the bandwidths that let all end at the same time, the earliest possible for the last one.

    Solves `sum_k W_k(T) = W`, where `W_k(T)` is the least bandwidth that carries `Z_k` from `r_k` to `T`: bisection
    over T on a table of the rate, then Newton steps on the rate itself.

    Args:
        band_hz: bandwidth W of the system [Hz].
        payload_bits: bits Z to send [n]; 0 gets nothing, and if all are 0 the shares are equal.
        snr_hz: received power over the noise density, `a = P psi / N0` [n] in Hz.
        ready_s: when each can begin, `r` [n] in s.
        bps_hz: spectral efficiency by the SNR, such as `channel.rate.SHANNON.bps_hz`; hashable.
        spread: whether the transmitter spreads its power over the whole band.

    Returns:
        Shares [n], each served all the time.

    Example:
        Of two equal links the one that is ready later gets more of the band.

        >>> from channel.rate import SHANNON
        >>> (equal_finish(1e6, [1e6, 1e6], [1e7, 1e7], [0.0, 0.3], SHANNON.bps_hz).bandwidth_hz / 1e6).round(2)
        array([0.29, 0.71])
    """
    band = float(positive("band_hz", band_hz))
    bits = one_each("payload_bits", non_negative("payload_bits", payload_bits))
    snr = one_each("snr_hz", positive("snr_hz", snr_hz), bits.size)
    ready = one_each("ready_s", non_negative("ready_s", ready_s), bits.size)
    sending = np.flatnonzero(bits > 0)
    if not sending.size:
        return equal(band, bits.size)
    share_hz = np.zeros(bits.size)
    transfers = _Transfers(bits[sending], snr[sending], ready[sending], bps_hz)
    if spread:
        share_hz[sending] = _at_rates(band, transfers)
    else:
        share_hz[sending] = _on_shares(band, transfers)
    return Shares(band * (share_hz / share_hz.sum()), np.ones(bits.size))


@dataclass(frozen=True)
class _Transfers:
    """Transfers [n] with a payload."""

    bits: Floats
    snr_hz: Floats
    ready_s: Floats
    bps_hz: SpectralEfficiency

    def only(self, rows: Rows) -> "_Transfers":
        """Return the transfers `rows` [r]."""
        return replace(self, bits=self.bits[rows], snr_hz=self.snr_hz[rows], ready_s=self.ready_s[rows])

    @property
    def waiting_s(self) -> Floats:
        """How long each is ready before the last one [n]; ends count from the last one."""
        return np.asarray(self.ready_s.max() - self.ready_s)

    def end_s(self, curve: RateCurve, share_hz: Floats | float) -> Floats:
        """Return when each ends [n] on a share, by the table, counted from when the last one is ready."""
        log_a = np.log(self.snr_hz)
        log_rate = np.interp(log_a - np.log(share_hz), curve.log_snr, curve.log_rate)
        return np.asarray(np.exp(np.log(self.bits) - log_a - log_rate) - self.waiting_s)

    def least_hz(self, curve: RateCurve, log_end_s: float) -> Floats:
        """Return the least bandwidths [n] that let them end in time, by the table; see `end_s`."""
        log_a = np.log(self.snr_hz)
        log_s = np.log(np.exp(log_end_s) + self.waiting_s)
        log_snr = np.interp(log_s + log_a - np.log(self.bits), -curve.log_rate, curve.log_snr)
        return np.asarray(np.exp(log_a - log_snr))


def _at_rates(band: float, transfers: _Transfers) -> Floats:
    """Return shares [n] where the SNR does not depend on them, so that rates are in proportion to them."""
    needed_hz_s = transfers.bits / transfers.bps_hz(transfers.snr_hz / band)  # bandwidth times time

    def share_hz(log_end_s: float) -> Floats:
        return np.asarray(needed_hz_s / (np.exp(log_end_s) + transfers.waiting_s))

    # Earliest: the last to be ready has sent on the whole band. Latest: all have sent one after the other.
    soonest = np.log(needed_hz_s[transfers.ready_s.argmax()] / band)
    latest = np.log(needed_hz_s.sum() / band)
    return bisected(share_hz, band, soonest, latest)


def _on_shares(band: float, transfers: _Transfers) -> Floats:
    """Return shares [n] of transfers that put their power on their shares.

    Those so weak that they would end last on any share keep their widest useful share; the others end together on the
    rest of the band.
    """
    curve = _curve(transfers.bps_hz)
    share: Floats = transfers.snr_hz * np.exp(-curve.log_snr[0])  # the widest useful one of each
    left = band
    rows = np.arange(share.size)
    while rows.size:
        some = transfers.only(rows)
        alone_s = some.end_s(curve, left)
        slowest = rows[alone_s.argmax()]
        soonest = float(np.log(alone_s.max()))
        if share[slowest] >= left or some.least_hz(curve, soonest).sum() > left:
            # The band is scarce: at `soonest` it is too narrow for all, at `latest` equal shares suffice for each.
            latest = float(np.log(some.end_s(curve, left / rows.size).max()))
            start = bisected(partial(some.least_hz, curve), left, soonest, latest)
            share[rows] = _evened(start, left, some, curve)
            break
        # The slowest ends last even on its widest useful share: it keeps that, and the others divide the rest.
        left = left - share[slowest]
        rows = rows[rows != slowest]
    return share


def _evened(share: Floats, band: float, transfers: _Transfers, curve: RateCurve) -> Floats:
    """Take Newton steps from shares that let all end at almost the same time, as long as they get closer.

    The table limits the accuracy of the shares; the steps use the rate itself, so that times agree to rounding.
    """
    best = share
    unevenness = np.inf
    for _ in range(MAX_NEWTON_STEPS):
        with np.errstate(divide="ignore"):
            sending_s = transfers.bits / (share * transfers.bps_hz(transfers.snr_hz / share))
        end_s = sending_s - transfers.waiting_s
        if not np.ptp(end_s) < unevenness:
            break
        best = share
        unevenness = np.ptp(end_s)
        # Move each end to the common one that makes the shares add up to the band.
        gain = np.interp(np.log(transfers.snr_hz / share), curve.log_snr, curve.gain)
        lever = share / (gain * sending_s)  # -d W_k / d T
        common_s = (lever @ end_s + share.sum() - band) / lever.sum()
        step = lever * (end_s - common_s)
        share = share + np.clip(step, -SHRINK_AT_MOST * share, GROW_AT_MOST * share)
    return best


@lru_cache(maxsize=64)
def _curve(bps_hz: SpectralEfficiency) -> RateCurve:
    return rate_curve(bps_hz)
