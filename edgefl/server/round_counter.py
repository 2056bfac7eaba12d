"""Counts rounds, sessions and selections, and decides when a session begins."""

from edgefl.scenario import RoundKey, Sessions


class RoundCounter:
    """Counts a run's rounds, sessions and selections."""

    def __init__(self, sessions: Sessions) -> None:
        self._sessions = sessions
        # A round may select several times (refills), so selections are counted separately.
        self.selection = -1  # index of the last selection, from 0; it keys that selection's draws
        self.key: RoundKey = sessions.first(1)  # the present round, or the next one between two rounds
        self.ended = 0  # rounds that have ended, extra ones included
        self._arrivals = 0  # devices that arrived since the session began
        self._present_at_first = 0  # devices that were present when the session's first round began

    @property
    def all_ended(self) -> bool:
        """True when no round is left."""
        return self.ended >= self._sessions.total

    @property
    def session_begins(self) -> bool:
        """True if the present round is the first of a session, extra rounds included."""
        return self._sessions.begins(self.key)

    def begin_selection(self) -> None:
        """Count a selection, which begins a round or refills it."""
        self.selection += 1

    def end_round(self, arrivals: int, present: int) -> None:
        """Begin the next round, after one with some arrivals and with `present` devices at its beginning."""
        if self.session_begins:
            self._present_at_first = present
        self.ended += 1
        self._arrivals += arrivals
        session = self.key.session
        self.key = self._sessions.after(self.key, changed=self._population_has_changed())
        if self.key.session != session:
            self._arrivals = 0

    def _population_has_changed(self) -> bool:
        """Return True if enough devices have arrived for the next session to begin.

        A session lasts for at least one ordinary round. The next one begins only if enough rounds are left for its
        extra rounds and one ordinary round.
        """
        trigger = self._sessions.trigger
        if trigger is None or self.key.extra:
            return False
        extra_rounds = 1 - self._sessions.first(self.key.session + 1).round
        if self._sessions.total - self.ended < extra_rounds + 1:
            return False
        return trigger.fires(self._arrivals, self._present_at_first)
