"""PettingZoo's parallel environments: every device decides about itself."""

import numpy as np
import pytest
from pettingzoo.test import parallel_api_test
from server_cases import BASE, assert_same

import edgefl
import edgefl.gym
from edgefl.core.errors import InputError

WORLD = {**BASE, "rounds": 3, "server": {"participants": 6}}
ENERGY = ["rx_energy_j", "cpu_energy_j", "tx_energy_j", "idle_energy_j"]


def play(env, choose, seed=None):
    """Play an episode; return what each step returned."""
    seen, _ = env.reset(seed=seed)
    steps = []
    while env.agents:
        steps.append(env.step({agent: choose(env, agent, seen[agent]) for agent in env.agents}))
        seen = steps[-1][0]
        for agent, values in seen.items():
            assert env.observation_space(agent).contains(values)
    return steps


@pytest.mark.parametrize(
    "arguments",
    [
        {},
        {"action": ("devices", "bandwidth"), "flat": True, "observation": ("view", "csi")},
        {"action": "scores", "overrides": ["server.policy=asynchronous"], "max_episode_steps": 7},
    ],
)
def test_pettingzoos_own_checks_pass(arguments, capsys):
    parallel_api_test(edgefl.gym.parallel(WORLD, **arguments), num_cycles=60)
    assert "Passed" in capsys.readouterr().out


@pytest.mark.parametrize("policy", ["synchronous", "asynchronous"])
def test_devices_together_decide_as_one_agent_would(policy):
    world = {**WORLD, "rounds": 6, "server": {"participants": 6, "policy": policy}}
    actions = ("devices", "clocks", "powers", "bandwidth")
    alone = edgefl.gym.make(world, action=actions)
    together = edgefl.gym.parallel(world, action=actions)
    alone.action_space.seed(2)
    alone.reset()
    together.reset()
    ended = False
    while not ended:
        action = alone.action_space.sample()
        seen, _, ended, _, info = alone.step(action)
        of_each = {
            agent: {part: action[part][device : device + 1] for part in actions}
            for device, agent in enumerate(together.agents)
        }
        own, _, ends, _, infos = together.step(of_each)
        for device, agent in enumerate(together.possible_agents):
            assert ends[agent] == ended
            assert infos[agent]["time_s"] == info["time_s"]
            assert own[agent]["round_trip_s"] == seen["round_trip_s"][device]
            assert own[agent]["time_s"] == seen["time_s"]
    assert_same(alone.result(), together.result())


def test_rewards_are_what_each_device_spent():
    env = edgefl.gym.parallel(WORLD, reward={"energy": 1.0, "time": 3.0})
    steps = play(env, lambda env, agent, _: env.action_space(agent).sample())
    devices = env.result().devices
    expected = -devices[ENERGY].sum(axis=1) - 3.0 * devices[["download_s", "compute_s", "upload_s"]].sum(axis=1)
    by_device = expected.groupby(devices["device"]).sum()
    for device in range(20):
        total = sum(rewards[f"device_{device}"] for _, rewards, *_ in steps)
        assert total == pytest.approx(by_device.get(device, 0.0), rel=1e-12)
    energy = edgefl.gym.parallel(WORLD)
    steps = play(energy, lambda *_: {"devices": 1, "clocks": [1.0], "powers": [1.0]})
    spent_j = -sum(sum(rewards.values()) for _, rewards, *_ in steps)
    assert spent_j == pytest.approx(energy.result().summary["energy_j"], rel=1e-12)
    rows = [info["device_4"]["row"] for *_, info in steps]
    assert [row["device"] for row in rows] == [4, 4, 4]


def test_a_wrong_action_names_the_agent():
    env = edgefl.gym.parallel(WORLD, action=("devices", "clocks"))
    env.reset()
    right = {agent: {"devices": 1, "clocks": np.ones(1)} for agent in env.agents}
    with pytest.raises(ValueError, match="actions: device_3 is missing"):
        env.step({agent: action for agent, action in right.items() if agent != "device_3"})
    with pytest.raises(ValueError, match="device_5: action: clocks: holds NaN at 0"):
        env.step({**right, "device_5": {"devices": 1, "clocks": [np.nan]}})
    env.step(right)
    env.close()
    with pytest.raises(InputError, match='reward: unknown "accuracy"; known: time, energy'):
        edgefl.gym.parallel(WORLD, reward="accuracy", train=True)
