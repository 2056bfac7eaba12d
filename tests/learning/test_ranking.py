"""Ranking metrics: hand-computed ranks, closed forms, and the definition counted pair by pair."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from edgefl.learning.learner.ranking import auc, hit_rate, ndcg, ranking, ranks

GROUPS = 500
NEGATIVES = 99
GROUP = np.repeat(np.arange(GROUPS), 1 + NEGATIVES)
POSITIVE = np.arange(len(GROUP)) % (1 + NEGATIVES) == 0


def test_hand_computed_ranks():
    """Groups stand mixed; in the second the positive sample has the score of a negative one, which counts as higher."""
    group = np.array([7, 3, 7, 3, 7, 3])
    positive = np.array([0, 1, 1, 0, 0, 0], dtype=bool)
    scores = np.array([0.9, 0.5, 0.8, 0.5, 0.1, 0.4])
    assert ranks(scores, positive, group).tolist() == [2, 2]
    assert auc(scores, positive) == pytest.approx((2.5 + 3) / 8)
    assert auc(scores, positive, strict=True) == pytest.approx((2 + 3) / 8)  # 0.5 above 0.1 and 0.4, not above 0.5


def test_positives_of_a_group_do_not_lower_each_others_ranks():
    assert ranks(np.array([4.0, 3, 2, 1]), np.array([True, False, True, True]), np.zeros(4, int)).tolist() == [1, 2, 2]


def test_metrics_of_ranks():
    places = np.array([1, 2, 5, 6, 11])
    assert [hit_rate(places, k) for k in (1, 5, 10, 100)] == [0.2, 0.6, 0.8, 1.0]
    assert ndcg(places, 5) == pytest.approx((1 + 1 / np.log2(3) + 1 / np.log2(6)) / 5)
    assert ndcg(places, 1) == 0.2


@pytest.mark.parametrize(("scores", "expected"), [(POSITIVE * 1.0, 1.0), (POSITIVE * -1.0, 0.0)])
def test_perfect_and_reversed(scores, expected):
    assert set(ranking(scores, POSITIVE, GROUP).values()) == {expected}


def test_constant_scores_hit_nothing():
    columns = ranking(np.full(len(GROUP), np.float32(0.3)), POSITIVE, GROUP)
    assert columns.pop("test_auc") == 0.5
    assert set(columns.values()) == {0.0}
    assert list(columns) == ["hr_5", "ndcg_5", "hr_10", "ndcg_10"]
    strict = ranking(np.full(len(GROUP), np.float32(0.3)), POSITIVE, GROUP, strict_auc=True)
    assert strict["test_auc_strict"] == 0.0


def test_random_scores():
    """The rank is uniform among 100: HR@K = K / 100; four standard errors."""
    columns = ranking(np.random.default_rng(3).random(len(GROUP)), POSITIVE, GROUP)
    for k in (5, 10):
        p = k / (1 + NEGATIVES)
        gains = 1 / np.log2(np.arange(1, k + 1) + 1)
        mean = gains.sum() / 100
        square = (gains**2).sum() / 100
        assert columns[f"hr_{k}"] == pytest.approx(p, abs=4 * np.sqrt(p * (1 - p) / GROUPS))
        assert columns[f"ndcg_{k}"] == pytest.approx(mean, abs=4 * np.sqrt((square - mean**2) / GROUPS))
    assert columns["test_auc"] == pytest.approx(0.5, abs=4 / np.sqrt(12 * GROUPS))


SAMPLES = st.lists(st.tuples(st.integers(0, 4), st.booleans(), st.integers(0, 2)), min_size=1, max_size=30)


@pytest.mark.oracle
@given(SAMPLES)
def test_auc_and_ranks_by_counting(samples):
    """Few different scores, so that many are equal."""
    scores, positive, group = (np.array(column) for column in zip(*samples, strict=True))
    above = scores[positive]
    below = scores[~positive]
    wins = [(a > b) + (a == b) / 2 for a in above for b in below]
    strict_wins = [a > b for a in above for b in below]
    if wins:
        assert auc(scores, positive) == pytest.approx(np.mean(wins))
        assert auc(scores, positive, strict=True) == pytest.approx(np.mean(strict_wins))
    else:
        assert np.isnan(auc(scores, positive))
        assert np.isnan(auc(scores, positive, strict=True))
    for one in np.unique(group):
        mine = scores[group == one]
        sought = positive[group == one]
        counted = sorted(1 + int((mine[~sought] >= score).sum()) for score in mine[sought])
        assert sorted(ranks(scores, positive, group)[group_of(positive, group) == one].tolist()) == counted


def group_of(positive, group):
    """Return the groups of the positive samples, in the order of `ranks`."""
    return np.sort(group[positive])
