"""Going on, and holding on to what was learned."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar, Literal

from pydantic import NonNegativeFloat

from edgefl.learning.algorithms import Algorithm
from edgefl.learning.algorithms.distilled import Distilled
from edgefl.learning.algorithms.relation_distilled import RelationDistilled
from edgefl.learning.initialisation.base import Blend, Initialisation, Vector


class Continuous(Initialisation):
    """The last session's model, distilled into those that follow (dynamic-devices paper, section VI, "Continuous").

    Its teacher in the first session is the initial model, as in the paper's program.
    """

    adds_server_state: ClassVar[bool] = True  # the teacher

    loss: Literal["kd", "relation"] = "kd"  # KL(p_teacher || p_student) of the program, or what the paper cites, GLFC's
    weight: NonNegativeFloat = 1.0  # of what distils, k; kd with 0 is `previous`

    def around(self, algorithm: Algorithm) -> Algorithm:
        """Each session's server begins with the model that teaches in it."""
        wrapper = Distilled if self.loss == "kd" else RelationDistilled
        return wrapper(base=algorithm, weight=self.weight)

    def stored(self, session: int) -> int:
        """The teacher."""
        return 1

    def blend(self, session: int, moves: Mapping[int, Vector], tensors: Sequence[slice]) -> Blend:
        """The last session's alone."""
        return {session - 1: 1.0}
