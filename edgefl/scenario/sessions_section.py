"""The section `sessions`: a run in parts between which the devices change."""

from __future__ import annotations

from typing import Annotated, Any, NamedTuple

from pydantic import PositiveFloat, model_validator

from edgefl.core.section import Count, Section, fault, fault_at
from edgefl.learning.initialisation import INITIALISATIONS, Initialisation
from edgefl.learning.initialisation.continuous import Continuous
from edgefl.learning.initialisation.previous import Previous
from edgefl.learning.initialisation.proposed import Proposed


class RoundKey(NamedTuple):
    """Where in a run a round is; both count from 1, rounds in each session anew.

    Extra rounds, which come before a session's first one, end with number 0.
    """

    session: int
    round: int

    @property
    def extra(self) -> bool:
        """Whether it comes before the session's first round."""
        return self.round < 1

    def named(self, *, several: bool) -> str:
        """As messages name it, where there are several sessions or a single one."""
        return f"session {self.session}, round {self.round}" if several else f"round {self.round}"


class Trigger(Section):
    """When a session ends before its last round: so many devices have arrived since it began."""

    arrivals: Count | None = None  # how many
    share: PositiveFloat | None = None  # or how many for each device that was there when the session began

    @model_validator(mode="after")
    def _one(self) -> Trigger:
        if (self.arrivals is None) == (self.share is None):
            raise fault("needs either arrivals or share")
        return self

    def fires(self, arrivals: int, present: int) -> bool:
        """Whether so many arrivals are enough, when so many devices were there."""
        wanted = self.arrivals if self.share is None else self.share * present
        return arrivals >= max(wanted or 0, 1)


class Sessions(Section):
    """How many sessions of how many rounds, who takes turns, what each starts from (dynamic-devices paper)."""

    count: Count = 7  # S; 1 where a trigger divides it further
    rounds: Count = 50  # of each, T
    trigger: Trigger | None = None  # a session begins with it rather than after so many rounds
    groups: Count | None = None  # of devices, which take turns; as many as the partition has
    first_group: Count = 1  # the one that is there in the first session
    keep_state: bool = False  # what the server keeps besides the model lasts, or begins anew in each session
    initialisation: Annotated[Initialisation, INITIALISATIONS] = Previous()

    @model_validator(mode="before")
    @classmethod
    def _one_to_divide(cls, value: Any) -> Any:
        """With a trigger arrivals say how many sessions there are."""
        return {"count": 1, **value} if isinstance(value, dict) and value.get("trigger") is not None else value

    @model_validator(mode="after")
    def _consistent(self) -> Sessions:
        if self.trigger and self.count > 1:
            raise fault_at(("count",), f"must be 1 with a trigger, which says how many there are, got {self.count}")
        strategy = self.initialisation
        if isinstance(strategy, Proposed) and strategy.pilots >= self.count and not self.trigger:
            text = f"must be < count = {self.count}, for sessions that follow, got {strategy.pilots}"
            raise fault_at(("initialisation", "pilots"), text)
        if self.keep_state and isinstance(strategy, Continuous):
            raise fault_at(("keep_state",), "would keep the first teacher of initialisation continuous: leave it out")
        return self

    @property
    def several(self) -> bool:
        """Whether there can be more than one."""
        return self.count > 1 or self.trigger is not None

    @property
    def total(self) -> int:
        """Rounds of all sessions; with a trigger extra ones are among them."""
        return self.count * self.rounds + max(self.count - self.initialisation.pilots, 0) * self.extra

    @property
    def extra(self) -> int:
        """Rounds before the first one of each session that follows the pilots."""
        return self.initialisation.extra_rounds

    def first(self, session: int) -> RoundKey:
        """That of the first round of all with a session's devices."""
        return RoundKey(session, 1 - self.extra if session > self.initialisation.pilots else 1)

    def begins(self, round_key: RoundKey) -> bool:
        """Whether a session begins with it."""
        return round_key == self.first(round_key.session)

    def begins_anew(self, round_key: RoundKey) -> bool:
        """Whether the server's state begins anew with a round: before extra rounds, and behind them again."""
        begins = self.begins(round_key) or round_key.round == 1
        return round_key.session > 1 and begins and (round_key.extra or not self.keep_state)

    def after(self, round_key: RoundKey, *, changed: bool = False) -> RoundKey:
        """That of the next round; where devices have `changed`, of the next session's first one."""
        over = changed or round_key.round >= self.rounds
        return self.first(round_key.session + 1) if over else RoundKey(round_key.session, round_key.round + 1)
