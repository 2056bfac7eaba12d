"""Distillation from an earlier model, added to any algorithm."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Literal

from pydantic import NonNegativeFloat

from edgefl.learning.algorithms.base import Batch, ForwardPass, LocalContext, Updates
from edgefl.learning.algorithms.wrapper import Wrapper

if TYPE_CHECKING:
    from torch import Tensor

TEACHER = "teacher"
LEARNED = "learned"  # [classes] 1 for those that participants have had; empty before the first update
OLD = "old"  # the same, at the session's beginning
TINY = 1e-12


class Distilled(Wrapper):
    """Distillation towards the model with which the server's state began (dynamic-devices paper, "Continuous").

    By `outputs`, as in the paper's program: the loss is that of `base`, and `weight` KL(p_teacher || p_student) over
    the classes, at a temperature of 1. By `relation`, of GLFC (Dong et al., CVPR 2022), which the paper cites: `base`
    gets `relation_loss` in place of the task's loss.
    """

    weight: NonNegativeFloat = 1.0
    by: Literal["outputs", "relation"] = "outputs"

    def server_state(self, w: Tensor) -> dict[str, Tensor]:
        """That of `base`, the teacher, and which classes have been learned."""
        classes = {LEARNED: w[:0], OLD: w[:0]} if self.by == "relation" else {}
        return {**self.base.server_state(w), TEACHER: w, **classes}

    def restarted(self, server: Mapping[str, Tensor], w: Tensor, population: int) -> dict[str, Tensor]:
        """Anew but for the classes: all that have been learned are old ones then."""
        classes = {LEARNED: server[LEARNED], OLD: server[LEARNED]} if self.by == "relation" else {}
        return {**self.initial_state(w, population), **classes}

    def downlink(self, server: Mapping[str, Tensor]) -> dict[str, Tensor]:
        """What `base` sends, and the teacher; a bit for each class, which are not counted."""
        return {**self.base.downlink(server), **{name: server[name] for name in (TEACHER, OLD) if name in server}}

    def lasting(self) -> frozenset[str]:
        """The teacher too."""
        return self.base.lasting() | {TEACHER}

    def references(self, local: LocalContext) -> dict[str, Tensor]:
        """The teacher too."""
        return {**self.base.references(local), TEACHER: local.received[TEACHER]}

    def has_own_loss(self) -> bool:
        """Always."""
        return True

    def loss(self, losses: Tensor, own: ForwardPass, references: Mapping[str, ForwardPass], batch: Batch) -> Tensor:
        """L + weight sum_c p_teacher (log p_teacher - log p_student), or of `relation_loss`."""
        from torch.nn.functional import log_softmax

        if self.by == "relation":
            losses = relation_loss(own.outputs, references[TEACHER].outputs, batch, self.weight)
            return self.base.loss(losses, own, references, batch)
        student, teacher = (log_softmax(seen.outputs, dim=-1) for seen in (own, references[TEACHER]))
        distance = (teacher.exp() * (teacher - student)).sum(dim=-1)
        return self.base.loss(losses, own, references, batch) + self.weight * distance

    def aggregate(self, server: Mapping[str, Tensor], updates: Updates) -> dict[str, Tensor]:
        """As `base` does; the teacher stays, and more classes have been learned."""
        after = {**self.base.aggregate(server, updates), TEACHER: server[TEACHER]}
        if self.by == "outputs" or updates.labels is None:
            return after
        had = server[TEACHER].new_tensor(updates.labels.any(axis=0))
        learned = had.maximum(server[LEARNED]) if len(server[LEARNED]) else had
        return {**after, LEARNED: learned, OLD: server[OLD]}


def relation_loss(outputs: Tensor, taught: Tensor, batch: Batch, weight: float) -> Tensor:
    """(L_GC + weight L_RD) / 2 of each sample [..., B], as in GLFC's program; L_GC alone without old classes.

    Both are the binary cross entropy of sigmoids, in the mean over classes. In L_GC it is towards the label, times the
    output's error for its class over the batch's mean error for classes of the same age, old or new. In L_RD it is
    towards the label with the teacher's outputs in the place of old classes.

    Args:
        outputs: [..., B, classes] of the student.
        taught: [..., B, classes] of the teacher.
        batch: labels and weights, and which classes are OLD.
        weight: of L_RD; 1 in the paper.
    """
    from torch.nn.functional import binary_cross_entropy_with_logits as entropy
    from torch.nn.functional import one_hot

    label = one_hot(batch.y, outputs.shape[-1]).to(outputs)
    old = batch.received[OLD][..., None, :] if batch.received[OLD].shape[-1] else outputs.new_zeros(1)
    error = 1 - (label * outputs.detach().sigmoid()).sum(dim=-1)
    aged = (label * old).sum(dim=-1)
    scale = aged * _mean(error, aged * batch.weight) + (1 - aged) * _mean(error, (1 - aged) * batch.weight)
    compensated = error / scale.clamp(min=TINY) * entropy(outputs, label, reduction="none").mean(dim=-1)
    if not batch.received[OLD].shape[-1]:
        return compensated
    target = label + old * (taught.sigmoid() - label)
    return (compensated + weight * entropy(outputs, target, reduction="none").mean(dim=-1)) / 2


def _mean(values: Tensor, weights: Tensor) -> Tensor:
    """The weighted mean over the last axis, which stays; 0 where no weight is."""
    return (values * weights).sum(dim=-1, keepdim=True) / weights.sum(dim=-1, keepdim=True).clamp(min=TINY)
