"""Least energy of computing and uploading before a deadline, on shares of one band.

The problem is convex in the upload times `t` and the shares `w` of the band (Yang, Chen, Saad, Hong and Shikh-Bahaei,
IEEE TWC 20, 2021). With a multiplier `m`, the price of the band, each device solves its own: energy plus `m w`. Its
optima for all `t` lie on one path. While `t` is short it sends at full power, on the least share that is enough; from
some `t` on at less power, with the share of `channel.airtime.best_nats`. Both halves are formulas in the spectral
efficiency `x = S / (w t)`, so a bisection along the path finds the best `t`. The higher the price, the less band all
devices want together: a root search finds the price at which it is the whole band.
"""

from typing import NamedTuple

import numpy as np

from channel import airtime
from edgefl.coordination.optimisers.shared_band import SharedBand
from edgefl.core.arrays import Bools, Floats

HALVINGS = 26
PATH = 20.0  # how far the path is followed from where its halves meet, in the logarithm of x
NEWTON_STEPS = 8
LEAST_NATS = 1e-7  # below it the differences of this file have no digits left
WIDENINGS = 100
WIDER = 4.0  # factor that changes a price until it is a bound
TINY = 1e-9  # of a device's need, which it gets in addition at least
EXACT = 1e-6  # of the logarithm of the price; the rest of the band is given out afterwards


class Optimum(NamedTuple):
    """The shares of the band, the powers and the clocks of least energy for participants [n]."""

    share: Floats  # of the band
    power_share: Floats  # of their full powers
    clock_hz: Floats


class LeastEnergy:
    """Finds the least energy of participants that can finish by a deadline, at a least clock."""

    def __init__(self, band: SharedBand, deadline_s: float, least_hz: float) -> None:
        self._band = band
        self._least_hz = least_hz
        self._time_s = deadline_s - band.other_s  # for computing and uploading [n]
        self._longest_s = self._time_s - band.cycles / band.cpu_hz  # of uploads [n]

    def solve(self) -> Optimum:
        """Return the optimum."""
        share = self._whole_band(self._shares(self._price()))
        upload_s = self._upload_s(share)
        nats = self._band.payload / (share * upload_s)
        power_share = share / self._band.whole_snr * np.expm1(nats)
        clock_hz = self._band.cycles / (self._time_s - upload_s)
        return Optimum(
            share,
            np.minimum(power_share, 1.0),
            np.clip(clock_hz, self._least_hz, self._band.cpu_hz),
        )

    def _price(self) -> float:
        """Return the price of the band [J] at which devices want all of it together."""
        from scipy.optimize import brentq

        def excess(log_price: float) -> float:
            return float(np.log(self._shares(float(np.exp(log_price))).sum()))

        step = float(np.log(WIDER))
        log_price = float(np.log(self._band.sending_w.mean() * self._longest_s.mean()))
        towards = -1.0  # of the price: down while the band is not all wanted
        if excess(log_price) > 0:
            towards = 1.0
        for _ in range(WIDENINGS):
            other = log_price + towards * step
            if excess(other) * towards <= 0:
                low, high = sorted((log_price, other))
                found: float = brentq(excess, low, high, xtol=EXACT)
                return float(np.exp(found))
            log_price = other
        return float(np.exp(log_price))  # the tightest deadline: all want their least shares

    def _shares(self, price: float) -> Floats:
        """Return the shares [n] that devices want at a price [J]."""
        band = self._band
        meet = self._meeting_nats(price)

        full_s = band.payload / band.whole_snr
        priced_s = price * band.whole_snr / band.sending_w
        bought = price * band.payload

        def on_path(place: Floats) -> tuple[Floats, Floats, Floats]:
            """Return spectral efficiencies, upload times, and e^x over the worth of x, at places [n] on the paths."""
            nats = np.maximum(meet * np.exp(-np.abs(place)), LEAST_NATS)
            snr = np.expm1(nats)
            worth = nats * (snr + 1.0) - snr
            upload_s = np.where(place < 0, full_s * snr / nats, priced_s / worth)
            return nats, upload_s, (snr + 1.0) / worth

        def too_long(place: Floats) -> Bools:
            """Return where the cost of a device [n] rises with its upload time."""
            nats, upload_s, gain = on_path(place)
            # A longer upload saves power and band, or at full power only band.
            at_full_w = bought * gain / upload_s**2 - band.sending_w
            saved_w = np.where(place < 0, at_full_w, bought / (nats * upload_s**2))
            return (upload_s >= self._longest_s) | (self._hurry_w(upload_s) + band.circuit_w > saved_w)

        low = np.full(len(band), -PATH)
        high = np.full(len(band), PATH)
        for _ in range(HALVINGS):
            middle = 0.5 * (low + high)
            long = too_long(middle)
            high = np.where(long, middle, high)
            low = np.where(long, low, middle)
        nats, upload_s, _ = on_path(low)
        return np.asarray(band.payload / (nats * upload_s))

    def _whole_band(self, share: Floats) -> Floats:
        """Return shares [n] that add up to the whole band, each at least what its device needs to finish in time."""
        needed = self._band.least_share(self._longest_s)
        spare = np.maximum(share - needed, TINY * needed)
        return np.asarray(needed + spare * ((1.0 - needed.sum()) / spare.sum()))

    def _meeting_nats(self, price: float) -> Floats:
        """Return the spectral efficiencies [n] at which the share by the price is the least one at full power."""
        band = self._band
        # (e^x - 1) y(x) / x = c, by Newton's method in ln x: convex, so it converges from the right.
        c = price * band.whole_snr**2 / (band.payload * band.sending_w)
        nats = np.maximum(np.minimum(np.sqrt(2.0 * c), np.log1p(c) + 2.0), LEAST_NATS)
        for _ in range(NEWTON_STEPS):
            snr = np.expm1(nats)
            worth = nats * (snr + 1.0) - snr
            error = np.log(snr) + np.log(worth) - np.log(nats * c)
            slope = nats * (snr + 1) / snr + nats**2 * (snr + 1) / worth - 1.0
            nats = nats * np.exp(-error / slope)
        return nats

    def _hurry_w(self, upload_s: Floats) -> Floats:
        """Return by how much computing costs more for each second that uploads [n] take longer [W]."""
        band = self._band
        left_s = np.maximum(self._time_s - upload_s, band.cycles / band.cpu_hz)
        power_w = 2.0 * band.capacitance * np.divide(band.cycles, left_s, out=0.0 * left_s, where=left_s > 0) ** 3
        at_least_clock = band.cycles <= self._least_hz * left_s
        return np.where(at_least_clock, 0.0, power_w)

    def _upload_s(self, share: Floats) -> Floats:
        """Return the best upload times [n] on given shares."""
        band = self._band
        low = np.minimum(band.upload_s(share), self._longest_s)
        high = self._longest_s.copy()
        for _ in range(HALVINGS):
            middle = np.sqrt(low * high)
            worth = airtime.worth_of_nats(band.payload / (share * middle))
            saved_w = band.sending_w * share / band.whole_snr * worth
            long = self._hurry_w(middle) + band.circuit_w > saved_w
            high = np.where(long, middle, high)
            low = np.where(long, low, middle)
        return low
