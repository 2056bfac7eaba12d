"""The conditions that end a run before its last round."""

from dataclasses import dataclass

import numpy as np
import simpy

from edgefl.records.ledger import Ledger
from edgefl.scenario import Stop
from edgefl.server.plateau import Plateau
from edgefl.world.batteries import Batteries
from edgefl.world.churn.base import Changes


class Lifetime:
    """The time until some devices have run out of charge at once, which is the lifetime of a network.

    Args:
        depleted: how many devices.
        out: how many have no charge at time 0.
    """

    def __init__(self, depleted: int, out: int) -> None:
        self._depleted = depleted
        self._out = out  # devices that have run out and have not been charged since
        self._ended_s = 0.0 if out >= depleted else None
        self._noted: list[Changes] = []  # since the last question

    def note(self, changes: Changes) -> None:
        """Note devices that ran out or were charged."""
        self._noted.append(changes)

    def ended_s(self) -> float | None:
        """Return when it ended [s], or None; all changes until now have been noted, in any order."""
        changes = Changes.concatenate(self._noted)
        self._noted = []
        order = np.argsort(changes.times_s, kind="stable")
        steps = np.where(changes.came[order], -1, 1)
        out = self._out + np.cumsum(steps)
        reached = np.flatnonzero(out >= self._depleted)
        if self._ended_s is None and reached.size:
            self._ended_s = float(changes.times_s[order][reached[0]])
        self._out += int(steps.sum())
        return self._ended_s


@dataclass(eq=False)
class Stopping:
    """Says whether one of a scenario's stop conditions holds."""

    env: simpy.Environment
    stop: Stop
    batteries: Batteries | None
    plateau: Plateau | None  # None: the scenario has no patience

    def __post_init__(self) -> None:
        self._lifetime: Lifetime | None = None
        if self.stop.depleted is not None and self.batteries is not None:
            self._lifetime = Lifetime(self.stop.depleted, int((~self.batteries.usable).sum()))
            self.batteries.listen(self._lifetime.note)
        self.time_is_up = self.env.event()
        """The event of the time at which the run ends; it never happens without `stop.time_s`."""
        if self.stop.time_s is not None:
            self.time_is_up = self.env.timeout(max(self.stop.time_s - self.env.now, 0.0))

    @property
    def needs_tests(self) -> bool:
        """Return whether a test of a round's model may end the run."""
        return self.stop.accuracy is not None or (self.plateau is not None and self.plateau.needs_tests)

    def quantities(self) -> dict[str, float | None]:
        """Return the lifetime of the network, if the scenario asks for it."""
        if self._lifetime is None:
            return {}
        return {"lifetime_s": self.lifetime_s()}

    def lifetime_s(self) -> float | None:
        """Return when so many devices had run out at once as the scenario says [s]; None: they have not."""
        if self._lifetime is None or self.batteries is None:
            return None
        self.batteries.advance(self.env.now)
        return self._lifetime.ended_s()

    def holds(self, ledger: Ledger) -> bool:
        """Return whether the run ends now, after the last round of the ledger, which has its tests if they matter."""
        stop = self.stop
        last_row = ledger.row(ledger.finished - 1)
        if stop.time_s is not None and self.env.now >= stop.time_s:
            return True
        if stop.energy_j is not None and last_row["energy_j"] >= stop.energy_j:
            return True
        if self.lifetime_s() is not None:
            return True  # also if some of these devices have been charged since
        if self.plateau is not None and self.plateau.reached(ledger):
            return True
        accuracy = last_row["test_accuracy"]
        return stop.accuracy is not None and accuracy is not None and accuracy >= stop.accuracy
