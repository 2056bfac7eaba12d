"""The initial model of the run, in every session."""

from collections.abc import Mapping, Sequence

from edgefl.learning.initialisation.base import INITIAL, Blend, Initialisation, Vector


class Initial(Initialisation):
    """The initial model, as if nothing had been learned (the dynamic-devices paper's program, --initial)."""

    def stored_vectors(self, session: int) -> int:
        """Return 1: the initial model."""
        return 1

    def start(self, session: int, moves: Mapping[int, Vector], tensors: Sequence[slice]) -> Blend:
        """Return the initial model, in session P + 1 too."""
        return self.blend(session, moves, tensors)

    def blend(self, session: int, moves: Mapping[int, Vector], tensors: Sequence[slice]) -> Blend:
        """Return the initial model."""
        return INITIAL
