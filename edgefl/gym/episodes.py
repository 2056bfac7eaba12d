"""The episodes of an environment: their worlds, the episode under way, and the results of the last one."""

from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from gymnasium.error import ResetNeeded

from edgefl.core.errors import InputError
from edgefl.core.files import new_folder
from edgefl.core.section import shown
from edgefl.gym.decisions import Decision
from edgefl.gym.episode import Episode, Step
from edgefl.radio.allocation import ALLOCATIONS
from edgefl.results.result import Result
from edgefl.runs.emulation import Options
from edgefl.scenario import Scenario

NO_PICTURES = "worlds have no pictures; `result()` has an episode's tables, and `edgefl.report` draws its page"
SEEDS = 2**63  # as many as a scenario's key has

RESOURCES = {"bandwidth", "clocks", "powers"}  # parts of an action that an optimiser would decide


@dataclass(frozen=True)
class Worlds:
    """The worlds of an environment, one for each episode."""

    scenario: Scenario
    train: bool = False  # whether anything is learned
    device: str = "auto"  # where to train
    out: Path | None = None  # folder of the episodes' result folders; None keeps results in memory
    new: bool = True  # whether every episode has a new world; if not, all have the first one's
    max_steps: int | None = None  # number of steps after which an episode is cut off; None: never

    def check(self, parts: tuple[str, ...]) -> None:
        """Check that an agent can decide these parts of an action in this scenario.

        Raises:
            InputError: it cannot.
        """
        server = self.scenario.server
        if server.selection.polls and {"clocks", "powers"} & set(parts):
            raise InputError(
                "action: clocks and powers are decided after server.selection has polled devices, which then already "
                "compute and send: leave them out, or choose another selection"
            )
        if server.optimiser.decides and RESOURCES & set(parts):
            raise InputError(
                "action: bandwidth, clocks and powers are decided by server.optimiser: leave them out, or the optimiser"
            )
        if self.scenario.radio.allocation.by_forecast and RESOURCES & set(parts):
            name = ALLOCATIONS.name_of(self.scenario.radio.allocation)
            text = f"radio.allocation: {name} needs the values that it forecasts"
            raise InputError(f"action: bandwidth, clocks and powers: {text}: leave them out")
        if server.policy.splits_model and "clocks" in parts:
            raise InputError("action: clocks: with the policy split, clocks are always the highest: leave it out")

    def begin(self, first_seed: int, number: int) -> Episode:
        """Begin episode `number`, from 0, after a first seed."""
        seed = world_seed(first_seed, number if self.new else 0)
        scenario = self.scenario.model_copy(update={"seed": seed})
        if self.out is None:
            return Episode(scenario, Options(None, self.device, self.train))
        out = self.out
        with new_folder(out / f"episode-{place:04d}" for place in count(1)) as folder:
            return Episode(scenario, Options(folder, self.device, self.train))


class Passed(NamedTuple):
    """A step, and whether it ended the episode."""

    step: Step
    terminated: bool  # the run has ended
    truncated: bool  # it was cut off


class Episodes:
    """Counts episodes and steps, and keeps the results of the last episode that has ended."""

    def __init__(self, worlds: Worlds) -> None:
        self._worlds = worlds
        self._first_seed = worlds.scenario.seed
        self._number = -1  # of the episode since the first seed, from 0
        self._steps = 0
        self._episode: Episode | None = None
        self._result: Result | None = None

    @property
    def under_way(self) -> Episode:
        """The episode under way.

        Raises:
            ResetNeeded: there is none.
        """
        if self._episode is None or self._episode.result is not None:
            raise ResetNeeded("no episode is under way: call reset")
        return self._episode

    @property
    def result(self) -> Result:
        """The results of the last episode that has ended.

        Raises:
            ResetNeeded: none has ended.
        """
        if self._result is None:
            raise ResetNeeded("no episode has ended yet, so there is no result")
        return self._result

    def begin(self, seed: int | None) -> Episode:
        """Begin the next episode, in the world of a seed if one is given.

        Raises:
            InputError: the seed is not one; the episode under way goes on.
            RunError: the run failed before its first decision.
        """
        if seed is not None:
            seed = checked_seed(seed)
        self.give_up()
        self._number += 1
        if seed is not None:
            self._first_seed = seed
            self._number = 0
        self._steps = 0
        self._episode = self._worlds.begin(self._first_seed, self._number)
        self._note_end(self._episode)
        return self._episode

    def step(self, decision: Decision) -> Passed:
        """Continue with a decision.

        Raises:
            ResetNeeded: no episode is under way.
            RunError: the run failed; `result` has its finished rounds.
        """
        episode = self.under_way
        try:
            happened = episode.step(decision)
        finally:
            self._note_end(episode)
        self._steps += 1
        terminated = episode.result is not None
        truncated = not terminated and self._worlds.max_steps is not None and self._steps >= self._worlds.max_steps
        if truncated:
            episode.end()
            self._note_end(episode)
        return Passed(happened, terminated, truncated)

    def give_up(self) -> None:
        """End the episode under way, if there is one; its rounds are written if there is a folder for them."""
        if self._episode is not None and self._episode.result is None:
            if self._worlds.out is None:
                self._episode.drop()
            else:
                self._result = self._episode.end()
        self._episode = None

    def _note_end(self, episode: Episode) -> None:
        if episode.result is not None:
            self._result = episode.result


def checked_seed(seed: Any) -> int:
    """Return the seed of a world, which may be a whole number of NumPy's.

    Raises:
        InputError: it is not one.
    """
    if not isinstance(seed, int | np.integer) or isinstance(seed, bool):
        raise InputError(f"reset: seed: must be a whole number or None, got {shown(seed)}")
    if not 0 <= seed < SEEDS:
        raise InputError(f"reset: seed: must be from 0 to 2^63 - 1, got {seed}")
    return int(seed)


def world_seed(first: int, episode: int) -> int:
    """Return the seed of an episode's world, from 0: the first seed is given, and all others follow from it.

    Neighbouring first seeds give unrelated worlds, so that parallel environments do not have the same ones.
    """
    if episode == 0:
        return first
    return int(np.random.SeedSequence([first, episode]).generate_state(1, np.uint64)[0] >> 1)
