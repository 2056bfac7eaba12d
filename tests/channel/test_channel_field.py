"""The random fields against closed forms: spectrum, autocorrelation, marginals, line of sight, and order."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import integrate, special, stats

from channel import field, umi

WAVES = 512
LAGS = np.array([0.05, 0.1, 0.3, 0.5, 1.0, 2.0, 4.0])  # of the decorrelation distance


def uniforms(seed, count=WAVES):
    return 1 - np.random.default_rng(seed).random((count, 3))


def one_field(seed, count=WAVES):
    return field.waves(uniforms(seed, count))


def places(seed, count, side_m):
    return np.random.default_rng(seed).uniform(-side_m / 2, side_m / 2, (count, 2))


def ensemble(function, positions_m, decorrelation_m, fields, first_seed):
    """Values [fields, ...] of independent fields at the same places."""
    return np.array(
        [function(one_field(first_seed + n, 256), positions_m, decorrelation_m) for n in range(fields)],
    )


def test_gaussian_equals_the_sum_of_its_waves():
    """A second implementation in double precision, wave by wave, from the uniforms."""
    draws = uniforms(1, 60)
    positions = places(2, 40, 500)
    expected = np.zeros(40)
    for m, (stratum, direction, phase) in enumerate(draws):
        survival = (m + stratum) / 60
        k = math.sqrt(1 / survival**2 - 1) / 13.0
        along = positions @ [math.cos(2 * math.pi * direction), math.sin(2 * math.pi * direction)]
        expected += math.sqrt(2 / 60) * np.exp(1j * (k * along + 2 * math.pi * phase)).real
    np.testing.assert_allclose(field.gaussian(field.waves(draws), positions, 13.0), expected, atol=3e-6)


def test_the_spectrum_of_the_exponential():
    """The Hankel transform of exp(-r) is (1 + k^2)^(-3/2); wave numbers follow that density times k."""
    for k in (0.0, 0.3, 1.0, 3.0, 10.0):
        transform = integrate.quad(lambda r, k=k: math.exp(-r) * special.j0(k * r) * r, 0, 60, limit=500)[0]
        assert transform == pytest.approx((1 + k**2) ** -1.5, abs=1e-9)
    numbers = 2 * np.pi * np.hypot(*one_field(3, 4000).frequencies.T)
    # Stratified: the empirical CDF is within 1 / M of the true one, where independent draws would stray to 0.02
    assert stats.kstest(numbers, lambda k: 1 - (1 + k**2) ** -0.5).statistic < 1 / 4000 + 1e-12


@pytest.mark.oracle
def test_waves_have_the_autocorrelation_in_every_direction():
    """Over phases, a set of waves has autocorrelation mean(cos(k . dx)); over 400 sets, exp(-r), to about 0.0015."""
    frequencies = np.array([one_field(seed).frequencies for seed in range(400)])
    for angle in (0.0, 0.4, math.pi / 4, 1.9, 2.8):
        along = frequencies @ [math.cos(angle), math.sin(angle)]
        for lag in LAGS:
            sets = np.cos(2 * np.pi * lag * along).mean(axis=1)
            assert sets.mean() == pytest.approx(math.exp(-lag), abs=4 * sets.std(ddof=1) / math.sqrt(400))
            assert sets.std(ddof=1) / math.sqrt(400) < 0.002


@pytest.mark.oracle
@pytest.mark.parametrize("angle", [0.0, 0.6, math.pi / 2, 2.5])
def test_autocorrelation_of_the_field(angle):
    """Half the mean square difference is 1 - exp(-d / d_cor): 400 fields, 30 pairs a lag, within 4 standard errors."""
    origin = places(4, 30, 300)
    step = 10.0 * np.array([math.cos(angle), math.sin(angle)])
    positions = np.concatenate([origin[None], origin + LAGS[:, None, None] * step])
    values = ensemble(field.gaussian, positions, 10.0, 400, 1000)
    halves = 0.5 * ((values[:, 1:] - values[:, :1]) ** 2).mean(axis=2)  # one number a field and lag
    error = halves.std(axis=0, ddof=1) / math.sqrt(len(halves))
    assert np.all(np.abs(halves.mean(axis=0) + np.expm1(-LAGS)) < 4 * error)
    wrong = -np.expm1(-LAGS * 10 / 13)  # the power of this test: another model's distance is seen at every short lag
    assert np.all((np.abs(halves.mean(axis=0) - wrong) > 4 * error)[LAGS <= 1])


@pytest.mark.oracle
def test_marginals_are_standard_normal():
    """One place in 8,000 fields: KS at 1 %; the same test sees a tenth more spread, and the lack of waves."""
    values = ensemble(field.gaussian, np.array([[37.0, -120.0]]), 10.0, 8000, 20_000)[:, 0]
    assert stats.kstest(values, "norm").pvalue > 0.01
    assert stats.kstest(1.1 * values, "norm").pvalue < 0.01
    few = [float(field.gaussian(one_field(seed, 1), [37.0, -120.0], 10.0)) for seed in range(2000)]
    assert stats.kstest(few, "norm").pvalue < 1e-6


@pytest.mark.parametrize("seed", range(6))
def test_every_field_has_variance_one_over_the_plane(seed):
    """8,000 places on 20 km x 20 km are nearly independent: standard errors 0.011 (mean) and 0.016 (variance)."""
    values = field.gaussian(one_field(seed), places(seed + 50, 8000, 20_000), 10.0)
    assert values.mean() == pytest.approx(0.0, abs=4 / math.sqrt(8000))
    assert values.var() == pytest.approx(1.0, abs=4 * math.sqrt(2 / 8000))
    assert stats.kstest(values, "norm").statistic < 1.63 / math.sqrt(8000)  # 1 %


@pytest.mark.oracle
def test_fields_at_two_decorrelation_distances_correlate_by_the_formula():
    """The values for two decorrelation distances correlate by exp(-|p| |1/d_1 - 1/d_2|)."""
    positions = np.array([[10.0, 0.0], [0.0, 60.0], [-120.0, 160.0]])
    values = ensemble(field.gaussian, positions[:, None], np.array([10.0, 13.0]), 3000, 40_000)
    for n, distance in enumerate((10.0, 60.0, 200.0)):
        expected = math.exp(-distance * (1 / 10 - 1 / 13))
        error = math.sqrt((1 + expected**2) / 3000)
        assert np.mean(values[:, n, 0] * values[:, n, 1]) == pytest.approx(expected, abs=4 * error)


def test_the_spectrum_of_the_smooth_field():
    """The Hankel transform of (1 + r) exp(-r) is 3 (1 + k^2)^(-5/2); at one decorrelation distance it is 1 / e."""
    for k in (0.0, 0.3, 1.0, 3.0, 10.0):
        transform = integrate.quad(lambda r, k=k: (1 + r) * math.exp(-r) * special.j0(k * r) * r, 0, 60, limit=500)[0]
        assert transform == pytest.approx(3 * (1 + k**2) ** -2.5, abs=1e-9)
    decay = field.SMOOTH_DECAY
    assert (1 + decay) * math.exp(-decay) == pytest.approx(math.exp(-1), abs=1e-12)
    smooth = field.waves(uniforms(1, 4000), smooth=True)
    numbers = 2 * np.pi * np.hypot(*smooth.frequencies.T) / decay
    assert stats.kstest(numbers, lambda k: 1 - (1 + k**2) ** -1.5).statistic < 1 / 4000 + 1e-12


@pytest.mark.oracle
@pytest.mark.parametrize(("smooth", "growth"), [(True, 1.0), (False, 2.0)])
def test_level_crossings_of_a_smooth_field_follow_rices_formula(smooth, growth):
    """c / (pi d_cor) zeros a metre, however finely one looks; the other has twice as many at four times as fine."""
    length_m = 4000.0
    zeros = []
    for step_m in (1.0, 0.25):
        path = np.arange(0, length_m, step_m)[:, None] * [math.cos(0.4), math.sin(0.4)]
        stack = field.stacked([field.waves(uniforms(seed), smooth=smooth) for seed in range(40)])
        values = field.along_path(stack, path, 50.0)
        zeros.append((np.diff(np.sign(values), axis=0) != 0).sum(axis=0) / length_m)
    means = [value.mean() for value in zeros]
    error = zeros[1].std(ddof=1) / math.sqrt(40) / means[1]
    assert means[1] / means[0] == pytest.approx(growth, rel=0.05)
    if smooth:
        assert means[1] == pytest.approx(field.SMOOTH_DECAY / (50 * math.pi), rel=4 * error)


def test_stacked_fields_equal_single_fields():
    several = [one_field(seed) for seed in range(5)]
    positions = places(3, 70, 500)
    distances = np.random.default_rng(4).choice([7.0, 10.0, 13.0], (70, 5))
    together = field.gaussians(field.stacked(several), positions, distances)
    for number, one in enumerate(several):
        np.testing.assert_array_equal(together[:, number], field.gaussian(one, positions, distances[:, number]))


@pytest.mark.oracle
@settings(deadline=None, derandomize=True, max_examples=60)
@given(st.integers(0, 2**32), st.lists(st.tuples(st.integers(1, 90), st.booleans()), max_size=6))
def test_values_along_a_path_equal_those_at_its_positions(seed, legs):
    """Straight legs of equal steps, with corners and stops between them; each value as `gaussian` gives it."""
    rng = np.random.default_rng(seed)
    steps = [np.zeros((1, 2))]
    for count, stands in legs:
        step = np.zeros(2) if stands else rng.uniform(-2, 2, 2)
        steps.append(np.tile(step, (count, 1)))
    path = rng.uniform(-500, 500, 2) + np.cumsum(np.concatenate(steps), axis=0)
    several = [field.waves(uniforms(number), smooth=bool(number)) for number in range(2)]
    values = field.along_path(field.stacked(several), path, 10.0)
    for number, one in enumerate(several):
        np.testing.assert_allclose(values[:, number], field.gaussian(one, path, 10.0), atol=1e-5)


@pytest.mark.oracle
def test_uniform_is_uniform():
    values = ensemble(field.uniform, np.array([[80.0, 5.0]]), 50.0, 3000, 60_000)[:, 0]
    assert stats.kstest(values, "uniform").pvalue > 0.01
    some = one_field(7)
    positions = places(8, 50, 500)
    np.testing.assert_allclose(
        field.uniform(some, positions, 50.0), stats.norm.cdf(field.gaussian(some, positions, 50.0)), rtol=1e-12
    )


@pytest.mark.oracle
def test_frequency_of_line_of_sight_matches_its_probability():
    """TR 38.901, 7.6.3.3 and Table 7.4.2-1: one field a seed, 4,000 seeds; binomial, within 4 standard deviations."""
    distance = np.array([10.0, 18.0, 25.0, 50.0, 100.0, 250.0])
    angle = np.arange(6.0)
    probability = umi.los_probability(distance)
    positions = distance[:, None] * np.stack([np.cos(angle), np.sin(angle)], axis=-1)
    seen = (ensemble(field.uniform, positions, 50.0, 4000, 70_000) < probability).mean(axis=0)
    assert np.all(np.abs(seen - probability) <= 4 * np.sqrt(probability * (1 - probability) / 4000))
    assert np.all(seen[:2] == 1.0)  # always in sight up to 18 m


@pytest.mark.oracle
@pytest.mark.parametrize("apart_m", [5.0, 50.0, 100.0])
def test_line_of_sight_is_consistent_in_space(apart_m):
    """Two places at 60 m are both in sight with the probability of a bivariate normal of correlation exp(-dx / 50)."""
    probability = float(umi.los_probability(60.0))
    half = math.asin(apart_m / 2 / 60.0)
    positions = 60.0 * np.array([[math.cos(half), math.sin(half)], [math.cos(half), -math.sin(half)]])
    both = (ensemble(field.uniform, positions, 50.0, 4000, 80_000) < probability).all(axis=1).mean()
    correlation = math.exp(-apart_m / 50)
    limit = stats.norm.ppf(probability)
    expected = stats.multivariate_normal.cdf([limit, limit], cov=[[1, correlation], [correlation, 1]])
    error = math.sqrt(expected * (1 - expected) / 4000)
    assert both == pytest.approx(expected, abs=4 * error)
    if apart_m <= 50:
        assert both > probability**2 + 4 * error  # independent states would be seen


@pytest.mark.oracle
@settings(deadline=None, derandomize=True, max_examples=50)
@given(st.integers(0, 2**32), st.integers(1, 400), st.integers(1, 600))
def test_values_do_not_depend_on_order_or_other_positions(seed, count, number_of_waves):
    """Bit for bit, alone or with others, in any order, in chunks of any size."""
    some = one_field(seed, number_of_waves)
    positions = places(seed + 1, count, 500)
    rng = np.random.default_rng(seed + 2)
    distances = rng.choice([7.0, 10.0, 13.0], count)
    together = field.gaussian(some, positions, distances)
    order = rng.permutation(count)
    np.testing.assert_array_equal(field.gaussian(some, positions[order], distances[order]), together[order])
    some_of_them = order[: rng.integers(1, count + 1)]
    np.testing.assert_array_equal(
        field.gaussian(some, positions[some_of_them], distances[some_of_them]), together[some_of_them]
    )
    assert field.gaussian(some, positions[-1], distances[-1]) == together[-1]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: field.waves(np.ones((0, 3))), r"shape \(0, 3\)"),
        (lambda: field.waves([[0.5, 0.5, 0.0]]), "uniforms = 0.0"),
        (lambda: field.gaussian(one_field(1), [1.0, np.nan], 10.0), "positions_m = nan"),
        (lambda: field.gaussian(one_field(1), [1.0, 2.0], 0.0), "decorrelation_m = 0.0"),
    ],
)
def test_field_refuses(call, message):
    with pytest.raises(ValueError, match=message):
        call()
