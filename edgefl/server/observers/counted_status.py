"""How many participations of a round ended in one way, such as with the answer to a poll."""

from __future__ import annotations

from dataclasses import dataclass

from edgefl.server.observer import EndedRound, Observer, RoundColumns


@dataclass(eq=False)
class CountedStatus(Observer):
    """Counts the participations with a status in a column of its own, which has the status's name."""

    status: str  # one of `records/statuses.py`

    def round_ends(self, ended: EndedRound) -> RoundColumns:
        """Return the number of a round."""
        return {self.status: sum(part.status == self.status for part in ended.parts)}
