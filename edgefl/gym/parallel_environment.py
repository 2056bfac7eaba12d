"""The environment of many agents: each device decides about itself (PettingZoo's parallel API)."""

from collections.abc import Mapping
from typing import Any, ClassVar

import gymnasium
import numpy.typing as npt
from pettingzoo import ParallelEnv

from edgefl.gym.actions import Actions
from edgefl.gym.episode import Episode
from edgefl.gym.episodes import Ending, Episodes, Worlds
from edgefl.gym.observations import ENTRIES, Observation, observed, space_of
from edgefl.gym.rewards import Reward, Row
from edgefl.records.columns import ENERGY_COLUMNS

TIME_COLUMNS = ("setup_s", "download_s", "compute_s", "upload_s")


class ParallelWorldEnv(Ending, ParallelEnv[str, Observation, Any]):  # type: ignore[misc]  # PettingZoo has no types
    """A run of edgefl in which every device is an agent; `edgefl.gym.parallel` makes it.

    Args:
        worlds: the worlds of its episodes.
        actions: what the agents decide.
        entries: what an agent sees; of entries for each device, its own.
        reward: what an agent gets for a step.
    """

    metadata: ClassVar[dict[str, Any]] = {"render_modes": [], "name": "edgefl_world_v0", "is_parallelizable": True}

    def __init__(self, worlds: Worlds, actions: Actions, entries: tuple[str, ...], reward: Reward) -> None:
        self.possible_agents = [f"device_{device}" for device in range(worlds.scenario.devices.count)]
        self.agents: list[str] = []
        self.render_mode = None
        self.action_spaces = {agent: actions.space_of_one() for agent in self.possible_agents}
        self.observation_spaces = {agent: space_of(entries, 1) for agent in self.possible_agents}
        self._actions = actions
        self._entries = entries
        self._reward = reward
        self._episodes = Episodes(worlds)

    def observation_space(self, agent: str) -> gymnasium.Space[Any]:
        """Return what an agent can see."""
        return self.observation_spaces[agent]

    def action_space(self, agent: str) -> gymnasium.Space[Any]:
        """Return what an agent can decide."""
        return self.action_spaces[agent]

    def reset(
        self, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[dict[str, Observation], dict[str, dict[str, Any]]]:
        """Begin an episode in the world of a seed, as `WorldEnv.reset` does; all agents are present until it ends.

        Raises:
            InputError: the seed is not one; the episode under way goes on.
            RunError: the run failed before its first decision.
        """
        episode = self._episodes.begin(seed)
        self.agents = list(self.possible_agents)
        return self._seen(episode), {agent: {"seed": episode.seed} for agent in self.agents}

    def step(
        self, actions: dict[str, Any]
    ) -> tuple[dict[str, Observation], dict[str, float], dict[str, bool], dict[str, bool], dict[str, dict[str, Any]]]:
        """Let each agent decide, and let time pass to the next decision.

        Each agent's info has `row`, its last participation that ended in this step, if there is one, and `seed`,
        `time_s` and `energy_j` of the whole world.

        Raises:
            ValueError: an action is missing, or not in the space; the episode has not changed.
            ResetNeeded: no episode is under way.
            RunError: the run failed; `result` has its finished rounds.
        """
        episode = self._episodes.under_way
        missing = [agent for agent in self.agents if agent not in actions]
        if missing:
            raise ValueError(f"actions: {missing[0]} is missing: give an action for each agent in each step")
        decision = self._actions.joint_decision({agent: actions[agent] for agent in self.agents})
        passed = self._episodes.step(decision)
        own_rows: dict[str, list[Row]] = {agent: [] for agent in self.agents}
        for columns in passed.step.participants:
            for row in _rows(columns):
                own_rows[f"device_{row['device']}"].append(row)
        world = {"seed": episode.seed, "time_s": episode.time_s, "energy_j": episode.energy_j}
        rewards = {}
        infos: dict[str, dict[str, Any]] = {}
        for agent, rows in own_rows.items():
            rewards[agent] = self._reward.of(_amounts(rows), rows)
            infos[agent] = dict(world)
            if rows:
                infos[agent]["row"] = rows[-1]
        terminated = dict.fromkeys(self.agents, passed.terminated)
        truncated = dict.fromkeys(self.agents, passed.truncated)
        seen = self._seen(episode)
        if passed.terminated or passed.truncated:
            self.agents = []
        return seen, rewards, terminated, truncated, infos

    def _seen(self, episode: Episode) -> dict[str, Observation]:
        seen = observed(self._entries, episode.moment)
        of_agents = {}
        for device, agent in enumerate(self.possible_agents):
            of_agents[agent] = dict(seen)
            for name, values in seen.items():
                if ENTRIES[name].per_device:
                    of_agents[agent][name] = values[device : device + 1]
        return of_agents


def _rows(columns: Mapping[str, npt.NDArray[Any]]) -> list[Row]:
    """Return columns [n] of devices.csv as rows."""
    values = [column.tolist() for column in columns.values()]
    return [dict(zip(columns, row, strict=True)) for row in zip(*values, strict=True)]


def _amounts(rows: list[Row]) -> dict[str, float]:
    """Return the seconds that a device was busy with its participations, and the joules that it spent on them."""
    busy_s = sum(row.get(name, 0.0) for row in rows for name in TIME_COLUMNS)
    spent_j = sum(row.get(name, 0.0) for row in rows for name in ENERGY_COLUMNS)
    return {"time": float(busy_s), "energy": float(spent_j)}
