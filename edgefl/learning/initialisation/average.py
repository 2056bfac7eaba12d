"""The mean of all earlier sessions' models."""

from collections.abc import Mapping, Sequence

from edgefl.learning.initialisation.base import Blend, Initialisation, Vector, uniform


class Average(Initialisation):
    """The mean of earlier sessions' models (dynamic-devices paper, section VI, "Average")."""

    # Whether the pilot sessions' models count, too; in the paper's program only later ones do.
    include_pilots: bool = True

    def sessions_kept(self, session: int, moves: Mapping[int, Vector], tensors: Sequence[slice]) -> Sequence[int]:
        """Return all sessions whose models count."""
        return self._counting(session)

    def stored_vectors(self, session: int) -> int:
        """Return the number of models that count."""
        return len(self._counting(session))

    def blend(self, session: int, moves: Mapping[int, Vector], tensors: Sequence[slice]) -> Blend:
        """Return equal weights; in a pilot session only the last model, if the models of pilots do not count."""
        return uniform(self._counting(session) or (session - 1,))

    def _counting(self, session: int) -> Sequence[int]:
        if self.include_pilots:
            return range(1, session)
        return range(self.pilots + 1, session)
