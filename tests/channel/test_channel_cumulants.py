import math

import numpy as np
import pytest
from channel_cases import Linear, Stairs, circular, rho_of
from scipy import integrate, stats

from channel import rate
from channel.cumulants import sum_cumulants
from channel.mcs import Mcs


@pytest.mark.oracle
@pytest.mark.parametrize("efficiency", [rate.SHANNON, rate.TRUNCATED, Mcs(), Stairs()])
def test_mean_is_the_closed_form(efficiency):
    snr = np.geomspace(0.1, 1e11, 3_001)
    exact = rate.mean_rayleigh_bps_hz(efficiency, snr)
    np.testing.assert_allclose(sum_cumulants(snr, 0.5, 100, efficiency).mean, 100 * exact, rtol=3e-6)
    if efficiency == rate.SHANNON:
        snr = np.geomspace(1e-4, 1e12, 3_001)
        np.testing.assert_allclose(sum_cumulants(snr, 0.9, 1).mean, rate.mean_rayleigh_bps(1.0, snr), rtol=2e-7)


@pytest.mark.oracle
@pytest.mark.parametrize(("rho", "slots"), [(0.0, 30), (0.72, 80), (-0.4, 40), (0.9667, 500), (0.9992, 20_000)])
def test_cumulants_of_a_linear_rate_match_a_quadratic_form(rho, slots):
    """For sum |h|^2 they are (p - 1)! tr R^p, with R the correlation matrix of h; here by sums over lags."""
    lag = np.abs(np.subtract.outer(np.arange(min(slots, 500)), np.arange(min(slots, 500))))
    matrix = rho**lag if slots <= 500 else (rho ** (slots / 500)) ** lag  # a fine enough picture of slow fading
    coarse = 1.0 if slots <= 500 else slots / 500
    exact = [math.factorial(p - 1) * np.trace(np.linalg.matrix_power(matrix, p)) * coarse**p for p in (1, 2, 3, 4)]
    np.testing.assert_allclose(sum_cumulants(3.0, rho, slots, Linear()), exact * 3.0 ** np.arange(1, 5), rtol=0.01)


@pytest.mark.parametrize("snr_db", [-5, 10, 45])
def test_cumulants_of_independent_slots(snr_db):
    snr = 10 ** (snr_db / 10)
    moments = [
        integrate.quad(lambda t, p=p: math.log2(1 + snr * math.exp(t)) ** p * math.exp(t - math.exp(t)), -40, 4)[0]
        for p in (1, 2, 3, 4)
    ]
    m = moments[0]
    central = [moments[1] - m**2, moments[2] - 3 * m * moments[1] + 2 * m**3]
    fourth = moments[3] - 4 * m * moments[2] + 6 * m**2 * moments[1] - 3 * m**4
    exact = np.array([m, *central, fourth - 3 * central[0] ** 2]) * 70
    np.testing.assert_allclose(sum_cumulants(snr, 0.0, 70), exact, rtol=1e-3)


@pytest.mark.parametrize("snr_db", [-5.0, 7.5, 30.0, 50.0])
@pytest.mark.parametrize(("rho", "slots"), [(0.3, 40), (0.7198, 60), (0.9667, 400), (0.99924, 20_000)])
def test_variance_against_the_series_of_laguerre_coefficients(snr_db, rho, slots):
    """Var S_n = sum_j c_j^2 (n (1 + r)/(1 - r) - 2 r (1 - r^n)/(1 - r)^2), r = rho^(2j)."""
    from scipy.special import eval_laguerre

    snr = 10 ** (snr_db / 10)
    t, step = np.linspace(-36, 4.2, 4_001, retstep=True)
    x = np.exp(t)
    e = np.log2(1 + snr * x)
    weight = x * np.exp(-x) * step
    c = np.array([(e * eval_laguerre(j, x)) @ weight for j in range(1, 26)])
    r = rho ** (2.0 * np.arange(1, 26))
    series = c**2 @ (slots * (1 + r) / (1 - r) - 2 * r * (1 - r**slots) / (1 - r) ** 2)
    rest = (e**2 @ weight - (e @ weight) ** 2 - c @ c) * slots  # higher coefficients, as good as white
    np.testing.assert_allclose(sum_cumulants(snr, rho, slots).variance, series + rest, rtol=4e-3)


@pytest.mark.oracle
@pytest.mark.parametrize(("snr_db", "slots"), [(-5, 600), (20, 300)])
def test_skewness_against_simulation(snr_db, slots):
    rows = 40_000
    snr = 10 ** (snr_db / 10)
    rho = rho_of(10.0)
    generator = np.random.default_rng(11)
    total = np.zeros(rows)
    h = circular(generator, rows)
    for _ in range(slots):
        h = rho * h + math.sqrt(1 - rho**2) * circular(generator, rows)
        total += np.log2(1 + snr * (h.real**2 + h.imag**2))
    mean, variance, third, fourth = sum_cumulants(snr, rho, slots)
    assert total.mean() == pytest.approx(mean, abs=4 * math.sqrt(variance / rows))
    assert total.var() == pytest.approx(variance, rel=5 * math.sqrt(2 / rows))
    assert stats.skew(total) == pytest.approx(third / variance**1.5, abs=4 * math.sqrt(6 / rows))
    assert stats.kurtosis(total) == pytest.approx(fourth / variance**2, abs=5 * math.sqrt(24 / rows))


def test_bad_arguments_of_the_cumulants():
    for call, message in (
        (lambda: sum_cumulants(1.0, 1.0, 10), "correlation = 1.0"),
        (lambda: sum_cumulants(1e-5, 0.5, 10), "mean_snr = 1e-05"),
        (lambda: sum_cumulants(1.0, 0.5, 0.0), "slots = 0.0"),
        (lambda: sum_cumulants(np.nan, 0.5, 10), "mean_snr = nan"),
    ):
        with pytest.raises(ValueError, match=message):
            call()
    assert sum_cumulants([[1.0], [2.0]], [0.1, 0.2, 0.3], 50).fourth.shape == (2, 3)
