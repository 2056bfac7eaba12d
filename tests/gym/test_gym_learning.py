"""An agent of Stable-Baselines3 finds the optimum of a problem whose optimum is known in closed form."""

import numpy as np
import pytest
from server_cases import BASE, STILL

import edgefl.gym

FLOPS = 1e9  # of a participant's training: a second at the highest clock
CAPACITANCE = 1e-28
BEST_HZ = 0.4e9
# Two devices minimise T + w E per round, with T = D + C / f and E = 2 k C f^2 + radio: f^3 = 1 / (4 w k).
WEIGHT = 1.0 / (4.0 * CAPACITANCE * BEST_HZ**3)
WORLD = {
    **BASE,
    "rounds": 5,
    "model": {"kind": "mlp", "cost": {"parameters": 20_000, "flops_per_parameter": FLOPS / 20_000}},
    "devices": {"count": 2, "cpu_hz": 1e9, "flops_per_cycle": 1.0, "capacitance": CAPACITANCE},
    "radio": {**STILL, "bandwidth_hz": 20e6},
    "mobility": {"kind": "static"},
    "server": {"participants": 2},
}
ARGUMENTS = {"action": "clocks", "observation": ("round_trip_s", "energy_j"), "reward": {"time": 1.0, "energy": WEIGHT}}


def cost_of(env, choose):
    """The cost of an episode, which is its reward's opposite."""
    seen, _ = env.reset(seed=1)
    cost = 0.0
    ended = False
    while not ended:
        seen, reward, ended, _, _ = env.step(choose(seen))
        cost -= reward
    return cost


def closed_form(env):
    """The least cost of an episode; the radio's part is that of any run, as clocks do not change it."""
    rows = env.result().devices
    radio_s = rows[["download_s", "upload_s"]].sum(axis=1).groupby(rows["round"]).max().sum()
    radio_j = rows[["rx_energy_j", "tx_energy_j"]].to_numpy().sum()
    flops = 5 * FLOPS  # of a device in five rounds
    compute_j = 2 * CAPACITANCE * flops * BEST_HZ**2
    return radio_s + flops / BEST_HZ + WEIGHT * (radio_j + compute_j)


@pytest.mark.oracle
def test_the_closed_form_is_what_the_world_charges_and_its_neighbours_cost_more():
    env = edgefl.gym.make(WORLD, **ARGUMENTS)
    cost = cost_of(env, lambda _: np.full(2, BEST_HZ / 1e9))
    assert cost == pytest.approx(closed_form(env), rel=1e-3)  # the radio of both devices takes nearly the same time
    for clocks in ([0.38, 0.4], [0.4, 0.42], [0.37, 0.37], [0.43, 0.43]):
        assert cost_of(env, lambda _, clocks=clocks: np.array(clocks)) > cost


@pytest.mark.slow
def test_stable_baselines3_reaches_95_percent_of_the_optimum():
    from stable_baselines3 import PPO
    from stable_baselines3.common.env_checker import check_env

    env = edgefl.gym.make(WORLD, **ARGUMENTS, flat=True, new_worlds=False)
    check_env(env)
    agent = PPO(
        "MultiInputPolicy",
        env,
        n_steps=64,
        learning_rate=1e-2,
        gamma=0.0,  # a round's clocks change nothing in later rounds
        policy_kwargs={"log_std_init": -0.7},
        seed=1,
        device="cpu",
    )
    untrained = cost_of(env, lambda seen: agent.predict(seen, deterministic=True)[0])
    highest = cost_of(env, lambda _: np.ones(2))
    agent.learn(2000)
    trained = cost_of(env, lambda seen: agent.predict(seen, deterministic=True)[0])
    optimum = closed_form(env)
    assert optimum / highest < 0.6  # the scenario's own clocks are far from it
    assert trained < untrained
    assert 0.95 <= optimum / trained <= 1.001
