import math

import numpy as np
import pytest
from scipy import integrate

from channel import rate, units


def quadrature_bps_hz(s):
    """E[log2(1 + s x)] of x ~ Exp(1), integrated over t = ln x, in which it is smooth for every s."""
    value, _ = integrate.quad(
        lambda t: math.log1p(s * math.exp(t)) * math.exp(t - math.exp(t)), -45, 4, epsrel=1e-12, epsabs=0, limit=400
    )
    return value / math.log(2)


def test_mean_snr():
    # 200 mW over 100 dB of path loss in 1 MHz of -174 dBm/Hz: 23.01 - 100 + 174 - 60 dB
    snr = rate.mean_snr(0.2, 1e-10, units.dbm_to_w(-174.0), 1e6)
    assert units.linear_to_db(snr) == pytest.approx(37.0103, abs=1e-4)
    np.testing.assert_array_equal(rate.mean_snr([0.0, 1.0], [1.0, 0.0], 1e-20, 1e6), 0.0)


def test_shannon():
    np.testing.assert_allclose(rate.shannon_bps(1e6, [0.0, 1.0, 3.0, 1023.0]), [0.0, 1e6, 2e6, 10e6], rtol=1e-14)
    np.testing.assert_allclose(rate.shannon_bps(1e6, 1e-12), 1e-6 / math.log(2), rtol=1e-9)  # no 1 + s = 1


@pytest.mark.parametrize("s", [1e-6, 1e-3, 0.0199999, 0.02, 0.05, 0.3, 1.0, 10.0, 1e3, 1e5, 1e9, 1e12])
def test_mean_rate_against_quadrature(s):
    np.testing.assert_allclose(rate.mean_rayleigh_bps(1.0, s), quadrature_bps_hz(s), rtol=1e-10)


def test_mean_rate_against_monte_carlo():
    draws = np.random.default_rng(1).standard_exponential(400_000)
    for s in 10.0 ** np.arange(-1, 6):
        rates = rate.shannon_bps(2e6, s * draws)
        standard_error = rates.std() / math.sqrt(rates.size)
        assert standard_error < 0.003 * rates.mean()
        assert rate.mean_rayleigh_bps(2e6, s) == pytest.approx(rates.mean(), abs=4 * standard_error)


def test_mean_rate_over_the_whole_range():
    s = np.concatenate([[0.0], np.geomspace(1e-9, 1e15, 2_000)])
    mean_bps = rate.mean_rayleigh_bps(1.0, s)
    assert mean_bps[0] == 0
    assert np.all(np.diff(mean_bps) > 0)
    assert np.all(mean_bps <= rate.shannon_bps(1.0, s))  # Jensen
    np.testing.assert_allclose(mean_bps[1], 1e-9 / math.log(2), rtol=1e-8)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: rate.mean_snr(-0.1, 1.0, 1e-20, 1e6), "tx_power_w = -0.1"),
        (lambda: rate.mean_snr(0.1, np.nan, 1e-20, 1e6), "path_gain = nan"),
        (lambda: rate.mean_snr(0.1, 1.0, 0.0, 1e6), "noise_w_hz = 0.0"),
        (lambda: rate.mean_snr(0.1, 1.0, 1e-20, 0.0), "bandwidth_hz = 0.0"),
        (lambda: rate.shannon_bps(-1.0, 1.0), "bandwidth_hz = -1.0"),
        (lambda: rate.shannon_bps(1.0, [1.0, -0.5]), "snr = -0.5"),
        (lambda: rate.shannon_bps(1.0, np.nan), "snr = nan"),
        (lambda: rate.mean_rayleigh_bps(0.0, 1.0), "bandwidth_hz = 0.0"),
        (lambda: rate.mean_rayleigh_bps(1.0, np.nan), "mean_snr = nan"),
        (lambda: rate.mean_rayleigh_bps(1.0, -1.0), "mean_snr = -1.0"),
    ],
)
def test_rate_refuses(call, message):
    with pytest.raises(ValueError, match=message):
        call()
