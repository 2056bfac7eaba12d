"""Distillation of the relations between old and new classes, added to any algorithm."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from edgefl.learning.algorithms.base import Batch, ForwardPass, Updates
from edgefl.learning.algorithms.distilled import TEACHER, Distilled

if TYPE_CHECKING:
    from torch import Tensor

LEARNED = "learned"  # [classes] 1 for the classes of all participants so far; empty before the first update
OLD = "old"  # the same, at the session's beginning
TINY = 1e-12


class RelationDistilled(Distilled):
    """Distillation by the loss of GLFC (Dong et al., CVPR 2022), which the dynamic-devices paper cites.

    `base` gets `relation_loss` in place of the task's loss.
    """

    def server_state(self, w: Tensor) -> dict[str, Tensor]:
        """Return also which classes have been learned: none."""
        return {**super().server_state(w), LEARNED: w[:0], OLD: w[:0]}

    def carried_over(self, server: Mapping[str, Tensor]) -> dict[str, Tensor]:
        """Return also the classes: in the next session all that have been learned are old ones."""
        return {**self.base.carried_over(server), LEARNED: server[LEARNED], OLD: server[LEARNED]}

    def downlink(self, server: Mapping[str, Tensor]) -> dict[str, Tensor]:
        """Send also which classes are old."""
        return {**super().downlink(server), OLD: server[OLD]}

    def loss(self, losses: Tensor, own: ForwardPass, references: Mapping[str, ForwardPass], batch: Batch) -> Tensor:
        """Return the base's loss, with `relation_loss` as the task's."""
        losses = relation_loss(own.outputs, references[TEACHER].outputs, batch, self.weight)
        return self.base.loss(losses, own, references, batch)

    def aggregate(self, server: Mapping[str, Tensor], updates: Updates) -> dict[str, Tensor]:
        """Aggregate as the base does; the classes of the participants have been learned then."""
        after = super().aggregate(server, updates)
        if updates.labels is None:
            return after
        learned = server[TEACHER].new_tensor(updates.labels.any(axis=0))
        if len(server[LEARNED]):
            learned = learned.maximum(server[LEARNED])
        return {**after, LEARNED: learned, OLD: server[OLD]}


def relation_loss(outputs: Tensor, taught: Tensor, batch: Batch, weight: float) -> Tensor:
    """Return `(L_GC + weight L_RD) / 2` of each sample [..., B], as in GLFC's program; L_GC alone without old classes.

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

    has_old = batch.received[OLD].shape[-1] > 0
    old = batch.received[OLD][..., None, :] if has_old else outputs.new_zeros(1)
    label = one_hot(batch.y, outputs.shape[-1]).to(outputs)
    # L_GC: samples of old and new classes are each scaled by the mean error of their own age.
    error = 1 - (label * outputs.detach().sigmoid()).sum(dim=-1)
    is_old = (label * old).sum(dim=-1)
    is_new = 1 - is_old
    scale = is_old * _mean(error, is_old * batch.weight) + is_new * _mean(error, is_new * batch.weight)
    compensated = error / scale.clamp(min=TINY) * entropy(outputs, label, reduction="none").mean(dim=-1)
    if not has_old:
        return compensated
    # L_RD: the teacher's outputs stand in for the old classes.
    target = label + old * (taught.sigmoid() - label)
    relation = entropy(outputs, target, reduction="none").mean(dim=-1)
    return (compensated + weight * relation) / 2


def _mean(values: Tensor, weights: Tensor) -> Tensor:
    """Return the weighted mean over the last axis, which stays; 0 where all weights are 0."""
    return (values * weights).sum(dim=-1, keepdim=True) / weights.sum(dim=-1, keepdim=True).clamp(min=TINY)
