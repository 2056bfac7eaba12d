"""Beginning anew."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from edgefl.learning.initialisation.base import INITIAL, Blend, Initialisation, Vector


class Initial(Initialisation):
    """The initial model, as if nothing had been learned (the dynamic-devices paper's program, --initial)."""

    def stored(self, session: int) -> int:
        """The initial model."""
        return 1

    def start(self, session: int, moves: Mapping[int, Vector], tensors: Sequence[slice]) -> Blend:
        """In session P + 1 too."""
        return self.blend(session, moves, tensors)

    def blend(self, session: int, moves: Mapping[int, Vector], tensors: Sequence[slice]) -> Blend:
        """The initial model alone."""
        return INITIAL
