"""The last session's model."""

from collections.abc import Mapping, Sequence

from edgefl.learning.initialisation.base import Blend, Initialisation, Vector


class Previous(Initialisation):
    """The model that the last session ended with (dynamic-devices paper, section VI, "Previous")."""

    def blend(self, session: int, moves: Mapping[int, Vector], tensors: Sequence[slice]) -> Blend:
        """Return the last session's model."""
        return {session - 1: 1.0}
