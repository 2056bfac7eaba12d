"""One episode: a run that stops at each decision, and the events between decisions."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from edgefl.core.errors import RunError
from edgefl.gym.decisions import AgentControl, Decision
from edgefl.gym.observations import Moment
from edgefl.results.result import Result
from edgefl.runs.emulation import Options, begin, silent
from edgefl.scenario import Scenario
from edgefl.server.clock import new_clock
from edgefl.world.control import Choice

NONE = np.empty(0, dtype=np.int64)
NOTHING_TO_CHOOSE = Choice(-1, NONE, 0, lambda: NONE)


@dataclass(frozen=True)
class Step:
    """The events from one decision to the next, or to the end."""

    rows: Sequence[Mapping[str, Any]]  # of the rounds that ended
    elapsed_s: float
    spent_j: float
    gained: float  # rise of the test accuracy, as a share

    @property
    def amounts(self) -> dict[str, float]:
        """The amounts that rewards consist of."""
        return {"time": self.elapsed_s, "energy": self.spent_j, "accuracy": self.gained}


class Episode:
    """A run under an agent's control.

    Args:
        scenario: what to run.
        options: how to run it.

    Raises:
        InputError: the scenario cannot be run.
        RunError: the run failed before its first decision.
    """

    def __init__(self, scenario: Scenario, options: Options) -> None:
        self.seed = scenario.seed
        self.result: Result | None = None  # once the episode has ended
        env = new_clock()
        self._control = AgentControl(scenario.devices.count, env)
        self._emulation = begin(scenario, options, silent, self._control, env)
        self._server = self._emulation.server
        self._train = options.train
        self._rounds = 0  # that ended before the present decision
        self._time_s = 0.0
        self._energy_j = 0.0
        self._accuracy = 0.0
        self._advance()

    @property
    def moment(self) -> Moment:
        """The present moment of the run; after its end, no device can be chosen."""
        choice = self._control.choice or NOTHING_TO_CHOOSE
        return Moment(self._server, choice)

    @property
    def time_s(self) -> float:
        """Virtual time at the present decision, or at the end [s]."""
        return self._time_s

    @property
    def energy_j(self) -> float:
        """The energy [J] that all devices have spent in the rounds that have ended."""
        return self._energy_j

    def step(self, decision: Decision) -> Step:
        """Continue with a decision, to the next one or to the end; the end writes the results.

        Raises:
            RunError: the run failed; its finished rounds are in `result`.
        """
        self._control.answer(decision)
        self._advance()
        return self._happened()

    def end(self) -> Result:
        """End the episode here, if it has not ended, and return its results."""
        if self.result is None:
            self.result = self._emulation.finish()
            self._control.choice = None
        return self.result

    def drop(self) -> None:
        """Abandon the episode without results."""
        self._emulation.close()

    def _advance(self) -> None:
        try:
            goes_on = self._emulation.advance(self._control.asked)
            if self._train:
                self._emulation.settle()
        except (Exception, KeyboardInterrupt):
            self.end()  # writes the finished rounds
            raise
        if not goes_on:
            self.end()
            if self._emulation.status == "failed":  # learning may fail at the end
                raise RunError(str(self._emulation.error))

    def _happened(self) -> Step:
        ledger = self._server.ledger
        rows = [dict(ledger.row(number)) for number in range(self._rounds, ledger.finished)]
        accuracies = [row["test_accuracy"] for row in rows if row["test_accuracy"] is not None]
        accuracy = accuracies[-1] if accuracies else self._accuracy
        time_s = float(self._server.env.now)
        # Not the sum over rows: energy of interrupted participations is added to the last row at the end.
        energy_j = ledger.energy_j
        step = Step(rows, time_s - self._time_s, energy_j - self._energy_j, float(accuracy) - self._accuracy)
        self._rounds = ledger.finished
        self._time_s = time_s
        self._energy_j = energy_j
        self._accuracy = float(accuracy)
        return step
