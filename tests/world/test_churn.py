"""Churn by coins: chances, and frequencies of the coins."""

import numpy as np
import pytest

import edgefl
from edgefl.core.errors import InputError
from edgefl.core.streams import Streams
from edgefl.scenario import load
from edgefl.world.churn.bernoulli import BernoulliChurn
from edgefl.world.churn.none import NoChurn

LABELS = np.array([0, 3, 9])
SMALL = {
    "rounds": 6,
    "data": {"dataset": "quadratic", "coefficients": [[0.5, b, 0] for b in range(8)]},
    "training": {"local_steps": 1, "batch_size": "full", "lr": 0.1},
}


def presence(count=3, seed=1, **keys):
    return BernoulliChurn(**keys).presence(count, LABELS, 10, Streams(seed))


def test_chances_grow_with_the_lowest_label():
    """MIFA's rule: p_min for label 0, 1 for the last one."""
    assert presence(p_min=0.1).probabilities == pytest.approx([0.1, 0.1 + 0.9 * 3 / 9, 1.0])


@pytest.mark.oracle
def test_coins_fall_with_their_chances():
    """4,000 coins each: a frequency has a standard error below 0.008; 4.5 of them is one false alarm in 10^5."""
    there = presence(p_min=0.1)
    counts = np.zeros(3)
    for index in range(4000):
        counts[there.present(0.0, index)] += 1
    assert counts / 4000 == pytest.approx(there.probabilities, abs=4.5 * 0.008)
    assert counts[2] == 4000


def test_coins_do_not_depend_on_the_population():
    few, many = (presence(count, probability=0.5) for count in (5, 5000))
    for index in range(20):
        ids = many.present(0.0, index)
        assert np.array_equal(few.present(1e9, index), ids[ids < 5])


def test_drawn_chances_stay_the_same_over_rounds_and_differ_between_devices():
    scenario = load({"churn": {"kind": "bernoulli", "probability": {"uniform": [0.2, 0.9]}}})
    chances = scenario.churn.presence(2000, LABELS, 10, Streams(1)).probabilities
    assert chances.min() >= 0.2
    assert chances.max() <= 0.9
    assert chances.mean() == pytest.approx(0.55, abs=4.5 * 0.7 / np.sqrt(12 * 2000))


def test_without_churn_all_devices_are_present():
    assert np.array_equal(NoChurn().presence(4, LABELS, 10, Streams(1)).present(5.0, 3), np.arange(4))


def test_only_present_devices_take_part():
    churn = {"kind": "bernoulli", "probability": 0.5}
    result = edgefl.run({**SMALL, "churn": churn})
    there = load({"churn": churn}).churn.presence(8, LABELS, 1, Streams(1))
    for number, rows in result.devices.groupby("round"):
        assert rows["device"].tolist() == there.present(0.0, number - 1).tolist()
    assert result.rounds["selected"].sum() == len(result.devices) < 8 * 6


@pytest.mark.oracle
def test_importance_weights_use_the_probability_of_presence():
    """All present devices take part, so 1 / (N p_i) with known and with given p_i are the same."""
    chances = [0.3, 0.9, 0.6, 0.5, 0.4, 1.0, 0.8, 0.7]
    churn = {"kind": "bernoulli", "probability": {"choice": chances}}
    there = load({"churn": churn}).churn.presence(8, LABELS, 1, Streams(1)).probabilities.tolist()
    known = edgefl.run({**SMALL, "churn": churn, "algorithm": {"kind": "fedavg", "availability": "selection"}})
    told = edgefl.run({**SMALL, "churn": churn, "algorithm": {"kind": "fedavg", "availability": there}})
    assert known.rounds["parameter"].tolist() == pytest.approx(told.rounds["parameter"].tolist(), rel=1e-14)
    assert len(set(there)) > 3


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        ({}, "needs either probability or p_min"),
        ({"p_min": 0.1, "probability": 0.1}, "needs either probability or p_min"),
    ],
)
def test_impossible_chances_are_refused(keys, message):
    with pytest.raises(InputError, match=message):
        load({"churn": {"kind": "bernoulli", **keys}})


def test_impossible_drawn_chance_is_refused():
    with pytest.raises(InputError, match=r"churn.probability: device \d+ draws"):
        edgefl.run({**SMALL, "churn": {"kind": "bernoulli", "probability": {"normal": [0.9, 0.5]}}})


def test_coins_need_a_policy_with_rounds():
    with pytest.raises(InputError, match=r"churn: bernoulli needs rounds"):
        load({"churn": {"kind": "bernoulli", "p_min": 0.5}, "server": {"policy": "asynchronous"}})
