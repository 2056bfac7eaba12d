"""Distillation from an earlier model, added to any algorithm."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from pydantic import NonNegativeFloat

from edgefl.algorithms.base import Local, Seen, Updates
from edgefl.algorithms.wrapper import Wrapper

if TYPE_CHECKING:
    from torch import Tensor

TEACHER = "teacher"


class Distilled(Wrapper):
    """Distillation towards the model with which the server's state began (dynamic-devices paper's program).

    The loss is that of `base`, and `weight` KL(p_teacher || p_student) over the classes, at a temperature of 1.
    """

    weight: NonNegativeFloat = 1.0

    def server_state(self, w: Tensor) -> dict[str, Tensor]:
        """That of `base`, and the teacher."""
        return {**self.base.server_state(w), TEACHER: w}

    def downlink(self, server: Mapping[str, Tensor]) -> dict[str, Tensor]:
        """What `base` sends, and the teacher."""
        return {**self.base.downlink(server), TEACHER: server[TEACHER]}

    def lasting(self) -> frozenset[str]:
        """The teacher too."""
        return self.base.lasting() | {TEACHER}

    def references(self, local: Local) -> dict[str, Tensor]:
        """The teacher too."""
        return {**self.base.references(local), TEACHER: local.received[TEACHER]}

    def has_own_loss(self) -> bool:
        """Always."""
        return True

    def loss(self, losses: Tensor, own: Seen, references: Mapping[str, Seen]) -> Tensor:
        """L + weight sum_c p_teacher (log p_teacher - log p_student)."""
        from torch.nn.functional import log_softmax

        student, teacher = (log_softmax(seen.outputs, dim=-1) for seen in (own, references[TEACHER]))
        distance = (teacher.exp() * (teacher - student)).sum(dim=-1)
        return self.base.loss(losses, own, references) + self.weight * distance

    def aggregate(self, server: Mapping[str, Tensor], updates: Updates) -> dict[str, Tensor]:
        """As `base` does; the teacher stays."""
        return {**self.base.aggregate(server, updates), TEACHER: server[TEACHER]}
