"""The storage of models that later sessions may start from."""

from __future__ import annotations

from edgefl.learning.initialisation import Initialisation
from edgefl.server.observer import EndedRound, Observer, RoundColumns


class SessionHistory(Observer):
    """Tells how much the server stores for later sessions.

    Args:
        initialisation: which models a session starts from.
        model_bytes: the size of a model.
    """

    def __init__(self, initialisation: Initialisation, model_bytes: int) -> None:
        self._initialisation = initialisation
        self._model_bytes = model_bytes

    def round_ends(self, ended: EndedRound) -> RoundColumns:
        """Return the bytes that the server stores in the session."""
        return {"history_bytes": self._initialisation.stored_vectors(ended.key.session) * self._model_bytes}
