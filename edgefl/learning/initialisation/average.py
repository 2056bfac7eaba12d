"""The mean of all earlier sessions' models."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from edgefl.learning.initialisation.base import Blend, Initialisation, Vector, uniform


class Average(Initialisation):
    """The mean of earlier sessions' models (dynamic-devices paper, section VI, "Average")."""

    include_pilots: bool = True  # the pilot sessions' models too; or only those after them, as the program has it

    def sessions_kept(self, session: int, moves: Mapping[int, Vector], tensors: Sequence[slice]) -> Sequence[int]:
        """Return all sessions whose models count."""
        return self._counting(session)

    def stored_vectors(self, session: int) -> int:
        """Return the number of their models."""
        return len(self._counting(session))

    def blend(self, session: int, moves: Mapping[int, Vector], tensors: Sequence[slice]) -> Blend:
        """Return equal weights; in a pilot session only the last model, if those of pilots do not count."""
        return uniform(self._counting(session) or (session - 1,))

    def _counting(self, session: int) -> Sequence[int]:
        first = 1 if self.include_pilots else self.pilots + 1
        return range(first, session)
