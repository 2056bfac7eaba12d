"""The section `sessions`: parts of a run, between which the population changes."""

from __future__ import annotations

from typing import Annotated, Any, NamedTuple

from pydantic import PositiveFloat, model_validator

from edgefl.core.catalogue import where_known
from edgefl.core.section import Count, Section, fault, fault_at
from edgefl.learning.initialisation import INITIALISATIONS, Initialisation
from edgefl.learning.initialisation.previous import Previous


class RoundKey(NamedTuple):
    """The session and the number of a round within it, both from 1; extra rounds before the first one end with 0."""

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
    """The end of a session before its last round, as soon as enough devices have arrived since it began."""

    arrivals: Count | None = None  # Number of arrivals that begins a session.
    share: PositiveFloat | None = None  # The same as a share of the devices that were present when the session began.

    @model_validator(mode="after")
    def _one_of_both(self) -> Trigger:
        if (self.arrivals is None) == (self.share is None):
            raise fault("needs either arrivals or share: give exactly one of them")
        return self

    def fires(self, arrivals: int, present: int) -> bool:
        """Return whether `arrivals` end a session that began with `present` devices."""
        wanted: float = self.arrivals or 0
        if self.share is not None:
            wanted = self.share * present
        # A share of zero devices waits for one arrival, too, or sessions would follow each other without end.
        return arrivals >= max(wanted, 1)


class Sessions(Section):
    """Sessions: number, rounds, groups of devices and initial models (dynamic-devices paper)."""

    count: Count = 7  # Number of sessions, S; 1 with a trigger, which divides the run instead.
    rounds: Count = 50  # Number of rounds of each session, T.
    trigger: Trigger | None = None  # Begins a new session when enough devices have arrived.
    groups: Count | None = None  # Number of groups of devices that take turns; by default as many as the partition has.
    first_group: Count = 1  # Number of the group that is present in the first session.
    keep_state: bool = False  # Whether the server keeps its state, besides the model, from session to session.
    initialisation: Annotated[Initialisation, INITIALISATIONS] = Previous()  # The first model of a session.

    @model_validator(mode="before")
    @classmethod
    def _default_count(cls, value: Any) -> Any:
        """Make one session the default with a trigger, as arrivals decide how many there will be."""
        if isinstance(value, dict) and value.get("trigger") is not None:
            return {"count": 1, **value}
        return value

    @model_validator(mode="after")
    @where_known
    def _consistent(self) -> Sessions:
        if self.trigger and self.count > 1:
            raise fault_at(("count",), f"must be 1 with a trigger, which decides how many there are, got {self.count}")
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
        """Number of rounds of all sessions, extra rounds included."""
        sessions_with_extra = max(self.count - self.initialisation.pilots, 0)
        return self.count * self.rounds + sessions_with_extra * self.extra

    @property
    def extra(self) -> int:
        """Number of extra rounds before the first round of each session that follows the pilots."""
        return self.initialisation.extra_rounds

    def first(self, session: int) -> RoundKey:
        """Return the first round of a session, which is an extra round if it has any."""
        if session > self.initialisation.pilots:
            return RoundKey(session, 1 - self.extra)
        return RoundKey(session, 1)

    def begins(self, round_key: RoundKey) -> bool:
        """Return whether a round is the first of its session, extra rounds included."""
        return round_key == self.first(round_key.session)

    def resets_state(self, round_key: RoundKey) -> bool:
        """Return whether the server's state is reset before a round: before extra rounds, and again after them."""
        begins = self.begins(round_key) or round_key.round == 1
        return round_key.session > 1 and begins and (round_key.extra or not self.keep_state)

    def after(self, round_key: RoundKey, *, changed: bool = False) -> RoundKey:
        """Return the round that follows; if the population has `changed`, the first round of the next session."""
        if changed or round_key.round >= self.rounds:
            return self.first(round_key.session + 1)
        return RoundKey(round_key.session, round_key.round + 1)
