"""The rules are those of Flower, bit by bit, and each passes edgefl's own check of an algorithm."""

import numpy as np
import pytest
import torch
from edgefl_threats import rules

from edgefl.learning.algorithms import Updates
from edgefl.learning.algorithms.mifa import Mifa
from edgefl.testing import check_algorithm

flower = pytest.importorskip("flwr.server.strategy.aggregate", reason="the rules are held against those of flwr")

COUNTS = [(11, 2), (12, 2), (23, 5)]  # updates, attackers


def drawn(count, seed, d=103):
    """Vectors of single precision, a few of them far away, with ties in some coordinates."""
    rng = np.random.default_rng(seed)
    vectors = rng.normal(size=(count, d)).astype(np.float32)
    vectors[:2] *= 30
    vectors[:, :5] = vectors[:, :5].round()
    return vectors, rng.integers(1, 400, count)


def as_flower(vectors, samples):
    """The vectors as two layers, as Flower's strategies hold a model."""
    return [([vector[:60].reshape(6, 10), vector[60:]], int(n)) for vector, n in zip(vectors, samples, strict=True)]


def ours(rule, vectors, samples):
    """The move of the global model by a rule of ours."""
    delta = torch.from_numpy(vectors)
    updates = Updates({"delta": delta}, np.arange(len(vectors)), samples, len(vectors))
    return rule.aggregate({"w": torch.zeros(vectors.shape[1])}, updates)["w"].numpy()


@pytest.mark.parametrize(("count", "malicious"), COUNTS)
@pytest.mark.parametrize("seed", range(3))
def test_rules_equal_flower_bit_by_bit(count, malicious, seed):
    vectors, samples = drawn(count, seed)
    pairs = [
        (rules.Krum(malicious=malicious), lambda given: flower.aggregate_krum(given, malicious, 0)),
        (rules.MultiKrum(malicious=malicious, keep=4), lambda given: flower.aggregate_krum(given, malicious, 4)),
        (rules.Median(), flower.aggregate_median),
        (rules.TrimmedMean(cut=0.2), lambda given: flower.aggregate_trimmed_avg(given, 0.2)),
        (
            rules.Bulyan(malicious=malicious),
            lambda given: flower.aggregate_bulyan(given, malicious, flower.aggregate_krum, to_keep=0),
        ),
    ]
    for rule, theirs in pairs:
        expected = np.concatenate([layer.ravel() for layer in theirs(as_flower(vectors, samples))])
        found = ours(rule, vectors, samples)
        assert found.dtype == expected.dtype
        assert np.array_equal(found, expected), type(rule).__name__


def test_equal_weights_are_those_of_equal_samples():
    vectors, samples = drawn(11, 1)
    uniform = ours(rules.MultiKrum(weighting="uniform"), vectors, samples)
    assert np.array_equal(uniform, ours(rules.MultiKrum(), vectors, np.ones(11, dtype=np.int64)))


@pytest.mark.parametrize("name", ["Krum", "MultiKrum", "Median", "TrimmedMean", "Bulyan"])
def test_a_minority_far_away_changes_little(name):
    """The mean of eleven updates moves by 2000 / 11; a rule stays among the nine that are near 0."""
    vectors, samples = drawn(11, 4)
    honest = np.random.default_rng(8).normal(size=vectors.shape).astype(np.float32)
    attacked = honest.copy()
    attacked[:2] = 1000.0
    rule = getattr(rules, name)
    keys = {"malicious": 2} if issubclass(rule, rules.Krum) else {}
    assert abs(attacked.mean(axis=0)).min() > 100
    assert abs(ours(rule(**keys), attacked, samples)).max() <= abs(honest).max()


@pytest.mark.parametrize("count", range(1, 9))
def test_few_updates_are_combined_for_as_many_attackers_as_they_allow(count):
    vectors, samples = drawn(count, 2)
    for rule in (rules.Krum(malicious=3), rules.Bulyan(malicious=3), rules.TrimmedMean(cut=0.4), rules.Median()):
        assert np.isfinite(ours(rule, vectors, samples)).all()
        assert 0 <= rule.tolerated(count) < max(count, 1)
    assert rules.Krum(malicious=3).tolerated(count) == max(0, (count - 3) // 2)


@pytest.mark.parametrize("rule", ["Krum", "MultiKrum", "Median", "TrimmedMean", "Bulyan"])
def test_each_rule_passes_the_check_of_algorithms(rule):
    check_algorithm(getattr(rules, rule))


def test_a_rule_takes_another_base():
    check_algorithm(rules.Median, base={"kind": "fedprox", "mu": 0.1})


def test_a_base_that_keeps_updates_is_refused():
    vectors, samples = drawn(5, 1)
    rule = rules.Median(base=Mifa())
    updates = Updates({"delta": torch.from_numpy(vectors)}, np.arange(5), samples, 5)
    with pytest.raises(ValueError, match="Mifa sends or keeps several vectors for a device: choose another base"):
        rule.aggregate(rule.server_state(torch.zeros(vectors.shape[1])) | {"table": torch.zeros(5, 103)}, updates)
