"""Decisions of an agent, and the control that hands them to the server, the world and the radio."""

from collections.abc import Generator
from dataclasses import dataclass
from typing import Any

import numpy as np
import simpy

from edgefl.core.arrays import Bools, Floats, Ids
from edgefl.world.control import Choice, Control


@dataclass(frozen=True)
class Decision:
    """An agent's decision about devices [devices]; None for parts that it leaves to the scenario."""

    devices: Bools | None = None  # the participants
    scores: Floats | None = None  # the highest of them take part
    bandwidth: Floats | None = None  # weights > 0 that divide a band among concurrent transfers
    clocks: Floats | None = None  # over the highest clocks, in (0, 1]
    powers: Floats | None = None  # over the transmit powers of the scenario, in (0, 1]


class AgentControl(Control):
    """Stops the clock at each decision, and applies the agent's decisions.

    A decision about a device holds from the moment it is chosen until it is chosen again.

    Args:
        count: the number of devices.
        env: the clock of the run.
    """

    decides: bool = True

    def __init__(self, count: int, env: simpy.Environment) -> None:
        self.choice: Choice | None = None  # the devices among which a decision is awaited; None: none is
        self._count = count
        self._env = env
        self.asked = env.event()  # happens when the next decision is needed
        self._answered = env.event()
        self._decision = Decision()
        self._bandwidth: Floats | None = None
        self._clocks: Floats | None = None
        self._powers: Floats | None = None

    def answer(self, decision: Decision) -> None:
        """Give the awaited decision; the run continues when its clock is advanced."""
        self.choice = None
        self._decision = decision
        self.asked = self._env.event()
        self._answered.succeed()

    # What the server, the world and the radio ask

    def decide(self, choice: Choice) -> Generator[Any, Any, None]:
        """Wait until `answer` is called."""
        self.choice = choice
        self._answered = self._env.event()
        self.asked.succeed()
        yield self._answered

    def choose(self, free: Ids, wanted: int) -> Ids | None:
        """Return the devices that the agent has chosen; None, for the scenario's choice, if it has chosen none.

        A decision is used once: a policy that asks again without waiting gets the scenario's choice.
        """
        decision = self._decision
        self._decision = Decision(bandwidth=decision.bandwidth, clocks=decision.clocks, powers=decision.powers)
        if decision.scores is not None:
            best_first = np.argsort(-decision.scores[free], kind="stable")
            return free[best_first[:wanted]]
        if decision.devices is not None and decision.devices[free].any():
            return free[decision.devices[free]]
        return None

    def note_chosen(self, ids: Ids, index: int) -> None:
        """Let the decision hold for the devices that take part now."""
        self._bandwidth = self._updated(self._bandwidth, self._decision.bandwidth, ids)
        self._clocks = self._updated(self._clocks, self._decision.clocks, ids)
        self._powers = self._updated(self._powers, self._decision.powers, ids)

    def clock_share(self, ids: Ids) -> Floats | None:
        """See Control."""
        return _of(self._clocks, ids)

    def power_share(self, ids: Ids) -> Floats | None:
        """See Control."""
        return _of(self._powers, ids)

    def bandwidth_weight(self, ids: Ids, *, uplink: bool) -> Floats | None:
        """See Control; an agent's weights hold in both directions."""
        return _of(self._bandwidth, ids)

    def _updated(self, held: Floats | None, decided: Floats | None, ids: Ids) -> Floats | None:
        """Return the values of all devices after a new decision about devices `ids`."""
        if decided is None:
            return held
        if held is None:
            held = np.ones(self._count)
        held[ids] = decided[ids]
        return held


def _of(held: Floats | None, ids: Ids) -> Floats | None:
    return None if held is None else held[ids]
