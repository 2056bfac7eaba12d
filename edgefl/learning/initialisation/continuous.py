"""The last session's model, with distillation of what was learned before."""

from collections.abc import Mapping, Sequence
from typing import ClassVar, Literal

from pydantic import NonNegativeFloat

from edgefl.learning.algorithms import Algorithm
from edgefl.learning.algorithms.distilled import Distilled
from edgefl.learning.algorithms.relation_distilled import RelationDistilled
from edgefl.learning.initialisation.base import Blend, Initialisation, Vector


class Continuous(Initialisation):
    """The last session's model, distilled into those that follow (dynamic-devices paper, section VI, "Continuous").

    In the first session the teacher is the initial model.
    """

    adds_server_state: ClassVar[bool] = True  # the teacher

    # Loss of the distillation. kd is the program's KL(p_teacher || p_student), relation is that of GLFC, which the
    # paper cites.
    loss: Literal["kd", "relation"] = "kd"
    weight: NonNegativeFloat = 1.0  # Weight of the distillation, k; kd with weight 0 is the strategy previous.

    # Teacher of session P + 1: the last pilot session's model, or zeros, whose outputs are uniform, as in the program.
    after_pilots_teacher: Literal["previous", "zeros"] = "previous"

    def wrap(self, algorithm: Algorithm) -> Algorithm:
        """Return the algorithm with distillation from the model that each session begins with."""
        if self.loss == "kd":
            return Distilled(base=algorithm, weight=self.weight)
        return RelationDistilled(base=algorithm, weight=self.weight)

    def begins_from_zeros(self, session: int) -> bool:
        """Return True for session P + 1, if its teacher has zeros."""
        return self.after_pilots_teacher == "zeros" and session == self.pilots + 1

    def stored_vectors(self, session: int) -> int:
        """Return 1: the teacher."""
        return 1

    def blend(self, session: int, moves: Mapping[int, Vector], tensors: Sequence[slice]) -> Blend:
        """Return the last session's model."""
        return {session - 1: 1.0}
