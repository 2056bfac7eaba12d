"""Everybody."""

from __future__ import annotations

from edgefl.known import Known
from edgefl.selection.base import Ids, Selection
from edgefl.streams import Streams


class Everybody(Selection):
    """Everybody who is there, however many `server.participants` asks for (full participation)."""

    def expected(self, participants: int, present: float) -> float:
        """All."""
        return present

    def choose(self, present: Ids, participants: int, index: int, streams: Streams, known: Known) -> Ids:
        """By id."""
        return present
