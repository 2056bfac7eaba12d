import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from channel import fading

RHO = float(fading.doppler_correlation(10.0, 3.5e9, 0.5e-3))


def circular_normal(seed, *shape):
    return np.random.default_rng(seed).standard_normal((*shape, 2)).view(complex)[..., 0] * math.sqrt(0.5)


def j0_series(x):
    """Bessel function J0 from its power series (DLMF 10.2.2)."""
    return math.fsum((-1) ** k * (x / 2) ** (2 * k) / math.factorial(k) ** 2 for k in range(60))


def test_doppler():
    np.testing.assert_allclose(fading.doppler_hz([0.0, 10.0, 30.0], 3.5e9), [0.0, 116.666667, 350.0], rtol=1e-8)


def test_doppler_correlation():
    assert pytest.approx(0.96670, abs=5e-6) == RHO
    for speed_mps in (0.0, 0.5, 10.0, 30.0, 65.6, 150.0):
        expected = j0_series(2 * math.pi * speed_mps * 3.5e9 / 3e8 * 0.5e-3)
        np.testing.assert_allclose(fading.doppler_correlation(speed_mps, 3.5e9, 0.5e-3), expected, atol=1e-9)
    assert fading.doppler_correlation(0.0, 3.5e9, 0.5e-3) == 1.0
    assert fading.doppler_correlation(100.0, 3.5e9, 0.5e-3) < 0


def test_gauss_markov_is_the_recursion():
    rho = np.array([RHO, 1.0, 0.0, -0.4, RHO, -1.0])
    start = circular_normal(1, 6)
    noise = circular_normal(2, 6, 50)
    expected = np.empty_like(noise)
    before = start
    for n in range(50):
        before = rho * before + np.sqrt((1 - rho) * (1 + rho)) * noise[:, n]
        expected[:, n] = before
    gain = fading.gauss_markov(noise, rho, start)
    np.testing.assert_allclose(gain, expected, rtol=0, atol=1e-14)
    np.testing.assert_array_equal(gain[1], start[1])  # a terminal at rest: constant
    np.testing.assert_array_equal(gain[2], noise[2])  # no memory


@pytest.mark.parametrize("slots", [1, 7, 300])
def test_gauss_markov_of_many_speeds_has_the_bits_of_each_alone(slots):
    """Rows of as many correlations are stepped side by side, one alone by a filter."""
    rho = fading.doppler_correlation(np.linspace(0.0, 40.0, 50), 3.5e9, 0.5e-3)
    start = circular_normal(9, 50)
    noise = circular_normal(10, 50, slots)
    together = fading.gauss_markov(noise, rho, start)
    for row in range(50):
        np.testing.assert_array_equal(together[row], fading.gauss_markov(noise[[row]], rho[row], start[[row]])[0])


def test_gauss_markov_is_stationary_with_correlation_rho_to_the_lag():
    rows = 50_000
    gain = fading.gauss_markov(circular_normal(5, rows, 41), RHO, circular_normal(6, rows))
    # |h|^2 is exponential: mean 1, standard deviation 1
    assert np.mean(np.abs(gain[:, -1]) ** 2) == pytest.approx(1.0, abs=4 / math.sqrt(rows))
    for lag in (1, 2, 5, 10, 20, 40):
        expected = RHO**lag
        standard_error = math.sqrt((1 + expected**2) / 2 / rows)  # of Re(h0* h_lag), rows independent
        assert np.mean(gain[:, 0].conj() * gain[:, lag]).real == pytest.approx(expected, abs=4 * standard_error)
        assert np.mean(gain[:, 0].conj() * gain[:, lag]).imag == pytest.approx(0.0, abs=4 * math.sqrt(0.5 / rows))


@pytest.mark.oracle
@settings(deadline=None, derandomize=True)
@given(st.floats(-0.999, 0.999), st.integers(1, 60), st.integers(0, 2**32))
def test_advance_equals_the_walk_with_summed_draws(rho, slots, seed):
    start = circular_normal(seed, 1)[0]
    noise = circular_normal(seed + 1, slots)
    walked = fading.gauss_markov(noise, rho, start)[-1]
    weights = rho ** np.arange(slots - 1, -1, -1) * math.sqrt(1 - rho**2)
    as_one_draw = (weights * noise).sum() / math.sqrt(1 - rho ** (2 * slots))
    np.testing.assert_allclose(fading.advance(start, rho, slots, as_one_draw), walked, atol=1e-12)


def test_advance_limits():
    gain = 0.3 + 0.4j
    draw = 1.0 - 2.0j
    np.testing.assert_array_equal(fading.advance(gain, [RHO, 1.0, 0.0], [0, 7, 3], draw), [gain, gain, draw])
    np.testing.assert_allclose(fading.advance(gain, RHO, 10**9, draw), draw)


def test_coherence_time():
    np.testing.assert_allclose(fading.coherence_s([10.0, 30.0], 3.5e9), [0.423 / 116.6667, 0.423 / 350.0], rtol=1e-3)
    assert fading.coherence_s(0.0, 3.5e9) == np.inf


@pytest.mark.parametrize("speed_mps", [1.0, 10.0, 30.0, 65.6, 100.0])
def test_neighbouring_slots_correlate_by_j0(speed_mps):
    rows = 20_000
    rho = fading.doppler_correlation(speed_mps, 3.5e9, 0.5e-3)
    gain = fading.gauss_markov(circular_normal(10, rows, 5), rho, circular_normal(11, rows))
    expected = j0_series(2 * math.pi * speed_mps * 3.5e9 / 3e8 * 0.5e-3)
    standard_error = math.sqrt((1 + expected**2) / 2 / rows)
    assert np.mean(gain[:, -2].conj() * gain[:, -1]).real == pytest.approx(expected, abs=4 * standard_error)


def test_power_is_exponential():
    """|h|^2 of a Gauss-Markov process, ten slots after its start; the same test sees a twentieth more power."""
    rows = 40_000
    gain = fading.gauss_markov(circular_normal(12, rows, 10), RHO, circular_normal(13, rows))[:, -1]
    assert stats.kstest(np.abs(gain) ** 2, "expon").pvalue > 0.01
    assert stats.kstest(1.05 * np.abs(gain) ** 2, "expon").pvalue < 0.01


@pytest.mark.parametrize("k", [0.1, 1.0, 10**0.9, 100.0])
def test_ricean_power_is_noncentral_chi_square(k):
    """2 (K + 1) |h|^2 is noncentral chi-square of 2 degrees of freedom and noncentrality 2 K; another K is seen."""
    rows = 40_000
    power = np.abs(fading.ricean(circular_normal(14, rows), k)) ** 2
    assert stats.kstest(2 * (k + 1) * power, stats.ncx2(2, 2 * k).cdf).pvalue > 0.01
    assert stats.kstest(2 * (k + 1) * power, stats.ncx2(2, 2.4 * k + 0.4).cdf).pvalue < 0.01
    assert power.mean() == pytest.approx(1.0, abs=4 * math.sqrt((1 + 2 * k) / rows) / (1 + k))


def test_ricean_limits_and_shapes():
    scatter = circular_normal(15, 3, 7)
    gain = fading.ricean(scatter, [[0.0], [np.inf], [4.0]])
    np.testing.assert_array_equal(gain[0], scatter[0])
    np.testing.assert_array_equal(gain[1], np.ones(7))
    np.testing.assert_allclose(gain[2], (2 + scatter[2]) / math.sqrt(5), rtol=1e-14)
    assert fading.ricean(scatter[0, 0], [1.0, 2.0]).shape == (2,)


@pytest.mark.oracle
def test_autocovariance_of_the_power():
    """At lag k it is `(rho^(2 k) + 2 K rho^k) / (K + 1)^2` for |h|^2, with a line of sight of constant phase."""
    rows = 100_000
    k = 3.0
    scatter = fading.gauss_markov(circular_normal(16, rows, 21), RHO, circular_normal(17, rows))
    power = np.abs(fading.ricean(scatter, k)) ** 2 - 1
    for lag in (0, 1, 5, 20):
        products = power[:, 0] * power[:, lag]
        expected = (RHO ** (2 * lag) + 2 * k * RHO**lag) / (k + 1) ** 2
        assert products.mean() == pytest.approx(expected, abs=4 * products.std() / math.sqrt(rows))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: fading.doppler_hz(-1.0, 3.5e9), "speed_mps = -1.0"),
        (lambda: fading.gauss_markov(np.ones((2, 3)), [0.5, 1.0 + 1e-12], 1.0), "correlation = 1.00000"),
        (lambda: fading.advance(1.0, 0.5, 2.5, 1.0), "slots = 2.5 .* whole"),
        (lambda: fading.ricean(1.0, [1.0, np.nan]), "k_factor = nan"),
    ],
)
def test_fading_refuses(call, message):
    with pytest.raises(ValueError, match=message):
        call()
