"""Rewards of a step: its time, energy and gain of accuracy, weighted, or a function of a round's row."""

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from edgefl.core.errors import InputError
from edgefl.core.section import nearest
from edgefl.scenario.python_values import as_in_yaml

Row = Mapping[str, Any]
Weights = dict[str, float]
RewardRule = str | Mapping[str, float] | Callable[[Row], float]

SIGNS = {"time": -1.0, "energy": -1.0, "accuracy": 1.0}  # per second, joule, and share of the test set


class Reward:
    """The reward of a step.

    Args:
        rule: time, energy or accuracy; a mapping of these to weights; or a function of a row, whose values are summed
            over the rows that ended in the step.

    Raises:
        InputError: the rule is none of these.
    """

    def __init__(self, rule: RewardRule) -> None:
        self._of_row: Callable[[Row], float] | None = None
        self.weights: Weights = {}
        if callable(rule):
            self._of_row = rule
            return
        if isinstance(rule, str):
            rule = {rule: 1.0}
        if not isinstance(rule, Mapping) or not rule:
            raise InputError("reward: must be a name, a mapping of names to weights, or a function of a row")
        for name, weight in as_in_yaml(rule, "reward").items():
            if name not in SIGNS:
                raise InputError(f'reward: unknown "{name}"{nearest(name, SIGNS)}; known: {", ".join(SIGNS)}')
            if isinstance(weight, bool) or not isinstance(weight, int | float) or not math.isfinite(weight):
                raise InputError(f"reward: {name}: must be a finite number, got {weight!r}")
            self.weights[name] = float(weight)

    def of(self, amounts: Mapping[str, float], rows: Sequence[Row]) -> float:
        """Return the reward of a step.

        Args:
            amounts: seconds, joules and rise of the accuracy in the step.
            rows: the rows that ended in it.

        Raises:
            ValueError: the user's function did not return a finite number.
        """
        if self._of_row is None:
            return sum(weight * SIGNS[name] * amounts[name] for name, weight in self.weights.items())
        reward = 0.0
        for row in rows:
            value = self._of_row(row)
            try:
                reward += float(value)
            except (TypeError, ValueError):
                raise ValueError(f"reward: the function must return a number, got {type(value).__name__}") from None
        if not math.isfinite(reward):
            raise ValueError(f"reward: the function must return a finite number, got {reward}")
        return reward
