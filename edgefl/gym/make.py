"""Environments of scenarios."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, TypedDict, Unpack

from edgefl import api
from edgefl.core.errors import InputError
from edgefl.core.section import nearest, shown
from edgefl.gym.actions import Actions, checked_parts
from edgefl.gym.environment import WorldEnv
from edgefl.gym.episodes import NO_PICTURES, Worlds
from edgefl.gym.observations import CSI, checked_entries
from edgefl.gym.rewards import Reward, RewardRule
from edgefl.python_calls import from_python
from edgefl.scenario import Scenario

ID = "edgefl/World-v0"  # for gymnasium.make


RenderMode = Literal["rgb_array"] | None


class EpisodeOptions(TypedDict, total=False):
    """Options of `make` about episodes."""

    train: bool
    overrides: Sequence[str]
    seed: int | None
    out: str | Path | None
    device: str
    new_worlds: bool
    max_episode_steps: int | None
    render_mode: RenderMode


@from_python
def make(
    scenario: str | Path | Mapping[str, Any] | Scenario,
    *,
    action: str | Sequence[str] = ("devices",),
    observation: str | Sequence[str] = ("view",),
    reward: RewardRule = "time",
    flat: bool = False,
    **episodes: Unpack[EpisodeOptions],
) -> WorldEnv:
    """Return an environment of Gymnasium where an agent decides instead of a scenario's server.

    An episode is a run of the scenario. A step is one round; in policies without rounds, it lasts until the agent can
    choose devices again.

    Args:
        scenario: as `edgefl.run` takes it.
        action: what the agent decides: devices (a mask of participants) or scores (the highest take part), bandwidth,
            clocks, powers. The scenario decides the rest.
        observation: what it sees: view (what a server may know), csi (the channel of the next round), or single
            entries of these (docs/gym.md).
        reward: time (minus seconds), energy (minus joules), accuracy (its gain; needs `train`), a mapping of these to
            weights, or a function of a row of rounds.csv.
        train: whether the devices learn; otherwise only times and energies are computed.
        overrides: "dotted.key=value" each.
        seed: replaces the scenario's seed, the seed of the first episode's world.
        out: folder for the result folders of episodes: episode-0001, episode-0002, ...
        device: where to train: auto, cpu, cuda or cuda:i.
        flat: actions are one vector of numbers in [-1, 1], part after part, as many learning libraries require; a
            device is chosen above 0, and other parts are scaled to their bounds.
        new_worlds: whether each episode has a new world; if not, all have the first one's.
        max_episode_steps: number of steps after which an episode is cut off (`truncated`); None: never.
        render_mode: None; or rgb_array, which Stable-Baselines3 always passes, and which is ignored: worlds have no
            pictures.

    Raises:
        InputError: the input is wrong.
    """
    parts = checked_parts(action)
    _check_names(episodes)
    worlds = _worlds(scenario, **episodes)
    worlds.check(parts)
    entries = _entries(observation, worlds)
    return WorldEnv(worlds, Actions(parts, worlds.scenario.devices.count, flat=flat), entries, _reward(reward, worlds))


def _check_names(options: Mapping[str, Any]) -> None:
    """Check the names of the other arguments."""
    known = ["action", "observation", "reward", "flat", *EpisodeOptions.__annotations__]
    for name in options:
        if name not in known:
            raise InputError(f"{name}: unknown argument{nearest(name, known)}; known: {', '.join(known)}")


def _worlds(
    scenario: str | Path | Mapping[str, Any] | Scenario,
    *,
    train: bool = False,
    overrides: Sequence[str] = (),
    seed: int | None = None,
    out: str | Path | None = None,
    device: str = "auto",
    new_worlds: bool = True,
    max_episode_steps: int | None = None,
    render_mode: RenderMode = None,
) -> Worlds:
    if render_mode not in {None, "rgb_array"}:
        raise InputError(f"render_mode: must be None, got {shown(render_mode)}: {NO_PICTURES}")
    if max_episode_steps is not None and max_episode_steps < 1:
        raise InputError(f"max_episode_steps: must be >= 1, got {max_episode_steps}")
    folder = None
    if out is not None:
        folder = Path(out).absolute()  # code from outside may change the working directory
    return Worlds(api.loaded(scenario, overrides, seed), train, device, folder, new_worlds, max_episode_steps)


def _entries(observation: str | Sequence[str], worlds: Worlds) -> tuple[str, ...]:
    entries = checked_entries(observation, batteries=worlds.scenario.devices.has_batteries, train=worlds.train)
    if worlds.scenario.radio.trace is not None and set(entries) & set(CSI):
        raise InputError(f"observation: {' and '.join(CSI)} need a channel model, and radio.trace has none")
    return entries


def _reward(rule: RewardRule, worlds: Worlds) -> Reward:
    reward = Reward(rule)
    if "accuracy" in reward.weights and not worlds.train:
        raise InputError("reward: accuracy needs a run that learns: set train=True, or reward time or energy")
    return reward
