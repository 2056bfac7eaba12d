"""Airtimes, powers and bandwidths against the equations that they solve and the sums that they minimise."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import minimize_scalar

from channel import airtime


def test_best_nats_solve_their_equation():
    y = np.logspace(-12, 12, 400)
    x = airtime.best_nats(y)
    # e^x (x - 1) + 1, without the cancellation at small x: the sum of (k - 1) x^k / k!.
    series = sum((k - 1) * x**k / np.prod(np.arange(1.0, k + 1)) for k in range(2, 12))
    left = np.where(x < 0.5, series, np.exp(x) * (x - 1) + 1)
    np.testing.assert_allclose(left, y, rtol=1e-8)


@pytest.mark.parametrize("seed", range(20))
def test_best_airtime_minimises_energy_and_worth_of_time(seed):
    rng = np.random.default_rng(seed)
    bits = 10 ** rng.uniform(-3, 2)
    unit_w = 10 ** rng.uniform(-6, 1)
    second_w = 10 ** rng.uniform(-4, 2)

    def cost_j(log_t):
        t = np.exp(log_t)
        return (airtime.power_w(bits, unit_w, t) + second_w) * t

    found_s = airtime.best_airtime_s(bits, unit_w, second_w)
    best = minimize_scalar(cost_j, bracket=(np.log(found_s) - 2, np.log(found_s) + 2))
    assert cost_j(np.log(found_s)) <= best.fun * (1 + 1e-12)
    assert np.log(found_s) == pytest.approx(best.x, abs=1e-5)
    # Where the best power is out of bounds, a bound is best: the cost has one minimum.
    best_w = airtime.power_w(bits, unit_w, found_s)
    at_most_s = airtime.best_airtime_s(bits, unit_w, second_w, most_w=best_w / 2)
    assert airtime.power_w(bits, unit_w, at_most_s) == pytest.approx(best_w / 2, rel=1e-9)
    at_least_s = airtime.best_airtime_s(bits, unit_w, second_w, least_w=best_w * 2, most_w=best_w * 3)
    assert airtime.power_w(bits, unit_w, at_least_s) == pytest.approx(best_w * 2, rel=1e-9)


def test_least_band_carries_the_rate():
    snr_hz = 10.0 ** np.arange(2.0, 12.0)[:, None]
    share = np.array([1e-8, 1e-3, 0.1, 0.5, 0.9, 0.999])  # of the highest rate that any band carries
    rate_bps = share * snr_hz / np.log(2)
    band_hz = airtime.least_band_hz(rate_bps, snr_hz)
    np.testing.assert_allclose(band_hz * np.log2(1 + snr_hz / band_hz), rate_bps, rtol=1e-9)
    assert np.isinf(airtime.least_band_hz(snr_hz / np.log(2) * 1.001, snr_hz)).all()
    assert (airtime.least_band_hz(0.0, snr_hz) == 0).all()


def test_numbers_out_of_range_are_refused():
    with pytest.raises(ValueError, match="second_w = 0"):
        airtime.best_airtime_s(1.0, 1.0, 0.0)
    with pytest.raises(ValueError, match="must not be below least_w"):
        airtime.best_airtime_s(1.0, 1.0, 1.0, 2.0, 1.0)
