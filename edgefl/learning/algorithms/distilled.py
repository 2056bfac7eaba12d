"""Distillation from an earlier model, added to any algorithm."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from pydantic import NonNegativeFloat

from edgefl.learning.algorithms.base import Batch, ForwardPass, LocalContext, Updates
from edgefl.learning.algorithms.wrapper import Wrapper

if TYPE_CHECKING:
    from torch import Tensor

TEACHER = "teacher"


class Distilled(Wrapper):
    """Distillation towards the last session's model (dynamic-devices paper, "Continuous"), or the initial one at first.

    As in the paper's program the loss is that of `base` plus `weight` times KL(p_teacher || p_student) over the
    classes, at a temperature of 1.
    """

    weight: NonNegativeFloat = 1.0  # of the divergence from the teacher

    def server_state(self, w: Tensor) -> dict[str, Tensor]:
        """Return the base's state and the teacher."""
        return {**self.base.server_state(w), TEACHER: w}

    def carried_over(self, server: Mapping[str, Tensor]) -> dict[str, Tensor]:
        """Return the base's entries and the next teacher: the last session's model, wherever the next one starts."""
        return {**self.base.carried_over(server), TEACHER: server["w"]}

    def downlink(self, server: Mapping[str, Tensor]) -> dict[str, Tensor]:
        """Send the teacher besides what the base sends."""
        return {**self.base.downlink(server), TEACHER: server[TEACHER]}

    def sent_once(self) -> frozenset[str]:
        """Return the base's names and the teacher, which stays the same throughout a session."""
        return self.base.sent_once() | {TEACHER}

    def references(self, local: LocalContext) -> dict[str, Tensor]:
        """Return the base's references and the teacher."""
        return {**self.base.references(local), TEACHER: local.received[TEACHER]}

    def loss(self, losses: Tensor, own: ForwardPass, references: Mapping[str, ForwardPass], batch: Batch) -> Tensor:
        """Return `L + weight sum_c p_teacher (log p_teacher - log p_student)`."""
        from torch.nn.functional import log_softmax

        student = log_softmax(own.outputs, dim=-1)
        teacher = log_softmax(references[TEACHER].outputs, dim=-1)
        # Logarithms of probabilities stay finite where the probabilities underflow to 0.
        distance = (teacher.exp() * (teacher - student)).sum(dim=-1)
        return self.base.loss(losses, own, references, batch) + self.weight * distance

    def aggregate(self, server: Mapping[str, Tensor], updates: Updates) -> dict[str, Tensor]:
        """Aggregate as the base does; the teacher stays."""
        return {**self.base.aggregate(server, updates), TEACHER: server[TEACHER]}
