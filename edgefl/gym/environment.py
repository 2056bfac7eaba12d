"""The environment of one agent, the server, which decides about all devices."""

from typing import Any

import gymnasium

from edgefl.gym.actions import Actions
from edgefl.gym.episodes import NO_PICTURES, Episodes, Worlds
from edgefl.gym.observations import Observation, observed, space_of
from edgefl.gym.rewards import Reward
from edgefl.results.result import Result


class WorldEnv(gymnasium.Env[Any, Any]):
    """A run of edgefl as an environment of Gymnasium; `edgefl.gym.make` makes it.

    Args:
        worlds: the worlds of its episodes.
        actions: what the agent decides.
        entries: what the agent sees.
        reward: what the agent gets for a step.
    """

    metadata: dict[str, Any] = {"render_modes": []}  # noqa: RUF012 - declared so by Gymnasium

    def __init__(self, worlds: Worlds, actions: Actions, entries: tuple[str, ...], reward: Reward) -> None:
        self.action_space = actions.space
        self.observation_space = space_of(entries, worlds.scenario.devices.count)
        self.render_mode = None
        self._actions = actions
        self._entries = entries
        self._reward = reward
        self._episodes = Episodes(worlds)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Observation, dict[str, Any]]:
        """Begin an episode in the world of a seed; an episode under way is abandoned.

        Args:
            seed: of the world, as `edgefl run --seed` takes it; None: the first episode takes the scenario's, and each
                later one a seed that follows from the last given one. `info["seed"]` has it.
            options: not used.

        Raises:
            InputError: the seed is not one; the episode under way goes on.
            RunError: the run failed before its first decision.
        """
        episode = self._episodes.begin(seed)
        if seed is not None:
            seed = int(seed)  # Gymnasium takes no integers of NumPy
        super().reset(seed=seed)
        return observed(self._entries, episode.moment), {"seed": episode.seed, "time_s": 0.0, "energy_j": 0.0}

    def step(self, action: Any) -> tuple[Observation, float, bool, bool, dict[str, Any]]:
        """Decide, and let time pass to the next decision.

        Returns:
            The observation, the reward, whether the run has ended, whether `max_episode_steps` has cut it off, and an
            info: the `rows` of rounds.csv that ended and the last `row` of them, if any, `elapsed_s` and `spent_j` in
            this step, `time_s` and `energy_j` so far.

        Raises:
            ValueError: the action is not in the space; the episode has not changed.
            ResetNeeded: no episode is under way.
            RunError: the run failed; `result` has its finished rounds.
        """
        episode = self._episodes.under_way
        passed = self._episodes.step(self._actions.decision(action))
        step = passed.step
        # Without values that were not measured: vectorised environments stack their infos, which None would prevent.
        rows = [{name: value for name, value in row.items() if value is not None} for row in step.rows]
        info = {
            "rows": rows,
            "elapsed_s": step.elapsed_s,
            "spent_j": step.spent_j,
            "time_s": episode.time_s,
            "energy_j": episode.energy_j,
            "seed": episode.seed,
        }
        if rows:
            info["row"] = rows[-1]
        reward = self._reward.of(step.amounts, step.rows)
        return observed(self._entries, episode.moment), reward, passed.terminated, passed.truncated, info

    def follow(self) -> Any:
        """Return the action that equals the choice of the scenario's selection.

        Where the agent divides the band, the shares are equal; clocks are the highest, powers those of the scenario.

        Raises:
            ResetNeeded: no episode is under way.
        """
        return self._actions.following(self._episodes.under_way.moment.choice)

    def result(self) -> Result:
        """Return the results of the last episode that has ended, as `edgefl.run` returns them.

        Raises:
            ResetNeeded: none has ended.
        """
        return self._episodes.result

    def render(self) -> None:
        """Warn that worlds have no pictures."""
        gymnasium.logger.warn(f"render: {NO_PICTURES}")

    def close(self) -> None:
        """Abandon the episode under way."""
        self._episodes.give_up()
