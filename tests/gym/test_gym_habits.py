"""Environments as users of Gymnasium call them: render modes, seeds, wrappers, vectors."""

import copy

import gymnasium
import numpy as np
import pytest
import torch
from gymnasium import wrappers
from server_cases import BASE

import edgefl.gym
from edgefl.core.errors import InputError

WORLD = {**BASE, "rounds": 3, "server": {"participants": 6}}
ID = "edgefl/World-v0"


def by_name(scenario, **options):
    return gymnasium.make(ID, scenario=scenario, **options)


def steps_of(env):
    """Return how many steps an episode with drawn actions has, and the last info."""
    env.reset(seed=1)
    for count in range(1, 100):
        _, _, terminated, truncated, info = env.step(env.action_space.sample())
        if terminated or truncated:
            return count, info
    raise AssertionError("the episode does not end")


@pytest.mark.parametrize("make", [by_name, edgefl.gym.make])
def test_only_the_render_mode_of_stable_baselines_is_ignored_and_others_are_one_line(make):
    for mode in (None, "rgb_array"):
        assert make(WORLD, render_mode=mode).render_mode is None
    for mode in ("human", "ansi"):
        with pytest.raises(InputError) as error:
            make(WORLD, render_mode=mode)
        (line,) = error.value.faults
        assert line.startswith(f'render_mode: must be None, got "{mode}": worlds have no pictures')


def test_rendering_warns_and_the_episode_goes_on():
    env = edgefl.gym.make(WORLD)
    with pytest.warns(UserWarning, match="worlds have no pictures"):
        assert env.render() is None
    env.reset()
    env.close()
    env.close()
    env.reset(seed=None)


def test_a_seed_of_numpy_is_that_of_the_world():
    found = []
    for seed in (5, np.int64(5)):
        _, info = edgefl.gym.make(WORLD).reset(seed=seed)
        found.append(info["seed"])
    assert found == [5, 5]


@pytest.mark.parametrize(
    ("seed", "message"),
    [
        (-1, r"must be from 0 to 2\^63 - 1, got -1"),
        (2**63, r"must be from 0 to 2\^63 - 1, got 9223372036854775808"),
        ("3", 'must be a whole number or None, got "3"'),
        (3.5, "must be a whole number or None, got 3.5"),
        (True, "must be a whole number or None, got true"),
    ],
)
def test_another_seed_is_one_line_and_the_episode_goes_on(seed, message):
    env = edgefl.gym.make(WORLD)
    env.reset(seed=1)
    with pytest.raises(InputError, match=f"^reset: seed: {message}$"):
        env.reset(seed=seed)
    env.step(env.follow())


WRAPPERS = {
    "statistics": wrappers.RecordEpisodeStatistics,
    "rewards": wrappers.NormalizeReward,
    "flat": wrappers.FlattenObservation,
    "observations": lambda env: wrappers.NormalizeObservation(wrappers.FlattenObservation(env)),
    "limit": lambda env: wrappers.TimeLimit(env, 3),
}


@pytest.mark.parametrize("name", WRAPPERS)
def test_wrappers_leave_the_length_of_episodes(name):
    env = WRAPPERS[name](edgefl.gym.make(WORLD))
    assert steps_of(env)[0] == 3
    assert env.unwrapped.result().status == "finished"


@pytest.mark.oracle
def test_the_checks_of_stable_baselines_pass():
    checker = pytest.importorskip("stable_baselines3.common.env_checker")
    checker.check_env(edgefl.gym.make(WORLD, flat=True), warn=False)


def test_recorded_statistics_are_those_of_the_rows():
    env = wrappers.RecordEpisodeStatistics(edgefl.gym.make(WORLD))
    length, info = steps_of(env)
    assert info["episode"]["l"] == length == 3
    assert info["episode"]["r"] == pytest.approx(-info["time_s"], rel=1e-5)


def test_a_vector_of_environments_is_made_by_name():
    both = gymnasium.make_vec(ID, num_envs=2, vectorization_mode="sync", scenario=WORLD, render_mode=None)
    _, info = both.reset(seed=4)
    assert info["seed"].tolist() == [4, 5]
    for _ in range(7):  # across the end of an episode
        both.step(both.action_space.sample())
    both.close()


def test_an_environment_under_way_cannot_be_copied():
    env = edgefl.gym.make(WORLD)
    env.reset(seed=3)
    with pytest.raises(TypeError):
        copy.deepcopy(env)
    twin = edgefl.gym.make(WORLD)  # what a tree search makes in its place
    twin.reset(seed=3)
    assert env.step(env.follow())[1] == twin.step(twin.follow())[1]


@pytest.mark.parametrize("weight", [np.float32(2.0), np.int64(2), np.array(2.0), torch.tensor(2.0)])
def test_weights_of_a_reward_may_be_scalars_of_numpy_and_torch(weight):
    def first_reward(reward):
        env = edgefl.gym.make(WORLD, action="clocks", reward=reward)
        env.reset(seed=1)
        return env.step(env.follow())[1]

    assert first_reward({"time": weight}) == 2.0 * first_reward("time") < 0
