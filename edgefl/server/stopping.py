"""The conditions that end a run before its last round."""

from dataclasses import dataclass, field

import numpy as np
import simpy

from edgefl.records.ledger import Ledger
from edgefl.scenario import Stop
from edgefl.server.plateau import Plateau
from edgefl.world.batteries import Batteries
from edgefl.world.churn.base import Changes


@dataclass
class Lifetime:
    """The time until `depleted` devices have run out of charge at once, which is the lifetime of a network.

    Batteries report their changes round by round; each call continues where the last one ended.
    """

    depleted: int
    ended_s: float | None = None  # None: the network is still alive
    _out: int = field(default=0, repr=False)  # devices that have run out and have not been charged since

    def begin(self, out: int) -> None:
        """Note how many devices have no charge at time 0."""
        self._out = out
        if out >= self.depleted:
            self.ended_s = 0.0

    def note(self, changes: Changes) -> None:
        """Count devices that ran out or were charged since the last call."""
        order = np.argsort(changes.times_s, kind="stable")
        steps = np.where(changes.came[order], -1, 1)
        out = self._out + np.cumsum(steps)
        reached = np.flatnonzero(out >= self.depleted)
        if self.ended_s is None and reached.size:
            self.ended_s = float(changes.times_s[order][reached[0]])
        self._out += int(steps.sum())


@dataclass(eq=False)
class Stopping:
    """Says whether one of a scenario's stop conditions holds."""

    env: simpy.Environment
    stop: Stop
    batteries: Batteries | None
    plateau: Plateau | None  # None: the scenario has no patience

    def __post_init__(self) -> None:
        self.lifetime: Lifetime | None = None
        if self.stop.depleted is not None and self.batteries is not None:
            self.lifetime = Lifetime(self.stop.depleted)
            self.lifetime.begin(self._depleted())
        self.time_is_up = self.env.event()
        """The event of the time at which the run ends; it never happens without `stop.time_s`."""
        if self.stop.time_s is not None:
            self.time_is_up = self.env.timeout(max(self.stop.time_s - self.env.now, 0.0))

    @property
    def needs_tests(self) -> bool:
        """Return whether a test of a round's model may end the run."""
        return self.stop.accuracy is not None or (self.plateau is not None and self.plateau.needs_tests)

    def holds(self, ledger: Ledger) -> bool:
        """Return whether the run ends now, after the last round of the ledger, which has its tests if they matter."""
        stop = self.stop
        last_row = ledger.row(ledger.finished - 1)
        if stop.time_s is not None and self.env.now >= stop.time_s:
            return True
        if stop.energy_j is not None and last_row["energy_j"] >= stop.energy_j:
            return True
        if self.lifetime is not None and self.lifetime.ended_s is not None:
            return True  # also if some of these devices have been charged since
        if self.plateau is not None and self.plateau.reached(ledger):
            return True
        accuracy = last_row["test_accuracy"]
        return stop.accuracy is not None and accuracy is not None and accuracy >= stop.accuracy

    def _depleted(self) -> int:
        """Return how many devices have no charge now."""
        if self.batteries is None:
            return 0
        self.batteries.advance(self.env.now)
        return int((~self.batteries.usable).sum())
