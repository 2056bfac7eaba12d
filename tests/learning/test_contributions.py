"""Contributions of devices whose stored updates count (FedAR paper, Fig. 1): games on quadratics, by hand."""

import numpy as np
import pytest

import edgefl
from edgefl.core.errors import InputError
from edgefl.learning.learner.shapley import shapley
from edgefl.scenario import load

COEFFICIENTS = [[0.5, -1, 0], [0.5, 3, 0], [2, 1, 0], [1, 0, 0]]
A, B, _ = np.array(COEFFICIENTS).T
LR = 0.1
X0 = 2.0
ROUNDS = [[0, 2], [0, 1]]  # in the second one device 2 is stale, and device 3 was never heard
STALE = 2
QUADRATIC = {
    "rounds": 2,
    "data": {"dataset": "quadratic", "coefficients": COEFFICIENTS},
    "model": {"init": {"kind": "value", "value": X0}},
    "training": {"local_steps": 1, "batch_size": "full", "lr": LR, "engine": "serial"},
    "server": {"selection": {"kind": "schedule", "rounds": ROUNDS}},
    "report": {"contributions": {"every": 2, "value": "loss", "players": "all"}},
}


def gradients(x):
    return 2 * A * x + B


def fedar(x, old, new, some):
    """psi is 1 for fresh updates and 2^rho for the one of age 1; divided by those who count."""
    psi = {i: 1.0 if i in new else 2**0.1 for i in some}
    return x - LR * sum(psi[i] * new.get(i, old.get(i)) for i in some) / len(some)


def mifa(x, old, new, some):
    return x - LR * sum(new.get(i, old.get(i)) for i in some) / 4


def fedvarp(x, old, new, some):
    """The mean over all of what is stored, and that of what is new in the participants of the coalition."""
    step = sum(old.get(i, 0.0) for i in some) / 4
    fresh = [new[i] - old.get(i, 0.0) for i in some if i in new]
    if fresh:
        step += np.mean(fresh)
    return x - LR * step


@pytest.mark.parametrize("rule", [fedar, mifa, fedvarp])
def test_a_stale_device_is_a_player(rule):
    """Against the definition on scalars; the values add up to v(all) - v(none), the gain of the round."""
    result = edgefl.run({**QUADRATIC, "algorithm": rule.__name__})
    old = {i: gradients(X0)[i] for i in ROUNDS[0]}
    x = result.rounds["parameter"][0]
    assert x == pytest.approx(rule(X0, {}, old, ROUNDS[0]))
    new = {i: gradients(x)[i] for i in ROUNDS[1]}

    def value(some):
        model = rule(x, old, new, some) if some else x
        return -np.mean(A * model**2 + B * model)

    rows = result.contributions
    assert rows["device"].tolist() == [0, 1, STALE]
    assert rows["contribution"].to_numpy() == pytest.approx(shapley(3, value), rel=1e-9)
    loss = result.rounds["test_loss"]
    assert rows["contribution"].sum() == pytest.approx(loss[0] - loss[1], rel=1e-9)


def test_a_device_with_too_old_an_update_is_not_a_player():
    """With a cut-off of one round fresh updates alone count."""
    result = edgefl.run({**QUADRATIC, "algorithm": {"kind": "fedar", "cutoff_rule": "constant", "cutoff": 1.0}})
    assert result.contributions["device"].tolist() == ROUNDS[1]


@pytest.mark.parametrize("algorithm", ["fedavg", "scaffold", {"kind": "mifa", "state": "client"}])
def test_without_stored_updates_only_participants_are_players(algorithm):
    with pytest.raises(InputError, match=r"report\.contributions: needs each device's last update, which"):
        load({"algorithm": algorithm, "report": {"contributions": {"players": "all"}}})


def test_players_change_nothing_that_is_learned():
    keys = {**QUADRATIC, "algorithm": "fedvarp"}
    with_them = edgefl.run(keys)
    without = edgefl.run({**keys, "report": {}})
    assert with_them.rounds.equals(without.rounds)
