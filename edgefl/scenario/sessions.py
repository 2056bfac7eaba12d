"""The section `sessions`: a run in parts between which the devices change."""

from __future__ import annotations

from typing import Annotated, NamedTuple

from pydantic import model_validator

from edgefl.initialisation import INITIALISATIONS, Initialisation
from edgefl.initialisation.continuous import Continuous
from edgefl.initialisation.previous import Previous
from edgefl.initialisation.proposed import Proposed
from edgefl.section import Count, Section, fault_at


class Place(NamedTuple):
    """Where in a run a round is; both count from 1, rounds in each session anew.

    Extra rounds, which come before a session's first one, end with number 0.
    """

    session: int
    round: int

    @property
    def extra(self) -> bool:
        """Whether it comes before the session's first round."""
        return self.round < 1


class Sessions(Section):
    """How many sessions of how many rounds, who takes turns, what each starts from (dynamic-devices paper)."""

    count: Count = 7  # S
    rounds: Count = 50  # of each, T
    groups: Count | None = None  # of devices, which take turns; as many as the partition has
    first_group: Count = 1  # the one that is there in the first session
    keep_state: bool = False  # what the server keeps besides the model lasts, or begins anew in each session
    initialisation: Annotated[Initialisation, INITIALISATIONS] = Previous()

    @model_validator(mode="after")
    def _consistent(self) -> Sessions:
        strategy = self.initialisation
        if isinstance(strategy, Proposed) and strategy.pilots >= self.count:
            text = f"must be < count = {self.count}, for sessions that follow, got {strategy.pilots}"
            raise fault_at(("initialisation", "pilots"), text)
        if self.keep_state and isinstance(strategy, Continuous):
            raise fault_at(("keep_state",), "would keep the first teacher of initialisation continuous: leave it out")
        return self

    @property
    def total(self) -> int:
        """Rounds of all sessions."""
        return self.count * self.rounds + max(self.count - self.initialisation.pilots, 0) * self.extra

    @property
    def extra(self) -> int:
        """Rounds before the first one of each session that follows the pilots."""
        return self.initialisation.extra_rounds

    def place(self, done: int) -> Place:
        """That of the round that begins after so many."""
        before = self.initialisation.pilots * self.rounds
        if done < before or not self.extra:
            session, number = divmod(done, self.rounds)
            return Place(session + 1, number + 1)
        session, number = divmod(done - before, self.rounds + self.extra)
        return Place(self.initialisation.pilots + session + 1, number + 1 - self.extra)

    def begins(self, place: Place) -> bool:
        """Whether it is the first round of all with a session's devices."""
        return place.round == (1 - self.extra if place.session > self.initialisation.pilots else 1)
