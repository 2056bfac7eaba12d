"""Going on, and holding on to what was learned."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pydantic import NonNegativeFloat

from edgefl.algorithms import Algorithm
from edgefl.algorithms.distilled import Distilled
from edgefl.initialisation.base import Blend, Initialisation, Vector


class Continuous(Initialisation):
    """The last session's model, distilled into those that follow (dynamic-devices paper, section VI, "Continuous").

    As in the paper's program, whose teacher in the first session is the initial model. The relation distillation of
    GLFC that the paper cites is not what it runs.
    """

    weight: NonNegativeFloat = 1.0  # of KL(p_teacher || p_student), k: 0 is `previous`

    def around(self, algorithm: Algorithm) -> Algorithm:
        """Each session's server begins with the model that teaches in it."""
        return Distilled(base=algorithm, weight=self.weight)

    def kept(self, session: int) -> Sequence[int]:
        """No session's."""
        return ()

    def stored(self, session: int) -> int:
        """The teacher."""
        return 1

    def blend(self, session: int, moves: Mapping[int, Vector], tensors: Sequence[slice]) -> Blend:
        """The last session's alone."""
        return {session - 1: 1.0}
