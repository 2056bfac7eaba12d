"""Statistics over seeds against cases by hand, SciPy and statsmodels."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st
from scipy import stats

from edgefl.results.statistics import Paired, estimate, holm, paired

NAN = math.nan
EXAMPLES = 40  # of each property
numbers = st.floats(1e-6, 1e6).map(lambda value: float(f"{value:.6g}"))


def array(*values):
    return np.array(values, np.float64)


class TestEstimate:
    def test_estimate_by_hand(self):
        found = estimate(array(2, 4, 9))
        assert (found.n, found.reached, found.mean, found.median) == (3, 3, 5, 4)
        assert found.std == pytest.approx(math.sqrt((9 + 1 + 16) / 2))
        assert found.half == pytest.approx(4.302652729696142 * found.std / math.sqrt(3))  # Student's t, 2 degrees
        assert math.isnan(found.above)

    def test_one_run_has_no_spread(self):
        found = estimate(array(7))
        assert (found.mean, found.median, found.central) == (7, 7, 7)
        assert math.isnan(found.std)
        assert math.isnan(found.half)

    def test_no_run_gives_nan(self):
        found = estimate(array())
        assert (found.n, found.reached) == (0, 0)
        assert all(map(math.isnan, found[2:]))

    @pytest.mark.oracle
    @settings(max_examples=EXAMPLES)
    @given(st.lists(numbers, min_size=2, max_size=12))
    def test_known_values_agree_with_numpy_and_scipy(self, values):
        found = estimate(array(*values))
        assert found.median == pytest.approx(np.median(values))
        assume(np.ptp(values) > 0)
        low, high = stats.t.interval(0.95, len(values) - 1, np.mean(values), stats.sem(values))
        assert (found.mean - found.half, found.mean + found.half) == pytest.approx((low, high))


CENSORED = {  # values, bounds of those that are not known, median, above
    "one of three is not": ([1, 2, NAN], [0, 0, 9], 2, NAN),
    "two of three are not": ([1, NAN, NAN], [0, 9, 11], NAN, 9),
    "half of them are not": ([1, 2, NAN, NAN], [0, 0, 10, 12], NAN, 6),
    "none is": ([NAN, NAN], [8, 10], NAN, 9),
    "given up early": ([NAN, 60, 70], [50, 0, 0], 65, NAN),  # S: 1 after 50, 1/2 from 60, 0 from 70
    "given up between": ([10, NAN, 30, 40], [0, 20, 0, 0], 30, NAN),  # S: 3/4 from 10, 3/8 from 30
    "at the same moment": ([5, NAN, 5], [0, 5, 0], 5, NAN),  # reached before the other run was censored: 2/3, 1/3
}


class TestCensored:
    @pytest.mark.parametrize("name", CENSORED)
    def test_by_hand(self, name):
        values, bounds, median, above = CENSORED[name]
        found = estimate(array(*values), array(*bounds))
        assert (found.median, found.above) == pytest.approx((median, above), nan_ok=True)
        assert found.reached == np.isfinite(values).sum()

    def test_censored_values_have_no_mean(self):
        found = estimate(array(1, 2, 3, NAN), array(0, 0, 0, 9))
        assert all(map(math.isnan, (found.mean, found.std, found.half)))
        assert found.central == found.median == 2.5

    @pytest.mark.oracle
    @settings(max_examples=EXAMPLES)
    @given(st.lists(st.tuples(st.integers(1, 30), st.booleans()), min_size=1, max_size=15))
    def test_median_lies_where_scipys_curve_falls_to_a_half(self, runs):
        values = array(*(time if known else NAN for time, known in runs))
        bounds = array(*(time for time, _ in runs))
        found = estimate(values, bounds)
        data = stats.CensoredData.right_censored(bounds, ~np.isfinite(values))
        curve = stats.ecdf(data).sf
        falls = curve.quantiles[curve.probabilities < 0.5 + 1e-9]
        below = curve.quantiles[curve.probabilities < 0.5 - 1e-9]
        if below.size:
            assert found.median == (falls[0] + below[0]) / 2  # a curve may stay at a half
        else:
            assert found.above <= bounds.max()

    @pytest.mark.oracle
    @settings(max_examples=EXAMPLES)
    @given(st.lists(st.tuples(numbers, st.booleans(), st.floats(1, 10)), min_size=1, max_size=12))
    def test_bound_holds_for_any_censored_values(self, runs):
        values = array(*(time if known else NAN for time, known, _ in runs))
        found = estimate(values, array(*(time for time, _, _ in runs)))
        truth = np.median([time if known else time * more for time, known, more in runs])
        assert math.isnan(found.above) or truth >= found.above * (1 - 1e-12)


class TestPaired:
    def test_by_hand(self):
        found = paired({1: 10.0, 2: 20.0, 3: 33.0, 9: 1.0}, {3: 30.0, 1: 9.0, 2: 18.0, 4: 5.0})  # -1, -2, -3
        assert (found.n, found.mean) == (3, -2)
        assert found.half == pytest.approx(4.302652729696142 / math.sqrt(3))
        assert found.p == pytest.approx(stats.ttest_rel([9, 18, 30], [10, 20, 33]).pvalue)

    def test_pairs_find_what_means_hide(self):
        world = array(1, 10, 100, 1000)  # seeds differ far more than the two runs do
        theirs = dict(enumerate(world))
        ours = dict(enumerate(world * 1.001 + array(0.9, 1, 1.1, 0.2)))
        assert paired(theirs, ours).p < 0.05 < stats.ttest_ind(world, list(ours.values())).pvalue

    @pytest.mark.parametrize(
        ("theirs", "ours", "found"),
        [
            ({1: 1.0}, {1: 3.0}, Paired(1, 2, NAN, NAN, "fewer than two common seeds")),
            ({1: 1.0}, {2: 3.0}, Paired(0, NAN, NAN, NAN, "fewer than two common seeds")),
            ({1: 0.1, 2: 0.7}, {1: 0.1, 2: 0.7}, Paired(2, 0, 0, NAN, "identical under every seed")),
            ({1: 1e9, 2: 2e9}, {1: 1e9 + 5, 2: 2e9 + 5}, Paired(2, 5, 0, NAN, "the same difference under every seed")),
            ({1: 1.0, 2: NAN}, {1: 2.0, 2: 2.0}, Paired(2, NAN, NAN, NAN, "not reached under every seed")),
        ],
    )
    def test_undefined_differences_have_a_note(self, theirs, ours, found):
        assert paired(theirs, ours) == pytest.approx(found, nan_ok=True)

    @pytest.mark.oracle
    @settings(max_examples=EXAMPLES)
    @given(st.lists(st.tuples(numbers, numbers), min_size=2, max_size=8), st.sampled_from([1e-9, 1.0, 1e9]))
    @example([(65537.0, 1e-06), (1e-05, 65537.0)], 1e9)
    def test_agrees_with_scipy_in_any_unit(self, pairs, scale):
        both = [dict(enumerate(column)) for column in zip(*pairs, strict=True)]
        assume(np.ptp([ours - theirs for theirs, ours in pairs]) > 1e-3)
        plain = paired(*both)
        theirs, ours = (list(one.values()) for one in both)
        tested = stats.ttest_rel(ours, theirs)
        low, high = tested.confidence_interval()
        assert plain.p == pytest.approx(tested.pvalue, rel=1e-6)
        assert plain.half == pytest.approx((high - low) / 2, rel=1e-6)
        scaled = paired(*({seed: scale * value for seed, value in one.items()} for one in both))
        # the rounding errors of differences, which remain where their mean nearly vanishes
        rounding = 1e-14 * scale * max(map(abs, itertools.chain(*pairs)))
        assert scaled.mean == pytest.approx(scale * plain.mean, rel=1e-6, abs=rounding)
        assert scaled.half == pytest.approx(scale * plain.half, rel=1e-6)
        assert scaled.p == pytest.approx(plain.p, rel=1e-6)


class TestHolm:
    def test_by_hand(self):
        assert holm([0.04, 0.01, NAN, 0.03]) == pytest.approx([0.06, 0.03, NAN, 0.06], nan_ok=True)
        assert holm([0.9, 0.8]) == pytest.approx([1, 1])

    @pytest.mark.oracle
    def test_adjusts_as_statsmodels_does(self):
        multitest = pytest.importorskip("statsmodels.stats.multitest", reason="statsmodels is not installed")
        rng = np.random.default_rng(1)
        for size in (1, 2, 5, 10, 10):
            p = rng.random(size).round(1) ** 3  # some are equal, some are small
            assert holm(p) == pytest.approx(multitest.multipletests(p, method="holm")[1])

    @settings(max_examples=EXAMPLES)
    @given(st.lists(st.floats(0, 1), max_size=10))
    def test_adjusted_values_are_not_smaller_and_keep_their_order(self, p):
        adjusted = holm(p)
        assert (adjusted >= np.array(p)).all()
        assert (np.diff(adjusted[np.argsort(p, kind="stable")]) >= 0).all()
