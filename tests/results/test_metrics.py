"""Metrics over finished rounds: cases by hand, published speed-ups, scipy's paired t-test."""

import math

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy.stats import ttest_rel

from edgefl.results import metrics
from edgefl.results.metrics import Reach

NAN = math.nan
ACCURACIES = st.lists(st.integers(0, 1000).map(lambda hits: hits / 1000), min_size=2, max_size=30)


def curve(*accuracies, rounds=None, **session):
    """Rounds of 2 s and 3 J each; None was not tested."""
    count = np.arange(1.0, len(accuracies) + 1)
    columns = {"time_s": 2 * count, "energy_j": 3 * count, "test_accuracy": list(accuracies)}
    return metrics.accuracy_curve(columns | session | {"round": list(count) if rounds is None else rounds})


def costs(rounds, *, reached):
    return Reach(reached, rounds, 2.0 * rounds, 3.0 * rounds)


class TestReach:
    run = curve(0.1, None, 0.5, 0.4, 0.5, 0.7)

    @pytest.mark.parametrize(
        ("target", "first"),
        [(0.05, 1), (0.1, 1), (0.4, 3), (0.5, 3), (0.500001, 6), (0.7, 6)],
        ids=["below", "tie at the start", "before a fall", "tie", "above a tie", "tie at the end"],
    )
    def test_first_test_with_the_accuracy_counts(self, target, first):
        assert metrics.reach(self.run, target) == costs(first, reached=True)

    def test_missed_target_costs_the_whole_run(self):
        assert metrics.reach(self.run, 0.71) == costs(6, reached=False) == metrics.total(self.run)

    @pytest.mark.parametrize("run", [curve(), curve(None, None)], ids=["no round", "no test"])
    def test_untested_run_reaches_no_target(self, run):
        assert metrics.reach(run, 1e-9) == costs(len(run.number), reached=False)
        assert math.isnan(run.best)
        assert math.isnan(run.final)

    def test_sessions_are_numbered_on(self):
        assert metrics.reach(curve(0.1, 0.2, 0.3, rounds=[1, 2, 1]), 0.3).round == 3

    @pytest.mark.oracle
    @settings(max_examples=50)
    @given(ACCURACIES, st.floats(0.01, 1))
    def test_a_lower_target_is_never_reached_later(self, accuracies, part):
        run = curve(*accuracies)
        high = metrics.reach(run, 0.8)
        low = metrics.reach(run, 0.8 * part)
        assert low.round <= high.round
        assert low.reached >= high.reached
        assert metrics.reach(run, run.best).reached


@pytest.mark.parametrize(
    ("reference", "run", "published"),
    [
        (costs(45, reached=True), costs(22, reached=True), "2.05"),
        (costs(1000, reached=False), costs(977, reached=True), "1.02"),
        (costs(721, reached=True), costs(1000, reached=False), "0.72"),
        (costs(1500, reached=False), costs(1500, reached=False), "1.00"),
    ],
    ids=["both", "not the reference", "not the run", "neither"],
)
def test_speed_ups_of_the_fedssg_paper(reference, run, published):
    """Table 3: FedSSG on MNIST, FedProx on CIFAR-10 and CIFAR-100 (DiD1), FedAvg on CIFAR-10 with 500 devices."""
    assert [f"{ratio:.2f}" for ratio in metrics.speed_up(reference, run)] == [published] * 3


def test_zero_over_zero_has_no_speed_up():
    assert all(map(math.isnan, metrics.speed_up(metrics.total(curve()), metrics.total(curve()))))


def test_last_and_initial_count_tests_and_rounds():
    run = curve(0.1, None, 0.3, None, 0.5, 0.7)
    assert metrics.last(run, 2) == pytest.approx((2, 0.6, 0.1))
    assert metrics.last(run, 50) == pytest.approx((4, 0.4, math.sqrt(0.05)))
    assert metrics.initial(run, 3) == pytest.approx((2, 0.2, 0.1))
    assert metrics.initial(run, 1) == (1, 0.1, 0.0)
    assert metrics.last(curve(None), 50)[0] == metrics.initial(curve(None), 10)[0] == 0
    assert math.isnan(metrics.last(curve(None), 50).mean)
    assert (run.best, run.final) == (0.7, 0.7)


def test_first_rounds_exclude_extra_rounds():
    places = {"session": [1, 1, 2, 2, 2], "rounds": [1, 2, 0, 1, 2]}
    run = curve(0.1, 0.2, 0.9, 0.5, 0.6, **places)
    assert metrics.initial(run, 1) == pytest.approx((2, 0.3, 0.2))
    assert (run.best, run.tests.tolist()) == (0.6, [0.1, 0.2, 0.5, 0.6])
    first, second = metrics.sessions(run)
    assert (first.number.tolist(), first.time_s.tolist()) == ([1, 2], [2, 4])
    assert (second.number.tolist(), second.time_s.tolist(), second.energy_j.tolist()) == (
        [0, 1, 2],
        [2, 4, 6],
        [3, 6, 9],
    )
    assert metrics.sessions(curve()) == []


def test_sessions_are_compared_each_with_its_own():
    reference = curve(0.1, 0.2, 0.3, 0.4, session=[1, 1, 2, 2], rounds=[1, 2, 1, 2])
    run = curve(0.5, 0.6, None, 0.7, 0.8, session=[1, 1, 2, 2, 2], rounds=[1, 2, 0, 1, 2])
    theirs, ours = metrics.common(reference, run)
    assert (theirs.tolist(), ours.tolist()) == ([0.1, 0.2, 0.3, 0.4], [0.5, 0.6, 0.7, 0.8])
    whole = curve(0.1, 0.2, 0.3, 0.4)
    assert [part.tolist() for part in metrics.common(whole, run)] == [[0.1, 0.2], [0.5, 0.6]]


def test_only_rounds_tested_in_both_are_compared():
    reference = curve(0.1, 0.2, 0.3, None, 0.5)
    run = curve(None, 0.4, 0.2, 0.9)
    theirs, ours = metrics.common(reference, run)
    assert (theirs.tolist(), ours.tolist()) == ([0.2, 0.3], [0.4, 0.2])
    assert metrics.accumulated_gain_points(theirs, ours) == pytest.approx(10)
    assert metrics.accumulated_gain_points(ours, theirs) == pytest.approx(-10)
    assert [part.size for part in metrics.common(curve(0.1, None), curve(None, 0.1))] == [0, 0]


class TestPairedT:
    def test_by_hand(self):
        """Differences 1, 2, 3 hundredths: mean 2, standard deviation 1, so t = 2 sqrt(3); of 2 degrees of freedom
        p = 1 - t / sqrt(t^2 + 2)."""
        test = metrics.paired_t(np.array([0.5, 0.5, 0.5]), np.array([0.51, 0.52, 0.53]))
        t = 2 * math.sqrt(3)
        assert test[:3] == pytest.approx((t, 2, 1 - t / math.sqrt(t**2 + 2)))
        assert test.note == ""

    @pytest.mark.oracle
    @settings(max_examples=30)
    @given(ACCURACIES, st.randoms(use_true_random=False))
    def test_paired_t_agrees_with_scipy(self, accuracies, random):
        reference = np.array(accuracies)
        run = np.array([random.randint(0, 1000) / 1000 for _ in accuracies])
        assume(np.ptp(run - reference) > 1e-6)
        expected = ttest_rel(run, reference)
        test = metrics.paired_t(reference, run)
        assert (test.t, test.df) == pytest.approx((expected.statistic, expected.df), rel=1e-9)
        assert test.p == pytest.approx(expected.pvalue, rel=1e-6)
        assert metrics.paired_t(run, reference).t == pytest.approx(-test.t)

    @pytest.mark.parametrize(
        ("reference", "run", "note"),
        [
            ([], [], "fewer than two common tests"),
            ([0.1], [0.2], "fewer than two common tests"),
            ([0.1, 0.7, 0.3], [0.1, 0.7, 0.3], "identical"),
            ([0.1, 0.7, 0.3], [0.2, 0.8, 0.4], "the same difference in every round"),
        ],
    )
    def test_undefined_test_has_a_note(self, reference, run, note):
        test = metrics.paired_t(np.array(reference), np.array(run))
        assert math.isnan(test.t)
        assert math.isnan(test.p)
        assert test.note == note
