"""Shapley values: the axioms, games with known values, and what participants contribute to a run."""

import json
from itertools import permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import edgefl
from edgefl.core.errors import InputError
from edgefl.learning.learner.shapley import EXACT, sampled, shapley
from edgefl.scenario import load


def table(worth):
    """The game whose coalitions are worth this [2^n]."""
    return lambda some: worth[sum(1 << player for player in some)]


GAMES = st.integers(1, 5).flatmap(
    lambda n: st.lists(st.floats(-10, 10), min_size=2**n, max_size=2**n).map(lambda worth: (n, worth))
)


@pytest.mark.oracle
@given(GAMES)
def test_the_mean_gain_over_all_orders_and_efficiency(game):
    """By the definition: over all n! orders; the values add up to v(all) - v(none)."""
    players, worth = game
    values = shapley(players, table(worth))
    orders = np.array(list(permutations(range(players))))
    assert values == pytest.approx(sampled(orders, table(worth)), abs=1e-9)
    assert values.sum() == pytest.approx(worth[-1] - worth[0], abs=1e-9)


def test_equal_players_a_null_player_and_an_additive_game():
    """v = (number of players but the last)^2: all but the last are alike, the last adds nothing."""
    values = shapley(4, lambda some: len(set(some) - {3}) ** 2)
    assert values == pytest.approx([3, 3, 3, 0], abs=1e-12)
    assert shapley(3, lambda some: 7 + sum((1, 2, 4)[i] for i in some)) == pytest.approx([1, 2, 4])


def test_the_glove_game():
    """One left glove, two right ones; a pair is worth 1: 2/3, 1/6, 1/6 (Shapley 1953)."""
    values = shapley(3, lambda some: float(0 in some and len(some) > 1))
    assert values == pytest.approx([2 / 3, 1 / 6, 1 / 6])


def test_random_orders_come_near():
    """Ten players, v = sqrt(weights): within four standard errors of the exact values, and the sum is exact."""
    weights = np.arange(1.0, 11.0)

    def value(some):
        return float(np.sqrt(weights[list(some)].sum()))

    orders = np.random.default_rng(5).permuted(np.tile(np.arange(10), (2000, 1)), axis=1)
    estimates = sampled(orders, value)
    exact = shapley(10, value)
    assert estimates.sum() == pytest.approx(np.sqrt(55))
    assert np.abs(estimates - exact).max() < 4 * 1.0 / np.sqrt(2000)  # a gain's deviation is below 1
    assert np.argsort(estimates).tolist() == list(range(10))


def test_each_coalition_is_valued_once():
    asked = []
    sampled(np.array([[0, 1, 2], [1, 0, 2], [0, 1, 2]]), lambda some: float(asked.append(some) or len(some)))
    assert sorted(asked) == [(), (0,), (0, 1), (0, 1, 2), (1,)]


# In a run

QUADRATIC = {
    "rounds": 3,
    "data": {"dataset": "quadratic", "coefficients": [[0.5, -1, 0], [0.5, 3, 0], [0.5, 3, 0], [1, 0, 0]]},
    "model": {"init": {"kind": "value", "value": 2.0}},
    "training": {"local_steps": 2, "batch_size": "full", "lr": 0.1, "engine": "serial"},
    "algorithm": {"kind": "fedavg", "weighting": "uniform"},
    "report": {"contributions": {"every": 2, "value": "loss"}},
}


def test_contributions_of_quadratics_by_hand():
    """In round 2, against the definition on scalars; devices 1 and 2 are alike."""
    result = edgefl.run(QUADRATIC)
    a, b, _ = np.array(QUADRATIC["data"]["coefficients"]).T
    x = result.rounds["parameter"][0]
    moved = np.full(4, x)
    for _ in range(2):
        moved -= 0.1 * (2 * a * moved + b)

    def value(some):
        model = moved[list(some)].mean() if some else x
        return -np.mean(a * model**2 + b * model)

    rows = result.contributions
    assert rows[["session", "round", "device"]].to_numpy().tolist() == [[1, 2, device] for device in range(4)]
    assert rows["contribution"].to_numpy() == pytest.approx(shapley(4, value), rel=1e-9)
    assert rows["contribution"][1] == pytest.approx(rows["contribution"][2])
    gain = result.rounds["test_loss"][0] - result.rounds["test_loss"][1]
    assert rows["contribution"].sum() == pytest.approx(gain, rel=1e-9)


DIGITS = {
    "rounds": 2,
    "data": {"dataset": "digits", "partition": {"kind": "dirichlet"}},
    "model": "logistic",
    "training": {"local_steps": 3, "engine": "serial"},
    "devices": {"count": EXACT + 3},
}


@pytest.mark.oracle
@pytest.mark.parametrize(
    ("algorithm", "participants"), [("fedavg", 3), ("mifa", 3), ("feddyn", 3), ("fedasync", 3), ("fedavg", EXACT + 2)]
)
def test_contributions_add_up_and_change_nothing(algorithm, participants):
    """To the accuracy that a round has gained, whatever aggregates; also where only some orders are drawn."""
    keys = {**DIGITS, "algorithm": algorithm, "server": {"participants": participants}}
    with_them = edgefl.run({**keys, "report": {"contributions": {"every": 1, "permutations": 3}}})
    without = edgefl.run(keys)
    assert with_them.rounds.equals(without.rounds)
    assert np.array_equal(with_them.parameters, without.parameters)
    gained = with_them.contributions.groupby("round")["contribution"].sum()
    accuracy = with_them.rounds["test_accuracy"]
    assert gained[2] == pytest.approx(accuracy[1] - accuracy[0], abs=1e-12)
    assert with_them.contributions.groupby("round").size().tolist() == [participants] * 2
    assert without.contributions.empty


@pytest.mark.oracle
def test_contributions_on_disk(tmp_path):
    keys = {**DIGITS, "server": {"participants": 3}, "report": {"contributions": {"every": 2}}}
    result = edgefl.run(keys, out=tmp_path / "run")
    lines = (tmp_path / "run" / "contributions.csv").read_text().splitlines()
    assert lines[0] == "session,round,device,contribution"
    assert len(lines) == 1 + 3 == 1 + len(result.contributions)
    assert "contributions.csv" in json.loads((tmp_path / "run" / "manifest.json").read_text())["digests"]


@pytest.mark.parametrize("policy", ["sequential", "hierarchical"])
def test_contributions_where_updates_do_not_meet(policy):
    with pytest.raises(
        InputError,
        match=rf"report\.contributions: needs updates that are aggregated .* {policy} are",
    ):
        load({"server": {"policy": policy}, "report": {"contributions": {}}})


def test_accuracy_needs_labels():
    with pytest.raises(InputError, match=r"report\.contributions: the value accuracy needs samples with classes"):
        edgefl.run({**QUADRATIC, "report": {"contributions": {}}})
