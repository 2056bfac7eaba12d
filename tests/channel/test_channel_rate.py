import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import integrate, stats

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
    np.testing.assert_allclose(1e6 * rate.SHANNON.bps_hz([0.0, 1.0, 3.0, 1023.0]), [0.0, 1e6, 2e6, 10e6], rtol=1e-14)
    np.testing.assert_allclose(1e6 * rate.SHANNON.bps_hz(1e-12), 1e-6 / math.log(2), rtol=1e-9)  # no 1 + s = 1


@pytest.mark.parametrize("s", [1e-6, 1e-3, 0.0199999, 0.02, 0.05, 0.3, 1.0, 10.0, 1e3, 1e5, 1e9, 1e12])
def test_mean_rate_against_quadrature(s):
    np.testing.assert_allclose(rate.mean_rayleigh_bps(1.0, s), quadrature_bps_hz(s), rtol=1e-10)


def test_mean_rate_over_the_whole_range():
    s = np.concatenate([[0.0], np.geomspace(1e-9, 1e15, 2_000)])
    mean_bps = rate.mean_rayleigh_bps(1.0, s)
    assert mean_bps[0] == 0
    assert np.all(np.diff(mean_bps) > 0)
    assert np.all(mean_bps <= rate.SHANNON.bps_hz(s))  # Jensen
    np.testing.assert_allclose(mean_bps[1], 1e-9 / math.log(2), rtol=1e-8)


def truncated_bps_hz(snr, attenuation, min_snr, max_bps_hz):
    """TR 36.942, Annex A.2, word for word, for one number."""
    if snr < min_snr:
        return 0.0
    return min(attenuation * math.log2(1 + snr), max_bps_hz)


def mean_truncated_bps_hz(s, attenuation, min_snr, max_bps_hz):
    """E[e(s x)] of x ~ Exp(1) by quadrature over t = ln x between the kinks of e."""
    kinks = [min_snr, 2 ** min(max_bps_hz / attenuation, 1000.0) - 1]
    logs = sorted(min(max(math.log(kink / s), -45.0), 4.0) if kink > 0 else -45.0 for kink in kinks)
    e = lambda t: truncated_bps_hz(s * math.exp(t), attenuation, min_snr, max_bps_hz)  # noqa: E731
    integrand = lambda t: e(t) * math.exp(t - math.exp(t))  # noqa: E731
    pieces = zip([-45.0, *logs], [*logs, 4.0], strict=True)
    return sum(integrate.quad(integrand, low, high, epsrel=1e-11, epsabs=1e-13, limit=200)[0] for low, high in pieces)


def test_efficiencies():
    np.testing.assert_array_equal(rate.SHANNON.bps_hz([0.0, 1.0, 3.0, 1023.0]), [0.0, 1.0, 2.0, 10.0])
    snr = np.geomspace(1e-4, 1e8, 500)
    for model in (rate.SHANNON, rate.TRUNCATED, rate.Shannon(0.4, 0.0, 2.0), rate.Shannon(1.0, 2.0)):
        parameters = model.attenuation, model.min_snr, model.max_bps_hz
        expected = [truncated_bps_hz(x, *parameters) for x in snr]
        np.testing.assert_allclose(model.bps_hz(snr), expected, rtol=1e-12)
    assert rate.TRUNCATED.bps_hz(0.1) > 0
    assert rate.TRUNCATED.bps_hz(0.1 - 1e-12) == 0
    # the cap is where TR 36.942 says that it is: at 22 dB
    assert units.linear_to_db(2 ** (4.4 / 0.6) - 1) == pytest.approx(22.0, abs=0.1)
    assert rate.Shannon(0.6, 0.1, 4.4) == rate.TRUNCATED
    assert len({rate.SHANNON, rate.Shannon(), rate.TRUNCATED}) == 2  # hashable, equal by value


@settings(deadline=None, derandomize=True, max_examples=60)
@given(
    st.floats(-3, 9).map(lambda x: 10**x),
    st.floats(0.05, 1.0),
    st.one_of(st.just(0.0), st.floats(-3, 3).map(lambda x: 10**x)),
    st.one_of(st.just(math.inf), st.floats(0.1, 12.0)),
)
def test_mean_efficiency_against_quadrature(s, attenuation, min_snr, max_bps_hz):
    parameters = attenuation, min_snr, max_bps_hz
    mean = rate.mean_rayleigh_bps_hz(rate.Shannon(*parameters), s)
    np.testing.assert_allclose(mean, mean_truncated_bps_hz(s, *parameters), rtol=1e-8, atol=1e-11)


def test_mean_efficiency_of_shannon_is_the_mean_rate():
    s = np.concatenate([[0.0], np.geomspace(1e-9, 1e15, 500)])
    expected = rate.mean_rayleigh_bps(1.0, s)
    np.testing.assert_array_equal(rate.mean_rayleigh_bps_hz(rate.SHANNON, s), expected)
    np.testing.assert_allclose(rate.mean_rayleigh_bps_hz(rate.Shannon(0.25), s), 0.25 * expected, rtol=1e-14)


def test_mean_efficiency_limits():
    s = np.concatenate([[0.0], np.geomspace(1e-6, 1e20, 2_000)])
    mean = rate.mean_rayleigh_bps_hz(rate.TRUNCATED, s)
    assert mean[0] == 0
    assert np.all(np.diff(mean) >= -1e-13)
    assert mean[-1] == pytest.approx(4.4, rel=1e-12)
    assert np.all(mean <= 0.6 * rate.mean_rayleigh_bps(1.0, s) * (1 + 1e-12))
    one_step = rate.Shannon(1.0, 7.0, 2.0)  # log2(1 + 7) is above the cap: on or off
    np.testing.assert_allclose(rate.mean_rayleigh_bps_hz(one_step, s[1:]), 2.0 * np.exp(-7.0 / s[1:]), rtol=1e-12)


def test_rate_distribution_under_rayleigh_fading():
    draws = np.random.default_rng(3).standard_exponential(20_000)
    for s in (0.3, 10.0, 1e4):
        cdf = lambda r, s=s: 1 - np.exp(-(2.0**r - 1) / s)  # noqa: E731
        assert stats.kstest(rate.SHANNON.bps_hz(s * draws), cdf).pvalue > 0.01
        assert stats.kstest(rate.SHANNON.bps_hz(1.1 * s * draws), cdf).pvalue < 1e-4  # 0.4 dB would be seen


def test_noise():
    # -174 dBm/Hz and 9 dB: 10^-19.5 W/Hz
    np.testing.assert_allclose(rate.noise_w_hz(-174.0, [0.0, 9.0]), [10**-20.4, 10**-19.5], rtol=1e-12)
    snr = rate.mean_snr(0.2, 1e-10, rate.noise_w_hz(-174.0, 7.0), 1e6)
    assert units.linear_to_db(snr) == pytest.approx(37.0103 - 7.0, abs=1e-4)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: rate.mean_snr(-0.1, 1.0, 1e-20, 1e6), "tx_power_w = -0.1"),
        (lambda: rate.mean_rayleigh_bps(0.0, 1.0), "bandwidth_hz = 0.0"),
        (lambda: rate.SHANNON.bps_hz([1.0, -0.5]), "snr = -0.5"),
        (lambda: rate.Shannon(attenuation=0.0), "attenuation = 0.0"),
        (lambda: rate.Shannon(min_snr=-0.1), "min_snr = -0.1"),
        (lambda: rate.Shannon(max_bps_hz=0.0), "max_bps_hz = 0.0"),
        (lambda: rate.noise_w_hz(np.nan), "noise_dbm_hz = nan"),
    ],
)
def test_rate_refuses(call, message):
    with pytest.raises(ValueError, match=message):
        call()
