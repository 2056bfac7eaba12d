"""The section `sessions`: a run in parts between which the devices change."""

from __future__ import annotations

from typing import Annotated, Any, NamedTuple

from pydantic import PositiveFloat, model_validator

from edgefl.core.section import Count, Section, fault, fault_at
from edgefl.learning.initialisation import INITIALISATIONS, Initialisation
from edgefl.learning.initialisation.previous import Previous


class RoundKey(NamedTuple):
    """The session and the number of a round; both count from 1, and rounds begin anew in each session.

    Extra rounds, which come before a session's first one, end with number 0.
    """

    session: int
    round: int

    @property
    def extra(self) -> bool:
        """True if the round comes before the session's first one."""
        return self.round < 1

    def named(self, *, several: bool) -> str:
        """Return the round as messages name it, with its session if the run has `several`."""
        if several:
            return f"session {self.session}, round {self.round}"
        return f"round {self.round}"


class Trigger(Section):
    """End a session before its last round, as soon as enough devices have arrived since it began."""

    arrivals: Count | None = None  # how many
    share: PositiveFloat | None = None  # or how many for each device that was present when the session began

    @model_validator(mode="after")
    def _one_of_both(self) -> Trigger:
        if (self.arrivals is None) == (self.share is None):
            raise fault("needs either arrivals or share")
        return self

    def fires(self, arrivals: int, present: int) -> bool:
        """Return whether so many arrivals end a session that began with so many devices present."""
        wanted: float = self.arrivals or 0
        if self.share is not None:
            wanted = self.share * present
        # Even a share of no devices waits for one arrival, or sessions would follow each other without end.
        return arrivals >= max(wanted, 1)


class Sessions(Section):
    """The number of sessions and their rounds, who takes turns, and what each starts from (dynamic-devices paper)."""

    count: Count = 7  # S; 1 with a trigger, which divides it further
    rounds: Count = 50  # of each, T
    trigger: Trigger | None = None  # begins a session on arrivals rather than after so many rounds
    groups: Count | None = None  # of devices, which take turns; as many as the partition has if not given
    first_group: Count = 1  # the group that is present in the first session
    keep_state: bool = False  # whether what the server keeps besides the model outlives a session
    initialisation: Annotated[Initialisation, INITIALISATIONS] = Previous()

    @model_validator(mode="before")
    @classmethod
    def _default_count(cls, value: Any) -> Any:
        """Begin with one session if there is a trigger: arrivals decide how many there will be."""
        if isinstance(value, dict) and value.get("trigger") is not None:
            return {"count": 1, **value}
        return value

    @model_validator(mode="after")
    def _consistent(self) -> Sessions:
        if self.trigger and self.count > 1:
            raise fault_at(("count",), f"must be 1 with a trigger, which says how many there are, got {self.count}")
        strategy = self.initialisation
        if self.extra and strategy.pilots >= self.count and not self.trigger:
            text = f"must be < count = {self.count}, so that sessions follow the pilots, got {strategy.pilots}"
            raise fault_at(("initialisation", "pilots"), text)
        if self.keep_state and strategy.adds_server_state:
            text = "would keep the first teacher of the initialisation continuous: leave it out"
            raise fault_at(("keep_state",), text)
        return self

    @property
    def several(self) -> bool:
        """True if there can be more than one session."""
        return self.count > 1 or self.trigger is not None

    @property
    def total(self) -> int:
        """Rounds of all sessions, extra ones included; with a trigger they count among `rounds`."""
        sessions_with_extra = max(self.count - self.initialisation.pilots, 0)
        return self.count * self.rounds + sessions_with_extra * self.extra

    @property
    def extra(self) -> int:
        """Rounds before the first one of each session that follows the pilots."""
        return self.initialisation.extra_rounds

    def first(self, session: int) -> RoundKey:
        """Return the first of all rounds with a session's devices."""
        if session > self.initialisation.pilots:
            return RoundKey(session, 1 - self.extra)
        return RoundKey(session, 1)

    def begins(self, round_key: RoundKey) -> bool:
        """Return whether a session begins with a round."""
        return round_key == self.first(round_key.session)

    def begins_anew(self, round_key: RoundKey) -> bool:
        """Return whether the server's state begins anew with a round: before extra rounds, and after them again."""
        begins = self.begins(round_key) or round_key.round == 1
        return round_key.session > 1 and begins and (round_key.extra or not self.keep_state)

    def after(self, round_key: RoundKey, *, changed: bool = False) -> RoundKey:
        """Return the round after another; the next session's first one if the devices have `changed`."""
        if changed or round_key.round >= self.rounds:
            return self.first(round_key.session + 1)
        return RoundKey(round_key.session, round_key.round + 1)
