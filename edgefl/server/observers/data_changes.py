"""Changes of the devices' data (`data.drift`), at their times or before their rounds."""

from collections.abc import Generator
from dataclasses import dataclass
from typing import Any

import simpy

from edgefl.learning.drifts import Drift
from edgefl.records.ledger import Ledger
from edgefl.server.clock import Clock
from edgefl.server.observer import Observer
from edgefl.server.replay import Replay
from edgefl.server.round_counter import RoundCounter


@dataclass(kw_only=True, eq=False)
class DataChanges(Observer):
    """Lets data change when the scenario says so."""

    env: Clock
    drift: Drift  # says when
    rounds: RoundCounter  # the present round
    replay: Replay  # the server's side of learning, which meets the changed data
    ledger: Ledger  # records each change as an event

    def __post_init__(self) -> None:
        self._changes = 0  # so far
        self._ordinary = 0  # rounds that have begun, without extra ones
        if self.drift.at_s is not None:
            self.env.process(self._at_times(self.drift.at_s))

    def _at_times(self, times_s: tuple[float, ...]) -> Generator[simpy.Event, Any, None]:
        """Let data change at some times [s]."""
        for time_s in times_s:
            yield self.env.timeout(time_s - self.env.now)
            self._change()

    def round_begins(self, number: int, present: int) -> None:
        """Let data change before a round whose number is listed, and before the extra rounds that precede it."""
        at_round = self.drift.at_round or ()
        coming = self._ordinary + 1
        if not self.rounds.key.extra:
            self._ordinary = coming
        while self._changes < len(at_round) and at_round[self._changes] <= coming:
            self._change()

    def _change(self) -> None:
        self._changes += 1
        self.ledger.event(self.env.now, "data_change")
        self.replay.change(self._changes)
