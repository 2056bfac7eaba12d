"""Closed forms of over-the-air computation against integrals, and against symbols that are really added up."""

from itertools import pairwise

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.special import ive
from scipy.stats import norm

from channel import aircomp

THRESHOLDS = [1e-3, 0.05, 0.2, 1.0, 3.0]
K_FACTORS = [0.0, 0.5, 7.9, 60.0]


def density(gain, k):
    """Density of |h|^2 over Ricean fading, with the Bessel function scaled so that it stays finite."""
    argument = 2 * np.sqrt(k * (1 + k) * gain)
    return (1 + k) * np.exp(-k - (1 + k) * gain + argument) * ive(0, argument)


def integral(function, k, least):
    """Integral over the gains from `least` on; the peak at 1 is a border, so that no narrow one is missed."""
    borders = sorted({least, max(least, 0.5), max(least, 1.0), max(least, 2.0), least + 60.0})
    return sum(
        quad(lambda x: function(x) * density(x, k), low, high, epsabs=1e-13, epsrel=1e-11, limit=200)[0]
        for low, high in pairwise(borders)
    )


@pytest.mark.parametrize("k", K_FACTORS)
@pytest.mark.parametrize("threshold", THRESHOLDS)
def test_gains_against_integrals_of_the_density(threshold, k):
    expected = integral(lambda _: 1.0, k, threshold)
    assert float(aircomp.sending_probability(threshold, k)) == pytest.approx(expected, rel=1e-8)
    expected = integral(lambda x: 1 / x, k, threshold)
    assert float(aircomp.mean_inverse_gain(threshold, k)) == pytest.approx(expected, rel=1e-8)


def test_rayleigh_fading_has_the_papers_closed_forms():
    """`exp(-g)` and the exponential integral, here by its series `-gamma - ln g - sum (-g)^n / (n n!)`."""
    for threshold in THRESHOLDS:
        series = -np.euler_gamma - np.log(threshold)
        term = 1.0
        for n in range(1, 60):
            term *= -threshold / n
            series -= term / n
        assert float(aircomp.mean_inverse_gain(threshold)) == pytest.approx(series, rel=1e-9)
        assert float(aircomp.sending_probability(threshold)) == pytest.approx(np.exp(-threshold), rel=1e-12)


def test_limits_of_the_fading():
    """Without scatter the gain is 1; a very large K comes near; without a threshold Rayleigh fading takes all power."""
    assert aircomp.mean_inverse_gain([0.0, 0.9, 1.1], np.inf).tolist() == [1.0, 1.0, 0.0]
    assert aircomp.sending_probability([0.0, 0.9, 1.1], np.inf).tolist() == [1.0, 1.0, 0.0]
    np.testing.assert_allclose(aircomp.mean_inverse_gain(0.5, 1e6), 1.0, atol=3e-6)
    np.testing.assert_allclose(aircomp.sending_probability(0.0, K_FACTORS), 1.0)
    assert np.isinf(aircomp.mean_inverse_gain(0.0, [0.0, 3.0, 1e5])).all()


def test_weakest_device_sends_at_full_power():
    rng = np.random.default_rng(5)
    power_w = rng.uniform(0.05, 0.2, 12)
    gain = 10.0 ** rng.uniform(-12, -9, 12)
    weight = rng.integers(1, 90, 12)
    inverse = aircomp.mean_inverse_gain(0.1, rng.uniform(0, 9, 12))
    aligned_w = aircomp.aligned_power_w(power_w, gain, weight, inverse)
    sent_w = aircomp.sent_power_w(aligned_w, gain, weight, inverse)
    assert (sent_w <= power_w * (1 + 1e-12)).all()
    assert (sent_w / power_w).max() == pytest.approx(1.0)
    # Only the ratios of weights matter: the signal of the sum stays the same.
    scaled_w = aircomp.aligned_power_w(power_w, gain, 10.0 * weight, inverse)
    assert scaled_w * 100 == pytest.approx(aligned_w)


def superposed(rng, weight, aligned_w, noise_w, coefficients, per_symbol):
    """The weighted mean of random coefficients [k, d] exact, and as a base station computes it from the sent signals.

    Each device divides its symbols by its channel; the channels multiply them, and the receiver adds noise.
    """
    devices = len(weight)
    s = rng.standard_normal((devices, coefficients))
    symbols = s
    if per_symbol == 2:
        symbols = (s[:, ::2] + 1j * s[:, 1::2]) / np.sqrt(2)
    h = np.sqrt(0.5) * (rng.standard_normal((devices, 1)) + 1j * rng.standard_normal((devices, 1)))
    sent = np.sqrt(aligned_w) * weight[:, None] * symbols / h
    parts = rng.standard_normal((2, symbols.shape[1]))
    noise = np.sqrt(noise_w / 2) * (parts[0] + 1j * parts[1])
    mean = ((h * sent).sum(axis=0) + noise) / (np.sqrt(aligned_w) * weight.sum())
    received = mean.real
    if per_symbol == 2:
        received = np.sqrt(2) * np.stack([mean.real, mean.imag], axis=1).ravel()
    return weight @ s / weight.sum(), received


@pytest.mark.parametrize("per_symbol", [1, 2])
def test_the_error_of_superposed_symbols_has_the_closed_form(per_symbol):
    """With 40,000 errors the variance has a standard error of 0.7 %: 5 % off would be found with a power of 99 %.

    A false alarm comes once in 10,000 seeds; the seed is fixed.
    """
    rng = np.random.default_rng(11)
    weight = np.array([3.0, 1.0, 2.0, 5.0])
    true, received = superposed(rng, weight, 2e-13, 3e-13, 40_000, per_symbol)
    error = received - true
    expected = float(aircomp.mean_squared_error(3e-13, 2e-13, weight.sum(), per_symbol))
    standard_error = np.sqrt(2 / error.size)
    assert abs((error**2).mean() / expected - 1) < norm.isf(0.5e-4) * standard_error
    assert norm.cdf(0.05 / standard_error - norm.isf(0.5e-4)) > 0.99  # the power that the docstring states
    assert abs(error.mean()) < norm.isf(0.5e-4) * np.sqrt(expected / error.size)  # unbiased


@pytest.mark.parametrize("correlation", [0.0, 0.6])
def test_the_error_of_a_mean_that_misses_devices(correlation):
    """Against drawn masks, to four standard errors."""
    rng = np.random.default_rng(3)
    devices = 6
    probability = 0.7
    single = 0.4
    count = 60_000
    common = np.sqrt(correlation) * rng.standard_normal(count)
    s = common + np.sqrt(1 - correlation) * rng.standard_normal((devices, count))
    sends = rng.random((devices, count)) < probability
    senders = sends.sum(axis=0)
    noise = np.sqrt(single) * rng.standard_normal(count)
    received = np.where(senders, ((sends * s).sum(axis=0) + noise) / np.maximum(senders, 1), 0.0)
    squared = (received - s.mean(axis=0)) ** 2
    expected = aircomp.truncated_mean_squared_error(single, devices, probability, correlation)
    assert abs(squared.mean() - expected) < 4 * squared.std() / np.sqrt(count)


def test_error_has_no_truncation_part_if_all_send():
    expected = float(aircomp.mean_squared_error(1.0, 1.0, 7, 1))
    single = float(aircomp.mean_squared_error(1.0, 1.0, 1, 1))
    assert aircomp.truncated_mean_squared_error(single, 7, 1.0) == pytest.approx(expected)
    assert aircomp.truncated_mean_squared_error(single, 7, 0.0) == pytest.approx(1 / 7)


def test_the_symbols_do_not_depend_on_the_devices():
    assert aircomp.symbols([1, 2, 7, 650], 2).tolist() == [1, 1, 4, 325]
    assert aircomp.symbols([1, 2, 7, 650], 1).tolist() == [1, 2, 7, 650]


def test_arguments_of_sums_out_of_range():
    with pytest.raises(ValueError, match=r"threshold = -0\.1 is out of range"):
        aircomp.mean_inverse_gain(-0.1)
    with pytest.raises(ValueError, match=r"mean_inverse = 0\.0 is out of range"):
        aircomp.aligned_power_w(0.2, 1e-10, 1.0, 0.0)
