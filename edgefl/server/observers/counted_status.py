"""How many participations of a round ended in one way, such as with the answer to a poll."""

from __future__ import annotations

from edgefl.server.observer import EndedRound, Observer, RoundColumns


class CountedStatus(Observer):
    """Counts the participations with a status in a column of its own, which has the status's name.

    Args:
        status: one of `records/statuses.py`.
    """

    def __init__(self, status: str) -> None:
        self._status = status

    def round_ends(self, ended: EndedRound) -> RoundColumns:
        """Return the number of a round."""
        return {self._status: sum(part.status == self._status for part in ended.parts)}
