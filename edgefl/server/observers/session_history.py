"""The storage of models that later sessions may start from."""

from __future__ import annotations

from dataclasses import dataclass

from edgefl.learning.initialisation import Initialisation
from edgefl.server.observer import EndedRound, Observer, RoundColumns


@dataclass(eq=False)
class SessionHistory(Observer):
    """Tells how much the server stores for later sessions."""

    initialisation: Initialisation  # which models a session starts from
    model_bytes: int  # the size of a model

    def round_ends(self, ended: EndedRound) -> RoundColumns:
        """Return the bytes that the server stores in the session."""
        return {"history_bytes": self.initialisation.stored_vectors(ended.key.session) * self.model_bytes}
