"""Actions of agents, as spaces of Gymnasium."""

from collections.abc import Mapping, Sequence
from typing import Any

import gymnasium
import numpy as np
from gymnasium import spaces

from edgefl.core.arrays import Floats
from edgefl.core.errors import InputError
from edgefl.core.section import nearest, shown
from edgefl.gym.decisions import Decision
from edgefl.world.control import Choice

ROUNDING = 1e-6  # how far an action of 32 bits may exceed a bound
MOST_SHOWN = 5  # devices that a message names

PARTS = {
    "devices": 0.0,  # a mask of the participants
    "scores": 0.0,  # the highest scores take part, as many as the scenario asks for
    "bandwidth": 0.01,  # weights that divide a band among devices
    "clocks": 0.05,  # f / f_max
    "powers": 0.01,  # over the power that the scenario gives: at most 20 dB less
}
"""The parts of an action, in [0, 1] for each device, with their least values, to which lower values are raised.

Without bandwidth, clock or power a participation would never end.
"""


def checked_parts(parts: str | Sequence[str]) -> tuple[str, ...]:
    """Return the parts of an action that an agent decides, in the agent's order.

    Raises:
        InputError: a part is unknown, or the parts do not go together.
    """
    if isinstance(parts, str):
        parts = (parts,)
    if not isinstance(parts, Sequence):
        raise InputError(f"action: must be a name or a list of names, got {shown(parts)}")
    known = ", ".join(PARTS)
    if not parts:
        raise InputError(f"action: is empty: name what the agent decides; known: {known}")
    for part in parts:
        if part not in PARTS:
            raise InputError(f'action: unknown part "{part}"{nearest(part, PARTS)}; known: {known}')
    if len(set(parts)) < len(parts):
        raise InputError("action: names a part twice: leave one of them out")
    if "devices" in parts and "scores" in parts:
        raise InputError("action: devices and scores both choose participants: leave one of them out")
    return tuple(parts)


class Actions:
    """The actions of an agent that decides about all devices.

    Args:
        parts: what it decides.
        count: the number of devices.
        flat: whether an action is one vector of numbers in [-1, 1], as many learning libraries require.
    """

    def __init__(self, parts: Sequence[str], count: int, *, flat: bool) -> None:
        self._parts = tuple(parts)
        self._count = count
        self._flat = flat
        self.space = self._space()

    def _space(self) -> gymnasium.Space[Any]:
        if self._flat:
            return spaces.Box(-1.0, 1.0, (len(self._parts) * self._count,), np.float32)
        of_parts: dict[str, gymnasium.Space[Any]] = {}
        for part in self._parts:
            of_parts[part] = spaces.Box(0.0, 1.0, (self._count,), np.float32)
        if "devices" in of_parts:
            of_parts["devices"] = spaces.MultiBinary(self._count)
        if len(of_parts) == 1:
            return of_parts[self._parts[0]]
        return spaces.Dict(of_parts)

    def decision(self, action: Any) -> Decision:
        """Return the decision that an action stands for.

        Raises:
            ValueError: the action has the wrong parts or shape, or a value that is not a number or out of bounds.
        """
        values = self._values(action)
        mask = None
        if "devices" in values:
            mask = values.pop("devices") > 0
        return Decision(devices=mask, **values)

    def _values(self, action: Any) -> dict[str, Floats]:
        """Return the values [devices] of each part of an action."""
        if self._flat:
            return self._flat_values(action)
        if len(self._parts) == 1:
            return {self._parts[0]: self._checked(self._parts[0], action)}
        if not isinstance(action, Mapping) or set(action) != set(self._parts):
            got = sorted(action) if isinstance(action, Mapping) else type(action).__name__
            raise ValueError(f"action: must be a dict with {', '.join(self._parts)}, got {got}")
        return {part: self._checked(part, action[part]) for part in self._parts}

    def _flat_values(self, action: Any) -> dict[str, Floats]:
        numbers = _array("action", action, (len(self._parts) * self._count,))
        _check_bounds("action", numbers, -1.0, 1.0)
        values = {}
        for part, row in zip(self._parts, np.split(numbers, len(self._parts)), strict=True):
            if part == "devices":
                values[part] = row  # chosen above 0
            else:
                values[part] = np.clip((row + 1.0) / 2.0, PARTS[part], 1.0)
        return values

    def _checked(self, part: str, value: Any) -> Floats:
        """Return the values [devices] of a part, checked for shape and bounds."""
        row = _array(f"action: {part}", value, (self._count,))
        if part == "devices" and not np.isin(row, (0.0, 1.0)).all():
            raise ValueError("action: devices: must be 0 or 1 for each device, as env.action_space.sample() returns")
        _check_bounds(f"action: {part}", row, 0.0, 1.0)
        return np.clip(row, PARTS[part], 1.0)

    def following(self, choice: Choice) -> Any:
        """Return the action with the devices that the scenario's selection would choose.

        The shares of the band are equal, the clocks the highest, the powers those of the scenario.
        """
        chosen = choice.by_scenario()
        values = {part: np.ones(self._count, np.float32) for part in self._parts}
        if "devices" in values:
            values["devices"] = np.zeros(self._count, np.float32)
            values["devices"][chosen] = 1.0
        if "scores" in values:  # the first device of the selection gets the highest score
            values["scores"] = np.zeros(self._count, np.float32)
            values["scores"][chosen] = np.linspace(1.0, 0.5, len(chosen))
        if self._flat:
            return np.concatenate([2.0 * values[part] - 1.0 for part in self._parts])
        if "devices" in values:
            values["devices"] = values["devices"].astype(np.int8)
        if len(self._parts) == 1:
            return values[self._parts[0]]
        return values


def _array(name: str, value: Any, shape: tuple[int, ...]) -> Floats:
    """Return a value as an array of a shape."""
    try:
        array = np.asarray(value, dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError(f"{name}: must be an array of {shape[0]} numbers, got {type(value).__name__}") from None
    if array.shape != shape:
        raise ValueError(f"{name}: must have shape {shape}, got {array.shape}")
    if np.isnan(array).any():
        raise ValueError(f"{name}: holds NaN at {_shown(np.isnan(array))}")
    return array


def _check_bounds(name: str, values: Floats, low: float, high: float) -> None:
    """Check that values [n] lie within bounds, up to rounding."""
    outside = (values < low - ROUNDING) | (values > high + ROUNDING)
    if outside.any():
        worst = values[outside][0]
        raise ValueError(f"{name}: must lie in [{low:g}, {high:g}], got {worst:g} at {_shown(outside)}")


def _shown(which: np.ndarray[Any, np.dtype[np.bool_]]) -> str:
    """Return the first places where something is true, as text."""
    places = np.flatnonzero(which).tolist()
    text = ", ".join(str(place) for place in places[:MOST_SHOWN])
    return text if len(places) <= MOST_SHOWN else f"{text}, ..."
