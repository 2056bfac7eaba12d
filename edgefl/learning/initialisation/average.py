"""The mean of what there is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from edgefl.learning.initialisation.base import Blend, Initialisation, Vector, uniform


class Average(Initialisation):
    """The mean of earlier sessions' models (dynamic-devices paper, section VI, "Average")."""

    include_pilots: bool = True  # the pilot sessions' models too, or those after them alone, as the program has it

    def kept(self, session: int, moves: Mapping[int, Vector], tensors: Sequence[slice]) -> Sequence[int]:
        """All sessions whose models count."""
        return self._counting(session)

    def stored(self, session: int) -> int:
        """Their models."""
        return len(self._counting(session))

    def blend(self, session: int, moves: Mapping[int, Vector], tensors: Sequence[slice]) -> Blend:
        """Equal weights; in a pilot session the last model alone where those of pilots do not count."""
        return uniform(self._counting(session) or (session - 1,))

    def _counting(self, session: int) -> Sequence[int]:
        return range(1 if self.include_pilots else self.pilots + 1, session)
